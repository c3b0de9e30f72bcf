// Package leak finds goroutines that tests leave behind.
package leak

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience ends the wait for a goroutine that never ends.
const patience = time.Minute

// VerifyTestMain runs the tests, and fails if goroutines are left. It is that of package
// goleak, which waits for half a second only: on a busy machine, goroutines that are about
// to end may need longer.
func VerifyTestMain(m *testing.M) { goleak.VerifyTestMain(settling{m}) }

// VerifyNone fails the test if goroutines are left, besides those of before. It waits as
// VerifyTestMain does.
func VerifyNone(t testing.TB, before goleak.Option) {
	t.Helper()
	settle(before)
	goleak.VerifyNone(t, before)
}

// settling waits for goroutines when the tests have run.
type settling struct{ *testing.M }

func (s settling) Run() int {
	code := s.M.Run()
	if code == 0 {
		settle()
	}
	return code
}

// settle waits until no goroutine is left, or for patience.
func settle(before ...goleak.Option) {
	for end := time.Now().Add(patience); goleak.Find(before...) != nil && time.Now().Before(end); {
	}
}
