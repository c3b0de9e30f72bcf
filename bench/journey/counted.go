package journey

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/epoch"
)

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
