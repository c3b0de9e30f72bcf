package mvcc

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is after how long a test that makes no progress is taken for hung.
// Nothing is asserted about times below it.
const patience = 2 * time.Minute

// eventually polls until cond holds.
func eventually(t testing.TB, cond func() bool, format string, args ...any) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); {
		if time.Now().After(end) {
			dump(t, fmt.Sprintf(format, args...))
		}
		runtime.Gosched()
	}
}

// await waits until c is closed or has a value.
func await[T any](t testing.TB, c <-chan T, format string, args ...any) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		dump(t, fmt.Sprintf(format, args...))
		panic("unreachable")
	}
}

// dump fails the test with the stacks of all goroutines.
func dump(t testing.TB, what string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	t.Fatalf("no progress: %s\n\n%s", what, buf)
}

// standing reports whether a goroutine is in the function.
func standing(function string) bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), function)
}

// sizes returns full, or less under -short or the race detector.
func sizes[T cmp.Ordered](full, less T) T {
	if testing.Short() || raceEnabled {
		return less
	}
	return full
}
