package stage

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Patience is after how long a test that makes no progress is taken for hung.
// Nothing is asserted about times below it.
const Patience = 2 * time.Minute

// Eventually polls until cond holds.
func Eventually(t testing.TB, cond func() bool, format string, args ...any) {
	t.Helper()
	for end := time.Now().Add(Patience); !cond(); {
		if time.Now().After(end) {
			failWithStacks(t, fmt.Sprintf(format, args...))
		}
		runtime.Gosched()
	}
}

// Await waits until c is closed or has a value.
func Await[T any](t testing.TB, c <-chan T, format string, args ...any) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Patience):
		failWithStacks(t, fmt.Sprintf(format, args...))
		panic("unreachable")
	}
}

// failWithStacks fails the test with the stacks of all goroutines.
func failWithStacks(t testing.TB, what string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	t.Fatalf("no progress: %s\n\n%s", what, buf)
}

// Standing reports whether a goroutine is in the function.
func Standing(function string) bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), function)
}

// Sizes returns full, or less under -short or the race detector.
func Sizes[T cmp.Ordered](full, less T) T {
	if testing.Short() || Race {
		return less
	}
	return full
}

// Waits returns when done is closed, or when a goroutine has been met in the function so often that
// it waits there.
func Waits(t testing.TB, done <-chan struct{}, function string) {
	t.Helper()
	met := 0
	Eventually(t, func() bool {
		select {
		case <-done:
			return true
		default:
		}
		if Standing(function) {
			met++
		}
		return met == 10
	}, "nobody is in %s", function)
}
