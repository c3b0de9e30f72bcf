package etcd

import (
	"context"
	"fmt"
	"sync"
)

// An applied says up to which revision the local tables have come, and wakes those that wait for
// one.
type applied struct {
	mu      sync.Mutex
	rev     uint64
	moved   chan struct{} // closed when rev moves, or the replica ends; nil if nobody waits
	ended   error
	endedAt chan struct{}
}

func newApplied() *applied { return &applied{endedAt: make(chan struct{})} }

func (a *applied) now() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rev
}

// set says that the tables have come to a revision.
func (a *applied) set(rev uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rev = max(a.rev, rev)
	a.wake()
}

func (a *applied) wake() {
	if a.moved != nil {
		close(a.moved)
		a.moved = nil
	}
}

// end says that nothing more is applied, and why. Only the first call counts, and returns true.
func (a *applied) end(why error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended != nil {
		return false
	}
	a.ended = why
	close(a.endedAt)
	a.wake()
	return true
}

// err returns why nothing more is applied, nil if that is not so.
func (a *applied) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// ended returns the error of ctx, which has ended, and its cause, if that is another one.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// wait waits until the tables have come to rev, ctx ends, or the replica does.
func (a *applied) wait(ctx context.Context, rev uint64) error {
	for {
		a.mu.Lock()
		if a.rev >= rev {
			a.mu.Unlock()
			return nil
		}
		if a.ended != nil {
			a.mu.Unlock()
			return a.ended
		}
		if a.moved == nil {
			a.moved = make(chan struct{})
		}
		moved := a.moved
		a.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}
