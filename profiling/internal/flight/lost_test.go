package flight

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What was not kept is said as long as the recording goes on, and after its end.
func TestLossesOutliveTheRecording(t *testing.T) {
	f := loneFlight(t, Config{})
	f.stop, f.leave, f.stopped = func() {}, func() {}, make(chan struct{})
	close(f.stopped)
	s := &Recording{flight: f, cfg: f.cfg}
	f.drop("It was torn.")
	for _, on := range []bool{true, false} {
		st := s.State()
		require.Equal(t, on, st.On)
		require.Equal(t, 1, st.Lost)
		require.Equal(t, "It was torn.", st.Problem)
		s.Stop()
	}
}

// An operation whose turn comes too late is counted among what was not kept.
func TestTooLateIsLost(t *testing.T) {
	f := loneFlight(t, Config{})
	f.fresh.Store(int64(time.Second))
	f.best.Store(&Slow{Op: "old", End: time.Now().Add(-time.Hour)})
	f.wake <- struct{}{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.run(ctx) }()
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.lost == 1 && f.problem != ""
	}, time.Minute, time.Millisecond)
	stop()
	<-ended
}
