// Package testload has work and waits that tests plant, for profiles and reports to find.
package testload

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Again runs functions again and again, each in a goroutine, until the test ends.
func Again(t *testing.T, functions ...func()) {
	t.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for _, f := range functions {
		wg.Go(func() {
			for !stop.Load() {
				f()
			}
		})
	}
	t.Cleanup(func() {
		stop.Store(true)
		wg.Wait()
	})
}

// Slow makes operations end, with a pause in between, until the test ends. Each takes a lock that
// another goroutine holds half of the time, for held each time.
func Slow(t *testing.T, done func(took time.Duration), pause, held time.Duration) {
	t.Helper()
	var mu sync.Mutex
	Again(t, func() {
		HoldLock(&mu, held)
		time.Sleep(held)
	}, func() {
		start := time.Now()
		TakeLock(&mu)
		done(time.Since(start))
		time.Sleep(pause)
	})
}

// HoldLock holds a lock for a while.
//
//go:noinline
func HoldLock(mu *sync.Mutex, held time.Duration) {
	mu.Lock()
	defer mu.Unlock()
	time.Sleep(held)
}

// TakeLock takes a lock and gives it back.
//
//go:noinline
func TakeLock(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// Await waits until n goroutines are in the given state and have the function on their stacks, both
// named as the runtime does.
func Await(t *testing.T, n int, function, state string) {
	t.Helper()
	buf := make([]byte, 4<<20)
	require.Eventually(t, func() bool {
		found := 0
		for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			_, says, _ := strings.Cut(g, " [")
			if strings.HasPrefix(says, state) && strings.Contains(g, function) {
				found++
			}
		}
		return found >= n
	}, time.Minute, time.Millisecond, "too few are in %s, state %q", function, state)
}
