package etcd

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

// until returns a context that ends with ctx, with the replica, or by a call of stop.
func (a *applied) until(ctx context.Context) (until context.Context, stop context.CancelFunc) {
	until, stop = context.WithCancel(ctx)
	go func() {
		select {
		case <-a.endedAt:
			stop()
		case <-until.Done():
		}
	}()
	return until, stop
}

// why returns the error of a call that ended with until: the replica's, if that ended it.
func (a *applied) why(ctx, until context.Context, err error) error {
	if failed := a.err(); failed != nil && ctx.Err() == nil && errors.Is(err, until.Err()) {
		return failed
	}
	return err
}

// watchUntil returns a watch that ends with ctx, or when the replica does, and says why.
func watchUntil[C any](
	ctx context.Context, a *applied, watch func(ctx context.Context) iter.Seq2[C, error],
) iter.Seq2[C, error] {
	until, stop := a.until(ctx)
	all := watch(until)
	return func(yield func(C, error) bool) {
		defer stop()
		for c, err := range all {
			if !yield(c, a.why(ctx, until, err)) {
				return
			}
		}
	}
}
