package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is around a measured run is there when nothing has been done yet and ends
// when all has; a warm-up is left alone.
func TestAround(t *testing.T) {
	w, e := named(t, "begin", "rwmutex")
	tr, err := New(Config{Workload: w, Engine: e, Threads: 2, Seed: 1})
	require.NoError(t, err)
	defer tr.Close()
	var begun, ended []uint64
	tr.Around(func() func() {
		begun = append(begun, tr.Live())
		return func() { ended = append(ended, tr.Live()) }
	})
	_, err = tr.RunFor(t.Context(), time.Millisecond, false)
	require.NoError(t, err)
	require.Empty(t, begun)
	for range 2 {
		_, err = tr.RunOps(t.Context(), 1000)
		require.NoError(t, err)
	}
	require.Equal(t, []uint64{0, 0}, begun)
	require.Equal(t, []uint64{1000, 1000}, ended)

	// Also if the run is cut short.
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	m, err := tr.RunFor(ctx, time.Hour, true)
	require.NoError(t, err)
	require.True(t, m.Interrupted)
	require.Len(t, ended, 3)
}
