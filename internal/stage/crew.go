package stage

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Crew runs goroutines that report faults instead of failing the test from where they
// must not.
type Crew struct {
	wg   sync.WaitGroup
	stop chan struct{}
	once sync.Once
	mu   sync.Mutex
	errs []error
}

// NewCrew returns a crew that ends with the test at the latest.
func NewCrew(t testing.TB) *Crew {
	c := &Crew{stop: make(chan struct{})}
	t.Cleanup(c.end)
	return c
}

// Run starts f in n goroutines; the first error of any ends the crew.
func (c *Crew) Run(n int, f func(worker int) error) {
	for i := range n {
		c.wg.Go(func() {
			if err := f(i); err != nil {
				c.mu.Lock()
				c.errs = append(c.errs, err)
				c.mu.Unlock()
				c.end()
			}
		})
	}
}

// Loop is run for a function that is called until the crew ends.
func (c *Crew) Loop(n int, f func(worker, round int) error) {
	c.Run(n, func(worker int) error {
		for round := 0; !c.Ended(); round++ {
			if err := f(worker, round); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ended reports whether the crew is to end.
func (c *Crew) Ended() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

func (c *Crew) end() { c.once.Do(func() { close(c.stop) }) }

// Wait waits for all goroutines and fails the test if one reported an error.
func (c *Crew) Wait(t testing.TB) {
	t.Helper()
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	Await(t, done, "goroutines do not end")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(t, errors.Join(c.errs...))
}

// Finish ends loops and waits.
func (c *Crew) Finish(t testing.TB) { t.Helper(); c.end(); c.Wait(t) }
