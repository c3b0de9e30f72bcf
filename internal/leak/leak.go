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

// settling waits for goroutines when the tests have run.
type settling struct{ *testing.M }

func (s settling) Run() int {
	code := s.M.Run()
	end := time.Now().Add(patience)
	for code == 0 && goleak.Find() != nil && time.Now().Before(end) {
	}
	return code
}
