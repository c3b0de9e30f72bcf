package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

// A record has the intervals of each sample, with every operation in one of them, if they are asked
// for; of short samples not otherwise.
func TestRecordHasIntervals(t *testing.T) {
	dir := t.TempDir()
	record := func(name string, more ...string) *results.Run {
		file := filepath.Join(dir, name)
		code, _, stderr := call(t, append([]string{"--workload=transfer", "--engine=mvcc,rwmutex",
			"--threads=2", "--count=2", "--warmup=1ms", "--http=off", "--format=json", "--output=" + file},
			more...)...)
		require.Zero(t, code, stderr)
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		run, err := results.Read(f)
		require.NoError(t, err)
		require.Len(t, run.Samples, 4)
		return run
	}
	events := filepath.Join(dir, "events")
	for _, s := range record("asked", "--duration=60ms", "--interval=5ms", "--events="+events).Samples {
		require.NotEmpty(t, s.Intervals)
		var ops uint64
		for _, i := range s.Intervals {
			ops += i.Ops
		}
		require.Equal(t, s.Ops, ops)
	}
	for _, e := range readEvents(t, events)["sample"] {
		require.Empty(t, e.Result.Intervals, "they have events of their own")
	}
	for _, s := range record("not", "--duration=10ms").Samples {
		require.Empty(t, s.Intervals)
	}
}

func TestWhichSamplesHaveIntervals(t *testing.T) {
	every := time.Millisecond
	for sample, want := range map[time.Duration]bool{
		0: false, 4 * time.Second: false, 5 * time.Second: true,
	} {
		l := newTimeline(nil, sample)
		require.Equal(t, want, l != nil, sample)
		l.end()
	}
	l := newTimeline(&every, 0)
	require.NotNil(t, l)
	l.end()
}
