//go:build mvcccheck

package mvcc

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/goid"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

// stopper stops one goroutine before its n-th access to an object.
type stopper struct {
	who        goid.ID
	object     unsafe.Pointer
	n          int
	at, resume chan bool
}

func (s *stopper) Owns() bool { return false }
func (s *stopper) Before(_ hooks.Access, object unsafe.Pointer) {
	if object != s.object || goid.Get() != s.who {
		return
	}
	if s.n--; s.n == 0 {
		s.at <- true
		<-s.resume
	}
}
func (s *stopper) Failed()                 {}
func (s *stopper) Index(hooks.Access, any) {}
func (s *stopper) GaveUp()                 {}
func (s *stopper) Take() any               { return nil }
func (s *stopper) Give(any)                {}

// Expire is called after a writer of one key has installed its version, and before it looks whom it
// has to tell. If until ends the goroutine of the writer its version is withdrawn.
func TestExpireBeginsMeanwhile(t *testing.T) {
	m := newMap[string, int](t, &Options{ManualReclaim: true})
	m.Store("x", 1)
	m.Delete("x")
	require.NoError(t, m.Reclaim(bg))
	s := &stopper{object: unsafe.Pointer(&coreOf(m).expiryAt), n: 1, at: make(chan bool),
		resume: make(chan bool)}
	done := make(chan bool)
	go func() {
		defer close(done)
		s.who = goid.Get()
		defer hooks.Schedule(s)()
		m.Store("x", 2)
	}()
	<-s.at
	m.Expire(func(string, int) time.Time {
		if goid.Get() == s.who {
			runtime.Goexit()
		}
		return time.Unix(4e9, 0)
	})
	s.resume <- true
	<-done
	_, ok := m.Load("x")
	require.False(t, ok, "its writer was ended by until: the version is to be withdrawn")
	require.Equal(t, len(contents(t, m)), m.Len())
}
