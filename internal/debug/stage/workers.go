package stage

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Workers runs goroutines that report faults instead of failing the test from where they
// must not.
type Workers struct {
	wg   sync.WaitGroup
	stop chan struct{}
	once sync.Once
	mu   sync.Mutex
	errs []error
}

// NewWorkers returns workers that end with the test at the latest.
func NewWorkers(t testing.TB) *Workers {
	c := &Workers{stop: make(chan struct{})}
	t.Cleanup(c.stopAll)
	return c
}

// Run starts f in n goroutines; the first error of any ends them.
func (c *Workers) Run(n int, f func(worker int) error) {
	for i := range n {
		c.wg.Go(func() {
			if err := f(i); err != nil {
				c.mu.Lock()
				c.errs = append(c.errs, err)
				c.mu.Unlock()
				c.stopAll()
			}
		})
	}
}

// Loop is run for a function that is called until the workers end.
func (c *Workers) Loop(n int, f func(worker, round int) error) {
	c.Run(n, func(worker int) error {
		for round := 0; !c.Ended(); round++ {
			if err := f(worker, round); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ended reports whether the workers are to end.
func (c *Workers) Ended() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

func (c *Workers) stopAll() { c.once.Do(func() { close(c.stop) }) }

// Wait waits for all goroutines and fails the test if one reported an error.
func (c *Workers) Wait(t testing.TB) {
	t.Helper()
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	Await(t, done, "goroutines do not end")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(t, errors.Join(c.errs...))
}

// Finish ends loops and waits.
func (c *Workers) Finish(t testing.TB) { t.Helper(); c.stopAll(); c.Wait(t) }
