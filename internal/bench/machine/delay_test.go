package machine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The run-delay of all threads is known where the system tells of one.
func TestDelays(t *testing.T) {
	require.Zero(t, delays(t.TempDir()))
	dir := t.TempDir()
	for thread, text := range map[string]string{"1": "9 2000000000 3\n", "2": "1 500000000 1\n", "3": ""} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "task", thread), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "task", thread, "schedstat"), []byte(text), 0o644))
	}
	require.InDelta(t, 2.5, delays(dir), 1e-9)
	u := Between(Times{Delay: 1}, Times{Delay: 2.5}, time.Second)
	require.True(t, u.Delayed)
	require.Equal(t, 1500*time.Millisecond, u.Delay)
	require.Zero(t, Between(Times{Delay: 2}, Times{Delay: 1}, time.Second).Delay, "threads have ended")
}
