// Package leak finds goroutines that tests leave behind.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience ends the wait for a goroutine that never ends. It is long: on a busy machine, goroutines
// that are about to end may need long.
const patience = time.Minute

// A Set is goroutines, by the first lines of their stacks.
type Set map[string]bool

// Current returns the goroutines that there are.
func Current() Set {
	set := Set{}
	for _, stack := range stacks() {
		set[id(stack)] = true
	}
	return set
}

// VerifyTestMain runs the tests, and fails if goroutines are left when they have passed.
func VerifyTestMain(m *testing.M) {
	before := Current()
	code := m.Run()
	if code == 0 {
		if left := before.remaining(); len(left) > 0 {
			fmt.Fprintln(os.Stderr, "goroutines are left:\n"+strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// VerifyNone fails the test if goroutines are left, besides those of before.
func VerifyNone(t testing.TB, before Set) {
	t.Helper()
	if left := before.remaining(); len(left) > 0 {
		t.Error("goroutines are left:\n" + strings.Join(left, "\n\n"))
	}
}

// remaining waits until no other goroutine is left, or for patience. It returns the stacks of the
// goroutines that are left, except the goroutine that waits for signals, which never ends.
func (s Set) remaining() (list []string) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		list = list[:0]
		for _, stack := range stacks() {
			if !s[id(stack)] && !strings.Contains(stack, "os/signal.") {
				list = append(list, stack)
			}
		}
		if len(list) == 0 {
			break
		}
	}
	return list
}

// id returns the number of a goroutine: "goroutine 7".
func id(stack string) string { return stack[:strings.IndexByte(stack, '[')] }

// stacks returns the stacks of all goroutines except the caller.
func stacks() []string {
	buf := make([]byte, 1<<16)
	for {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")[1:]
		}
		buf = make([]byte, 2*len(buf))
	}
}
