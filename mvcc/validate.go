package mvcc

import (
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// Validation asks whether the transaction would read the same at its commit epoch e: for each key
// read, the newest committed version must be the one that was seen (Kung and Robinson's backward
// validation, in the form that Hekaton gave it: section 3.2 of the paper named in decide.go of
// package chain).
//
// The newest version is compared even if its epoch is above e, although a check as of e could let
// it pass. The reason: once there is a version above e, a pruner may have dropped one between the
// read epoch and e, because nobody reads there; the versions left below do not show whether there
// was a conflict. The price is a conflict where another commit came between the draw of e and the
// check.
//
// Ranges of an ordered map are validated by notes of the leaves that the loops went along, if the
// loops met only versions that had committed at or before the read epoch. Such a version is kept
// while the transaction is live, except a tombstone that leaves the tree, whose cell then is empty
// for ever: so a cell with the same address has the same version. If a leaf has changed, the
// validator goes along each range once more, and changes elsewhere in the leaf are no conflict.
//
// A writer that has not installed yet can be passed over: it draws its epoch after it installs, so
// above e.

// validateStride is after how many checks a validator shows that it goes on.
const validateStride = 64

// validate validates the transaction for every commit epoch from that of w, its tentative record,
// up to e. It returns the record as it left it. If the record has changed it gives up early, with
// ok, since the caller's CAS will fail then; with an alarm it does so only if the record is
// decided.
func (st *txState) validate(w chain.Word, e epoch.Epoch) (now chain.Word, ok bool) {
	least := w.Epoch()
	st.says = w
	for i := range st.reads {
		r := &st.reads[i]
		if r.at().Load() != r.seen && !st.parts[r.of].valid(r, least, e) { // nearly never
			return st.says, false
		}
		if !st.goesOnValidating() {
			return st.says, true
		}
	}
	for _, p := range st.parts {
		if valid, goOn := p.validate(least, e); !valid || !goOn {
			return st.says, valid
		}
	}
	return st.says, true
}

// goesOnValidating counts a check, and reports whether the result of the validation can still
// matter. Each validateStride checks it flips the bit of a tentative record that shows progress.
func (st *txState) goesOnValidating() bool {
	if st.checks++; st.checks%validateStride != 0 {
		return true
	}
	// Only a tentative record has the bit to flip. In an announced record this bit says that there
	// is something to validate.
	w := st.says
	if w.Tag() == chain.TagTentative && chain.Advance(st.record(), w, w^chain.CheckBit) {
		st.says = w ^ chain.CheckBit
		return true
	}
	if st.alarm == nil {
		return false
	}
	st.says = chain.Load(st.record())
	return st.says.Tag() == chain.TagTentative || st.says.Tag() == chain.TagAnnounced
}

// validate validates the part's absent keys, number of keys, scan and ranges; txState.validate
// validates the keys that were found. With ok, goOn is false if goesOnValidating has ended it.
func (p *part) validate(least, e epoch.Epoch) (ok, goOn bool) {
	for i := range p.absences() {
		key, hash := p.absent.at(i)
		at, head := p.index.Find(hash, key)
		if v := p.settled(at, head, e); !absentSince(p.m, v, least) {
			p.conflictOn(key, ConflictRead, v)
			return false, false
		}
		if !p.st.goesOnValidating() {
			return true, false
		}
	}
	if p.counted && !p.scanned && p.st.level == LevelSerializable {
		if ok, goOn = p.validateCount(least, e); !ok || !goOn {
			return ok, goOn
		}
	}
	if !p.scanned && len(p.ranges) == 0 {
		return true, true
	}
	// Every key that was visible at the read epoch, or was committed since, is in the index, and so
	// is met. The writer of a key inserted behind this loop draws an epoch above e.
	from := p.st.epoch()
	ok, goOn = true, true
	unchanged := func(at index.Place, head *chain.Node) bool {
		if v := p.settled(at, head, e); v != nil && p.m.CommitEpoch(v) > from {
			p.conflictOn(v.Key(), ConflictScan, v)
			ok = false
			return false
		}
		goOn = p.st.goesOnValidating()
		return goOn
	}
	if p.scanned && p.st.level == LevelSerializable { // DeleteFunc scans at every level
		p.index.Scan(unchanged)
		return ok, goOn
	}
	if !p.again {
		same := true
		for i := range p.notes {
			if same = p.notes[i].Same(); !same {
				break
			}
			if !p.st.goesOnValidating() {
				return true, false
			}
		}
		if same {
			return true, true
		}
	}
	p.mergeRanges()
	for i := range p.ranges {
		if !p.index.Span(&p.ranges[i], false, unchanged) {
			break
		}
	}
	return ok, goOn
}

// validateCount validates the number of keys: as many must have got a value since the read epoch as
// have lost theirs. A key that changed before least counts: its newest version holds from least on.
// A key that changed later is a conflict, since its version as of least may be gone.
func (p *part) validateCount(least, e epoch.Epoch) (ok, goOn bool) {
	from, more := p.st.epoch(), 0
	ok, goOn = true, true
	var last *chain.Node // whose key has changed
	p.index.Scan(func(at index.Place, head *chain.Node) bool {
		v := p.settled(at, head, e)
		if v != nil && p.m.CommitEpoch(v) > from {
			last = v
			if ok = p.m.CommitEpoch(v) < least; !ok {
				return false
			}
			more += chain.Growth(p.m.Visible(v, from), v)
		}
		goOn = p.st.goesOnValidating()
		return goOn
	})
	if goOn && (!ok || more != 0) {
		p.conflictOn(last.Key(), ConflictScan, last)
		return false, true
	}
	return true, goOn
}

// validated is validate with a result. The result for a transaction evicted meanwhile is
// resultEvicted, since the versions that it would conflict with may have left the index.
func (st *txState) validated(
	gen epoch.Gen, w chain.Word, e epoch.Epoch,
) (now chain.Word, r result) {
	now, ok := st.validate(w, e)
	switch {
	case !ok:
		return now, resultConflict
	case st.gen() != gen:
		return now, resultEvicted
	}
	return now, resultOK
}

// valid reports whether a read would see the version that r saw at every epoch from least to e.
// Otherwise it notes a conflict.
func (p *part) valid(r *readRecord, least, e epoch.Epoch) bool {
	at := r.at()
	head := at.Load()
	if head == r.seen {
		return true
	}
	if !p.index.IsHead(head) || !p.index.Hash.Equal(head.Key(), r.seen.Key()) {
		// The cell has moved, or the key has left the index since it was read. If it has left, the
		// version seen was a tombstone: a key with a value there would still have our cell.
		_, at, head = p.index.Seek(r.seen.Key())
	}
	v := p.settled(at, head, e)
	if v == r.seen || !r.seen.There() && absentSince(p.m, v, least) {
		return true
	}
	p.conflictOn(r.seen.Key(), ConflictRead, v)
	return false
}

// absentSince reports whether v, the newest committed version of a key, says that the key is absent
// from epoch e on. A tombstone above e does not: its deleted value may have been there at e.
func absentSince(m *core, v *chain.Node, e epoch.Epoch) bool {
	return v == nil || v.Tombstone() && m.CommitEpoch(v) < e
}

// settled returns the newest committed version of the key whose head at a place was v, or nil. It
// passes over the version of the transaction itself, which validates as of epoch e. An undecided
// writer with an epoch below e is given a moment and then pushed above e: only a later transaction
// waits for an earlier one.
func (p *part) settled(at index.Place, v *chain.Node, e epoch.Epoch) *chain.Node {
	if v != nil {
		if _, r := p.m.Resolve(v); r == p.st.record() {
			return v.Next.Load() // decided, and the newest below v for as long as v is undecided
		}
	}
	if p.st.alarm != nil {
		return p.m.decidedHead(at, v)
	}
	return p.m.NewestAt(v, e-1)
}

// doomed reports whether a transaction that writes is certain to conflict: a value that it read has
// been overwritten. doomed ignores keys read as absent, since such a key may become absent again.
func (st *txState) doomed() bool {
	for i := range st.reads {
		r := &st.reads[i]
		if ok := r.seen.There(); !ok {
			continue
		}
		if r.at().Load() == r.seen {
			continue
		}
		p := st.parts[r.of]
		_, head := p.index.Again(r.at(), p.index.Hash.Sum(r.seen.Key()), r.seen.Key())
		if v := p.m.Newest(head); v != r.seen {
			p.conflictOn(r.seen.Key(), ConflictRead, v)
			return true
		}
	}
	return false
}

// mustValidate reports whether the transaction has read anything that must not have changed
// when it commits.
func (st *txState) mustValidate() bool {
	return st.hasRead &&
		(st.level == LevelSerializable || len(st.reads) > 0 || st.beyond && st.absences() > 0)
}

// If a transaction writes every key that it has read, its commit need not validate. It compares
// while it installs: below its own version the newest committed one has to be the version read.
// From the install until the transaction is decided no other can commit on that key, since another
// would have to decide this one first. So the version read is the one as of the commit epoch,
// whichever that will be, and any goroutine may draw it. A key read as absent has to be absent: a
// tombstone below, of whatever epoch, is older than the commit. This is the rule of the snapshot
// level, first committer wins, and here it makes the transaction serializable.

// written reports whether every key that was read is written too. It notes reads in the writes of
// their keys, some even if it reports false: these writes conflict earlier than they would.
func (st *txState) written() bool {
	if !st.beyond && st.known() == len(st.reads) {
		return true // nearly always, if the answer is true
	}
	n := 0
	for _, p := range st.parts {
		if st.level == LevelSerializable && (p.scanned || p.counted) || len(p.ranges) > 0 {
			return false
		}
		n += p.absences()
	}
	if len(st.reads)+n > len(st.writes) {
		return false
	}
	for i := range st.reads {
		r := &st.reads[i]
		j := st.parts[r.of].find(r.seen.Key())
		if j < 0 {
			return false
		}
		st.writes[j].read = int32(1 + i)
	}
	for _, p := range st.parts {
		for i := range p.absences() {
			key, _ := p.absent.at(i)
			j := p.find(key)
			if j < 0 {
				return false
			}
			st.writes[j].read = readAbsent
		}
	}
	return true
}

// known returns the number of writes that have a read of their key noted.
func (st *txState) known() (n int) {
	for i := range st.writes {
		if st.writes[i].read > 0 {
			n++
		}
	}
	return n
}

// seen returns the version read of the key of w, which is read and written, or nil.
func (st *txState) seen(w *write) *chain.Node {
	if w.read == readAbsent {
		return nil
	}
	return st.reads[w.read-1].seen
}
