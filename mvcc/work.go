package mvcc

import (
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A txWork has the reads and writes of a transaction.
type txWork struct {
	level   Level
	busy    bool // a method is under way, see enter
	hasRead bool // a read of the map, not of an own write
	beyond  bool // a read that has no record: of an absent key, a scan, or of a range
	isRare  bool // see rare

	parts []*part // that the transaction uses: first that of the map that began it
	few   [4]*part
	first partWork // of parts[0]

	reads  []readRecord
	full   int // the number of reads at which repeated ones are dropped, see compact
	writes []write
	// byHash finds an own write by the hash of its key. It is made once a write is looked for among
	// more than linearWrites. 1 + the write's number is at the hash, or in a place after it before
	// any 0. At most half of the places are taken; their number is a power of two.
	byHash []int32

	// Of the attempt to commit that is under way:
	installed int        // how many writes are installed
	checks    int        // how many checks validation has made
	says      chain.Word // the word of the record, as validation knows it
	alarm     *alarm     // on the keys validated, if readers have pushed the commit too often
	conflict  conflict   // why it failed

	rareWork
}

// A rareWork is the part of a txWork that few transactions use: it is written through rare.
type rareWork struct {
	looped  bool       // a loop may be under way over own writes
	loops   []*ownRest // those that have not copied all own writes, and some that have ended
	revoked int        // how many epochs readers took away from the commit under way
	dirtied int        // how often others raised its alarm

	saves uint32   // counts the savepoints
	since uint32   // the number of the innermost savepoint that is open, or 0
	undo  []undone // the writes that the open savepoints have to undo
	marks []mark   // where they began
	after []func(commitEpoch uint64)
	claim *favour.Claim // that the commit under way has made, or nil
	extra extras
}

// rare returns the rareWork for a write to it, and notes that it has to be forgotten.
func (st *txState) rare() *rareWork {
	st.isRare = true
	return &st.rareWork
}

// A readRecord says that seen, which may be a tombstone, was the version of its key, found
// at a place of a part, at the read epoch.
type readRecord struct {
	seen *chain.Node
	b    *index.Bucket
	hash uint64 // of the key
	i    uint8
	of   uint32
}

// note fills in a record that recycle has left.
func (r *readRecord) note(seen *chain.Node, h uint64, at index.Place, of uint32) {
	r.seen, r.b, r.hash, r.i, r.of = seen, at.Bucket, h, at.I, of
}

func (r *readRecord) at() index.Place { return index.Place{Bucket: r.b, I: r.i} }

// A write is one buffered write. Its version is private until it is installed.
type write struct {
	v    *chain.Node
	hash uint64
	// b and i are the place where the key was found last; nowhere if it had no version.
	b  *index.Bucket
	i  uint8
	of uint32 // the number of the part
	// read is 1 + the number of the read of this key, or readAbsent, if [part.known] or
	// [txState.written] noted the read, else 0. The commit compares that version at the install.
	read int32
	// saved is the number of the last savepoint for which the write was noted, to be undone.
	saved uint32
	// merge makes the new value from the one that the key has when the transaction commits; nil if
	// the old value does not matter.
	merge merger
}

func (w *write) at() index.Place { return index.Place{Bucket: w.b, I: w.i} }

const readAbsent = -1

// linearWrites is the most own writes that are searched one by one: comparing so few keys is
// cheaper than hashing one.
const linearWrites = 8

// keptCapacity is the most records for which a pooled state keeps room; up to fewRecords it does
// not look at the room.
const (
	keptCapacity = 1024
	fewRecords   = 4
)

func newWork(st *txState) *txWork {
	w := &txWork{full: compactReads, first: partWork{fullAbsent: compactReads}}
	w.parts, st.own.partWork = append(w.few[:0], &st.own), &w.first
	return w
}

// find returns the number of the own write of the key at key, or -1.
func (p *part) find(key unsafe.Pointer) int {
	st := p.st
	if st.byHash == nil && len(st.writes) > linearWrites { // only when one is looked for
		st.listKeys()
	}
	if st.byHash != nil {
		h, mask := p.index.Hash.Sum(key), uint64(len(st.byHash)-1)
		for at := h & mask; st.byHash[at] != 0; at = (at + 1) & mask {
			i := int(st.byHash[at]) - 1
			w := &st.writes[i]
			if w.hash == h && w.of == p.number && p.index.Hash.Equal(w.v.Key(), key) {
				return i
			}
		}
		return -1
	}
	for i := range st.writes {
		if w := &st.writes[i]; w.of == p.number && p.index.Hash.Equal(w.v.Key(), key) {
			return i
		}
	}
	return -1
}

// put buffers a write of v, whose state says whether it deletes the key. No other method of the
// transaction may be under way.
func (p *part) put(gen epoch.Gen, v *chain.Node) {
	p.st.enterAgain(gen)
	if i := p.find(v.Key()); i >= 0 {
		p.st.replace(i, v)
	} else {
		p.st.leave() // a function of the user that compares keys may panic
		h, at := p.locate(v.Key())
		p.st.enterAgain(gen)
		p.note(v, h, at, 0)
	}
	p.st.leave()
}

// replace makes v the version of write i.
func (st *txState) replace(i int, v *chain.Node) {
	st.save(i)
	if len(st.loops) > 0 {
		st.copyOwn()
	}
	w := &st.writes[i]
	if st.looped && w.v.Tombstone() && !v.Tombstone() {
		rare := st.parts[w.of].rare()
		rare.revived = append(rare.revived, int32(i))
	}
	w.v, w.merge = v, nil
}

// locate returns the hash of a key and its place, for the first write of the key. It looks the key
// up, so it hashes it: a key that cannot be hashed panics now, when nothing is held.
func (p *part) locate(key unsafe.Pointer) (h uint64, at index.Place) {
	if read := p.known(key); read > 0 {
		r := &p.st.reads[read-1]
		return r.hash, r.at()
	}
	h, at, _ = p.index.Seek(key)
	return h, at
}

// note adds v to the writes. Its key has hash h and is at a place, and has no write yet. read is
// the read of the key, if it is known, see write.
func (p *part) note(v *chain.Node, h uint64, at index.Place, read int32) {
	work := p.st.txWork
	n := len(work.writes)
	if n < cap(work.writes) {
		work.writes = work.writes[:n+1]
	} else {
		work.writes = append(work.writes, write{})
	}
	w := &work.writes[n]
	w.v, w.hash, w.b, w.i, w.of, w.read = v, h, at.Bucket, at.I, p.number, read
	p.hasWritten = true
	if work.byHash != nil {
		p.st.list(n)
	}
}

// listKeys makes byHash.
func (st *txState) listKeys() {
	n := 8 * linearWrites
	for n < 2*len(st.writes) {
		n *= 2
	}
	st.byHash = make([]int32, n)
	for i := range st.writes {
		*st.listed(i, 0) = int32(1 + i)
	}
}

// list adds write i, which is the last one, to byHash.
func (st *txState) list(i int) {
	if 2*(i+1) > len(st.byHash) {
		st.listKeys()
	} else {
		*st.listed(i, 0) = int32(1 + i)
	}
}

// unlist takes write i, the last one added, from byHash. So its place may become empty: no write
// was added later that found the place taken and therefore stands behind it.
func (st *txState) unlist(i int) { *st.listed(i, int32(1+i)) = 0 }

// listed returns the first place for write i in byHash that has the given number.
func (st *txState) listed(i int, what int32) *int32 {
	mask := uint64(len(st.byHash) - 1)
	at := st.writes[i].hash & mask
	for st.byHash[at] != what {
		at = (at + 1) & mask
	}
	return &st.byHash[at]
}

// known returns 1 + the number of the read of a key, if it is one of the first few that were read,
// or 0: comparing so few is cheaper than looking one up.
func (p *part) known(key unsafe.Pointer) (read int) {
	reads := p.st.reads
	for i := range min(len(reads), fewRecords) {
		if r := &reads[i]; r.of == p.number && p.index.Hash.Equal(r.seen.Key(), key) {
			return 1 + i
		}
	}
	return 0
}

// get reads a key from the map, not from the own writes, and records the read.
func (p *part) get(gen epoch.Gen, key unsafe.Pointer) *chain.Node {
	p.st.leave() // the lookup may compare keys, see visible
	h, at, v := p.index.Seek(key)
	p.st.enterAgain(gen)
	v = p.visible(gen, v)
	p.st.leave()
	p.checkGet(key, v)
	p.st.enterAgain(gen)
	p.noteRead(key, h, at, v, false)
	return v
}

// noteRead records that v was read for the key, which has hash h and is at a place: at level
// snapshot only if update is set.
func (p *part) noteRead(key unsafe.Pointer, h uint64, at index.Place, v *chain.Node, update bool) {
	st := p.st
	st.hasRead = true
	if st.level == LevelSerializable {
		if p.scanned {
			return
		}
	} else if !update {
		return
	}
	if v == nil {
		p.noteAbsent(key, h)
	} else if n := len(st.reads); n == 0 || st.reads[n-1].seen != v {
		st.reads = extended(st.reads)
		st.reads[n].note(v, h, at, p.number)
		p.hasNoted = true
		if len(st.reads) >= st.full {
			st.compact()
		}
	}
}

// visible returns the version that the transaction sees of the key of head v. The state is not busy
// while it helps a writer: a function of the user that the help calls may end the goroutine.
func (p *part) visible(gen epoch.Gen, v *chain.Node) *chain.Node {
	if v == nil || chain.Load(&v.State).Committed() {
		return p.m.Visible(v, p.st.epoch())
	}
	p.st.leave()
	v = p.m.Visible(v, p.st.epoch())
	p.st.enterAgain(gen)
	return v
}

// compactReads is how many reads a transaction records before it looks for keys that
// were read more than once. If most are different it looks again when there are
// compactFactor times as many: so the read set follows the keys that are read, and
// not how often, at a cost that is logarithmic for each read.
const (
	compactReads  = 1024
	compactFactor = 4
)

// compact drops repeated records of a key. All reads of a key saw the same version.
func (st *txState) compact() {
	seen := make(map[*chain.Node]struct{})
	st.reads = slices.DeleteFunc(st.reads, func(r readRecord) bool {
		return repeated(seen, r.seen)
	})
	st.full = max(compactReads, compactFactor*len(st.reads))
	for i := range st.writes {
		st.writes[i].read = 0 // the reads have other numbers
	}
	for i := range st.undo {
		st.undo[i].was.read = 0
	}
}

// repeated adds x to seen, and reports whether it was there.
func repeated[T comparable](seen map[T]struct{}, x T) bool {
	n := len(seen)
	seen[x] = struct{}{}
	return len(seen) == n
}

// forget forgets the work that the parts have in common, for recycle.
func (st *txState) forget() {
	st.installed = 0 // unwind relies on it, if a function leaves before prepare
	w := st.txWork
	if len(w.writes) > fewRecords {
		w.writes, w.byHash = emptied(w.writes), nil
	} else {
		for i := range w.writes {
			r := &w.writes[i]
			r.v, r.b, r.read, r.saved = nil, nil, 0, 0
			if r.merge != nil {
				r.merge = nil
			}
		}
		w.writes = w.writes[:0]
	}
	if w.hasRead {
		w.hasRead, w.beyond = false, false
		if len(w.reads) > fewRecords {
			w.reads = emptied(w.reads)
		} else {
			for i := range w.reads {
				r := &w.reads[i]
				r.seen, r.b = nil, nil
			}
			w.reads = w.reads[:0]
		}
		w.full = compactReads
	}
	w.busy = false
	if w.isRare {
		w.rareWork, w.isRare = rareWork{}, false
	}
}

// emptied returns s with length 0, and nothing reachable through it.
func emptied[T any](s []T) []T {
	if cap(s) > keptCapacity {
		return nil
	}
	clear(s)
	return s[:0]
}

// extended returns s with one more element, as recycle has left it: the caller sets every
// field that recycle does not clear.
func extended[T any](s []T) []T {
	if n := len(s); n < cap(s) {
		return s[:n+1]
	}
	var zero T
	return append(s, zero)
}
