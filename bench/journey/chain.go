package journey

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/epoch"
)

// A version is a value of a key, from its epoch to that of the next newer one.
type version struct {
	epoch epoch.Epoch
	value uint64
	older atomic.Pointer[version]
}

// A chain is the versions of a key. A push or pruning holds the key's latch; readers hold
// nothing.
type chain interface {
	// newest returns the newest version, at the newest one that is not above e, or nil.
	newest() *version
	versionAt(e epoch.Epoch) *version
	push(v *version)
	// prune drops the versions that no reader at epoch least or above sees. It returns the lowest
	// epoch at which one of the versions left ends, or none if only the newest is left.
	prune(least epoch.Epoch) (ends epoch.Epoch)
	// depth returns the number of versions. It needs no latch.
	depth() int
}

// A ChainKind is a kind of chain.
type ChainKind string

// The kinds of chains.
const (
	List       ChainKind = "list"        // linked, the newest version first
	WalkedList ChainKind = "list-walked" // likewise, and its depth is found by walking
	Indexed    ChainKind = "indexed"     // with an immutable sorted index for old readers
)

var chains = map[ChainKind]func() chain{
	List:       func() chain { return new(list) },
	WalkedList: func() chain { return new(walkedList) },
	Indexed:    func() chain { return new(indexed) },
}

// list is linked from the newest version to the oldest.
type list struct {
	head atomic.Pointer[version]
	n    atomic.Int64 // versions
}

func (l *list) newest() *version { return l.head.Load() }

func (l *list) versionAt(e epoch.Epoch) *version {
	v := l.head.Load()
	for v != nil && v.epoch > e {
		v = v.older.Load()
	}
	return v
}

func (l *list) push(v *version) {
	v.older.Store(l.head.Load())
	l.head.Store(v)
	l.n.Add(1)
}

func (l *list) prune(least epoch.Epoch) (ends epoch.Epoch) {
	ends = none
	v, kept := l.head.Load(), 1
	for v != nil && v.epoch > least {
		older := v.older.Load()
		if older == nil {
			return ends
		}
		ends = v.epoch
		v, kept = older, kept+1
	}
	if v != nil { // older versions end at v, and there is no reader below least
		v.older.Store(nil)
		l.n.Store(int64(kept))
	}
	return ends
}

func (l *list) depth() int { return int(l.n.Load()) }

// walkedList counts its versions each time.
type walkedList struct{ list }

func (l *walkedList) depth() (n int) {
	for v := l.head.Load(); v != nil; v = v.older.Load() {
		n++
	}
	return n
}

// indexed is a list with an index of its versions, from the oldest to the newest. A reader of an
// old version searches the index. An index never changes: a push makes a longer one, in the same
// array while that has room, and pruning makes a shorter one.
type indexed struct {
	list
	index atomic.Pointer[[]*version]
}

func (x *indexed) versionAt(e epoch.Epoch) *version {
	if v := x.head.Load(); v == nil || v.epoch <= e {
		return v
	}
	index := *x.index.Load()
	i := sort.Search(len(index), func(i int) bool { return index[i].epoch > e })
	if i == 0 {
		return nil
	}
	return index[i-1]
}

func (x *indexed) push(v *version) {
	var longer []*version
	if old := x.index.Load(); old != nil {
		longer = *old
	}
	longer = append(longer, v)
	x.index.Store(&longer) // must precede: a reader that finds v too new looks here
	x.list.push(v)
}

func (x *indexed) prune(least epoch.Epoch) (ends epoch.Epoch) {
	index := *x.index.Load()
	i := sort.Search(len(index), func(i int) bool { return index[i].epoch > least })
	if i > 1 {
		shorter := slices.Clone(index[i-1:])
		shorter[0].older.Store(nil)
		x.index.Store(&shorter)
		x.n.Store(int64(len(shorter)))
	}
	if i < len(index) && len(index) > 1 {
		return index[max(i, 1)].epoch
	}
	return none
}

// counted is a concurrent map from an epoch to how many transactions read it, which is
// scanned as a whole.
type counted struct{ of *xsync.Map[epoch.Epoch, int] }

func (t *counted) enter(e epoch.Epoch) Handle {
	t.add(e, 1)
	return Handle{Epoch: e}
}

func (t *counted) leave(h Handle) { t.add(h.Epoch, -1) }

func (t *counted) add(e epoch.Epoch, n int) {
	t.of.Compute(e, func(old int, _ bool) (int, xsync.ComputeOp) {
		if old+n == 0 {
			return 0, xsync.DeleteOp
		}
		return old + n, xsync.UpdateOp
	})
}

func (t *counted) lowest() epoch.Epoch {
	low := none
	t.of.Range(func(e epoch.Epoch, _ int) bool {
		low = min(low, e)
		return true
	})
	return low
}

// ordered is a B-tree from an epoch to how many transactions read it, under a mutex:
// the lowest is at its end.
type ordered struct {
	mu sync.Mutex
	of btree.Map[epoch.Epoch, int]
}

func (t *ordered) enter(e epoch.Epoch) Handle {
	t.add(e, 1)
	return Handle{Epoch: e}
}

func (t *ordered) leave(h Handle) { t.add(h.Epoch, -1) }

func (t *ordered) add(e epoch.Epoch, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, _ := t.of.Get(e)
	if old+n == 0 {
		t.of.Delete(e)
	} else {
		t.of.Set(e, old+n)
	}
}

func (t *ordered) lowest() epoch.Epoch {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, _, ok := t.of.Min(); ok {
		return e
	}
	return none
}
