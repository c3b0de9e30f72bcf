package mvcc

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// crew runs goroutines that report what is wrong instead of failing the test
// from where they must not.
type crew struct {
	wg   sync.WaitGroup
	stop chan struct{}
	once sync.Once
	mu   sync.Mutex
	errs []error
}

// newCrew returns a crew that ends with the test at the latest.
func newCrew(t testing.TB) *crew {
	c := &crew{stop: make(chan struct{})}
	t.Cleanup(c.end)
	return c
}

// run starts f in n goroutines; the first error of any ends the crew.
func (c *crew) run(n int, f func(worker int) error) {
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

// loop is run for a function that is called until the crew ends.
func (c *crew) loop(n int, f func(worker, round int) error) {
	c.run(n, func(worker int) error {
		for round := 0; !c.ended(); round++ {
			if err := f(worker, round); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *crew) ended() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

func (c *crew) end() { c.once.Do(func() { close(c.stop) }) }

// wait waits for all goroutines and fails the test if one reported an error.
func (c *crew) wait(t testing.TB) {
	t.Helper()
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	await(t, done, "goroutines do not end")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(t, errors.Join(c.errs...))
}

// finish ends loops and waits.
func (c *crew) finish(t testing.TB) { t.Helper(); c.end(); c.wait(t) }
