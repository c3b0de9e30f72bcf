package gc_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A manual reclaimer tells the logger from within Reclaim: it has no goroutines.
func TestManualLogger(t *testing.T) {
	l := &logger{told: make(chan slog.Record, 100)}
	cfg := config{Manual: true, Logger: slog.New(l), WarnAge: time.Minute, MaxAge: time.Hour}
	bubble(t, cfg, func(t *testing.T, f *fixture) {
		r := f.begin()
		f.slots.Next()
		for range 3 {
			require.NoError(t, f.Reclaim(t.Context()))
		}
		require.Empty(t, l.told)
		time.Sleep(time.Minute)
		require.NoError(t, f.Reclaim(t.Context()))
		require.Len(t, l.told, 1)
		time.Sleep(time.Hour)
		require.NoError(t, f.Reclaim(t.Context()))
		require.Len(t, l.told, 2)
		require.True(t, r.slot.Evicted(r.gen))
		r.end()
	})
}
