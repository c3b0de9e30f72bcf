package slow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// Where nothing took half of the time, the verdict names the two longest parts, and
// none of them twice.
func TestVerdictNamesTheNext(t *testing.T) {
	const took = 10 * time.Millisecond
	lock := func(d time.Duration) Wait { return Wait{Kind: contention.Mutex, Count: 1, Total: d} }
	doze := func(d time.Duration) Wait { return Wait{Kind: contention.Sleep, Count: 1, Total: d} }
	for want, r := range map[string]Report{
		"4.00 ms of 10.0 ms waiting for a sync.Mutex. Next: 2.60 ms running.": {
			Running: 2600 * time.Microsecond, Assist: 1900 * time.Microsecond, Waits: []Wait{lock(4e6), doze(1e6)},
		},
		"4.00 ms of 10.0 ms waiting for a sync.Mutex. Next: 3.00 ms sleeping.": {
			Running: 2e6, Assist: 1e6, Waits: []Wait{lock(4e6), doze(3e6)},
		},
		"4.00 ms of 10.0 ms waiting for a sync.Mutex. Next: 3.00 ms waiting for a sync.Mutex.": {
			Running: 2e6, Assist: 1e6, Waits: []Wait{lock(4e6), lock(3e6)}, // at another line
		},
		"3.00 ms of 10.0 ms marking for the garbage collector, in return for what it allocated. Next: 2.90 ms running.": {
			Running: 2900 * time.Microsecond, Assist: 3e6, Waits: []Wait{lock(1e6), doze(1e6)},
		},
		"4.00 ms of 10.0 ms running: the operation itself used the processor. A CPU profile shows where. Next: 3.50 ms marking for the garbage collector.": {
			Running: 4e6, Assist: 3500 * time.Microsecond, Waits: []Wait{lock(2e6)},
		},
		"5.95 ms of 10.0 ms are not in the trace. Next: 4.00 ms waiting for a sync.Mutex.": {
			Running: 5e4, Unknown: 5950 * time.Microsecond, Waits: []Wait{lock(4e6)},
		},
		"6.00 ms of 10.0 ms waiting for a sync.Mutex.": {Running: 4e6, Waits: []Wait{lock(6e6)}},
		"10.0 ms of 10.0 ms are not in the trace.":     {Unknown: took},
		"4.00 ms of 10.0 ms running: the operation itself used the processor. A CPU profile shows where.": {
			Running: 4e6, Unknown: 5e6,
		},
	} {
		r.Seen, r.Took = took, took
		require.Equal(t, want, r.verdict())
	}
}
