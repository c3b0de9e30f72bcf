package journey

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
)

// keeper is a tracker with one goroutine that owns the list of active transactions, and publishes
// their lowest epoch. A transaction begins when the owner has answered, with the epoch that the
// owner read: the owner knows all transactions.
type keeper struct {
	kind     TrackerKind
	requests chan keeperRequest
	answers  sync.Pool // of chan Handle
	done     chan struct{}
	min      atomic.Uint64

	mu     sync.Mutex
	active []Handle      // by id, and so by epoch
	idle   []epoch.Epoch // of [KeeperIdle]: begins and ends, never to be taken

	ids uint64 // the owner's
}

// keeperRequest asks to begin by a clock, or to end if answer is nil.
type keeperRequest struct {
	clock  Clock
	answer chan Handle
	ended  Handle
}

func newKeeper(kind TrackerKind, start func(func())) *keeper {
	t := &keeper{kind: kind, requests: make(chan keeperRequest, 1024), done: make(chan struct{})}
	t.answers.New = func() any { return make(chan Handle, 1) }
	t.min.Store(uint64(epoch.First))
	if kind == KeeperIdle {
		close(t.done)
	} else {
		start(t.run)
	}
	return t
}

// run is the owner.
func (t *keeper) run() {
	defer close(t.done)
	for r := range t.requests {
		if r.answer == nil {
			t.remove(r.ended)
		} else {
			r.answer <- t.add(r.clock.Now())
		}
	}
}

// add is called by the owner. The clock never goes back, so the list stays sorted.
func (t *keeper) add(now epoch.Epoch) Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids++
	h := Handle{Epoch: now, id: t.ids}
	t.active = append(t.active, h)
	t.publish()
	return h
}

func (t *keeper) remove(h Handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.active, h); i >= 0 {
		t.active = slices.Delete(t.active, i, i+1)
	}
	t.publish()
}

// publish is called with t.mu held. Without an active transaction it leaves the lowest epoch as it
// is: the next transaction begins at the clock, or above.
func (t *keeper) publish() {
	if len(t.active) > 0 {
		t.min.Store(uint64(t.active[0].Epoch))
	}
}

func (t *keeper) Begin(c Clock) Handle {
	if t.kind == KeeperIdle {
		h := Handle{Epoch: c.Now()}
		t.leaveThere(h.Epoch)
		return h
	}
	answer := t.answers.Get().(chan Handle)
	t.requests <- keeperRequest{clock: c, answer: answer}
	h := <-answer
	t.answers.Put(answer)
	return h
}

func (t *keeper) End(h Handle) {
	switch t.kind {
	case Keeper:
		t.requests <- keeperRequest{ended: h}
	case KeeperNoop:
		t.remove(Handle{}) // the bug: there is no such handle, and all are looked at
	case KeeperIdle:
		t.leaveThere(h.Epoch)
	}
}

// leaveThere queues messages for an owner that does not run.
func (t *keeper) leaveThere(e epoch.Epoch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, e)
}

func (t *keeper) MinVisible(Clock) epoch.Epoch { return epoch.Epoch(t.min.Load()) }

func (t *keeper) Close() {
	close(t.requests)
	<-t.done
}
