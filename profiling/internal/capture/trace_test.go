package capture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// A trace that grows too large ends early, and can be read.
func TestLargeTraceEndsEarly(t *testing.T) {
	text, err := takeTrace(t.Context(), time.Hour, 1)
	require.NoError(t, err)
	_, err = contention.FromTrace(text)
	require.NoError(t, err)
}
