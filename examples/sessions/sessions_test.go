package sessions_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/examples/sessions"
)

// A map that was made in the bubble of the test has its goroutines and its time there: so an hour
// takes no time. (One that was made outside must not be used in the bubble: its goroutine would
// wait for something outside, and time would stand still.) synctest.Test fails if a goroutine is
// left at the end: so the map is closed.
//
// A test without a bubble would use go.uber.org/goleak for that:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
//
// with a Close of every map before. A map that nobody uses has no goroutine either, but it
// takes some ticks until the last one has ended.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessions.New(time.Hour)
		defer s.Close()
		s.Open("token 1", "alice")
		s.Open("token 2", "bob")

		time.Sleep(40 * time.Minute)
		user, ok := s.User("token 1") // an hour from now on
		require.True(t, ok)
		require.Equal(t, "alice", user)

		time.Sleep(40 * time.Minute)
		require.Equal(t, 1, s.Len())
		_, ok = s.User("token 2")
		require.False(t, ok)

		time.Sleep(21 * time.Minute)
		require.Equal(t, 0, s.Len())
	})
}

// A session that is over is over to the nanosecond, before the map deletes it.
func TestOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessions.New(time.Hour)
		defer s.Close()
		s.Open("token", "alice")

		time.Sleep(time.Hour)
		_, ok := s.User("token")
		require.False(t, ok)
		require.Equal(t, 0, s.Len(), "and is deleted by whoever finds it")
	})
}
