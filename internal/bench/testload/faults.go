package testload

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Leak has goroutines wait for an event that never comes, until the test ends.
func Leak(t *testing.T, n int) {
	t.Helper()
	never := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { Leaked(never) })
	}
	t.Cleanup(func() {
		close(never)
		wg.Wait()
	})
}

// Leaked waits for a channel.
//
//go:noinline
func Leaked(never <-chan struct{}) { <-never }

// Coroutine makes a coroutine that waits, and returns the function that ends it.
//
//go:noinline
func Coroutine() (stop func()) {
	next, stop := iter.Pull(func(yield func(int) bool) { yield(0) })
	next()
	return stop
}

// Spin uses a processor until it is told to stop.
//
//go:noinline
func Spin(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// Allocate allocates until the test ends.
func Allocate(t *testing.T) {
	t.Helper()
	Again(t, func() { Garbage(make([][]byte, 64)) })
}

// Garbage fills a list with objects that nobody needs.
//
//go:noinline
func Garbage(list [][]byte) {
	for i := range list {
		list[i] = make([]byte, 16<<10)
	}
	runtime.KeepAlive(list)
}
