package mvcc

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// Changed returns a channel that is closed when a commit that the snapshot does not see has written
// key, even before the call. A commit before the call may go unnoticed if it left an absent key
// absent. The channel is also closed where a watch would end with a [*GapError], and stays open
// when ctx ends. The snapshot may be closed once Changed has returned. Changed costs as much as
// [Map.Watch]. An open channel takes about half a kilobyte, until ctx ends or nobody can reach it.
func (s Snapshot[K, V]) Changed(ctx context.Context, key K) <-chan struct{} {
	s.check()
	if !s.st.plain && isBad(s.st.engine(), useTx, key) {
		return make(chan struct{})
	}
	return moment(s).alert(ctx, false,
		anyOf(func(c *Change[K, V]) bool { return c.Key == key }),
		func(_ moment, yield func(head *chain.Node) bool) {
			if _, _, head := index.Lookup(s.st.index, key); head != nil {
				yield(head)
			}
		})
}

// anyOf returns a function that reports whether any of the changes of a commit matches.
func anyOf[K comparable, V any](matches func(c *Change[K, V]) bool) func(all any) bool {
	return func(all any) bool {
		changes, _ := all.([]Change[K, V])
		for i := range changes {
			if matches(&changes[i]) {
				return true
			}
		}
		return false
	}
}

// Changed is [Snapshot.Changed] for the records that have an index key: the channel is closed when
// [Index.Get] may give something else. A goroutine asks the function of the index about the records
// that change. If the function panics the channel is closed.
func (ix *Index[I, K, V]) Changed(ctx context.Context, s Snapshot[K, V], key I) <-chan struct{} {
	ix.check()
	s.check()
	ix.checkOf(s.st.engine())
	return moment(s).alert(ctx, true,
		anyOf(func(c *Change[K, V]) bool {
			return c.Had && slices.Contains(ix.keys(c.Key, c.Old), key) ||
				c.Has && slices.Contains(ix.keys(c.Key, c.New), key)
		}),
		func(now moment, yield func(head *chain.Node) bool) {
			for _, in := range []Snapshot[K, V]{s, Snapshot[K, V](now)} {
				for key := range ix.Get(in, key) {
					if _, _, head := index.Lookup(s.st.index, key); head != nil && !yield(head) {
						return
					}
				}
			}
		})
}

// alert returns a channel that is closed when a change matches; asks says that matches calls a
// function of the user. find yields the heads of the keys to compare, in s or in now, a snapshot of
// the present. The alert does not refer to s, which the user may drop without closing it.
//
//go:noinline
func (s moment) alert(
	ctx context.Context, asks bool, matches func(changes any) bool,
	find func(now moment, yield func(head *chain.Node) bool),
) <-chan struct{} {
	m := partOf(s.st).m
	checkContext("Changed", ctx)
	a := &alert{m: m, matches: matches, asks: asks}
	closed := make(chan struct{})
	a.closed, a.cleanup = weakTo(closed, &m.shared.hub, a)
	var now moment
	begun := false
	defer func() {
		if !begun { // a panic, or a change was found
			a.end()
		}
	}()
	m.shared.hub.begin(a, func() { m.fed().own++ },
		func(at uint64) { now = m.snapshotAtHub(at) })
	defer now.Close()
	from, to := stateOf(s.st).epoch(), stateOf(now.st).epoch()
	s.check()
	if from != to {
		find(now, func(head *chain.Node) bool {
			// A tombstone tells of a value that was written and deleted after from, up to to.
			if m.Visible(head, from) != m.Visible(head, to) {
				a.lose()
			}
			return !a.fired.Load()
		})
		s.check()
	}
	if begun = !a.fired.Load(); begun {
		stop := context.AfterFunc(ctx, a.end)
		if a.stop.Store(&stop); a.fired.Load() {
			stop()
		}
	}
	runtime.KeepAlive(closed)
	return closed
}

// An alert is a [listener] that waits for one change.
type alert struct {
	m       *core
	matches func(changes any) bool // of a commit
	asks    bool                   // matches calls a function of the user
	closed  weakChan
	cleanup runtime.Cleanup // of the channel, when it is dropped
	fired   atomic.Bool
	stop    atomic.Pointer[func() bool] // the watch over ctx

	// If asks is set, a goroutine looks at the commits, and runs as long as any are waiting: only
	// this goroutine waits for the function of the user.
	mu      sync.Mutex
	waiting []any // the changes of commits that the goroutine is to look at
	changes int   // how many are waiting
	looking bool  // the goroutine runs
}

// mostWaiting is how many changes may wait for a function of the user before the channel is closed.
const mostWaiting = 1 << 16

func (a *alert) only() *core { return a.m }

// dropped is called when the channel is gone.
func (a *alert) dropped() {
	if stop := a.stop.Load(); stop != nil {
		(*stop)()
	}
}

// end takes the alert out of the hub.
func (a *alert) end() {
	a.cleanup.Stop()
	a.m.shared.hub.end(a)
}

func (a *alert) lose() {
	if a.fired.Swap(true) {
		return
	}
	a.closed.close()
	a.cleanup.Stop()
	a.dropped()
}

func (a *alert) offer(list []DBCommit) (more bool) {
	for i := range list {
		changes, n := list[i].in(hide(a.m))
		if n > 0 && (!a.asks && a.matches(changes) || a.asks && !a.look(changes, n)) {
			a.lose()
			break
		}
	}
	return !a.fired.Load()
}

// look gives the changes of a commit to the goroutine, and returns false if too many wait.
func (a *alert) look(changes any, n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changes += n; a.changes > max(n, mostWaiting) {
		return false
	}
	if a.waiting = append(a.waiting, changes); !a.looking {
		a.looking = true
		go a.lookAll()
	}
	return true
}

// lookAll is the goroutine of the alert. The channel is closed even if matches panics.
func (a *alert) lookAll() {
	over := false
	defer func() {
		if !over {
			_ = recover()
			a.lose()
			a.end()
		}
	}()
	for !over {
		for _, changes := range a.takeWaiting() {
			if a.fired.Load() || a.matches(changes) {
				return
			}
		}
		over = a.rests()
	}
}

func (a *alert) takeWaiting() (list []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, a.waiting, a.changes = a.waiting, nil, 0
	return list
}

// rests reports whether nothing waits: then the goroutine ends.
func (a *alert) rests() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looking = len(a.waiting) > 0
	return !a.looking
}
