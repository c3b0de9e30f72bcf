package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// Every operation is in one interval of the log of histograms.
func TestHistogramLog(t *testing.T) {
	hlog := filepath.Join(t.TempDir(), "x.hlog")
	args := []string{"--workload=counter", "--engine=mvcc,rwmutex", "--threads=1", "--count=2",
		"--ops=2000", "--warmup=1ms", "--http=off", "--rate=100k", "--interval=3ms", "--hlog=" + hlog}
	succeed(t, args...)
	b, err := os.ReadFile(hlog)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	require.Contains(t, lines[0], "#[response times of the interval, from when each operation was due")
	require.Equal(t, "#[Histogram log format version 1.3]", lines[1])
	require.Regexp(t, `^#\[StartTime: \d+\.\d{3} \(seconds since epoch\), `, lines[2])
	require.Equal(t, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`,
		lines[3])
	interval := regexp.MustCompile(
		`^Tag=Counter/rate=100000/engine=(\w+)/threads=1,\d+\.\d{3},\d+\.\d{3},\d+\.\d{3},(HISTFAAA\S+)$`)
	counts := map[string]uint64{}
	for _, line := range lines[4:] {
		m := interval.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		h, err := results.DecodeHistogram(m[2])
		require.NoError(t, err)
		counts[m[1]] += h.Count()
	}
	require.Equal(t, map[string]uint64{"mvcc": 4000, "rwmutex": 4000}, counts)
}

// A log of one combination has no tags. A log that cannot be written fails the run.
func TestHistogramLogOfOneCombination(t *testing.T) {
	hlog := filepath.Join(t.TempDir(), "x.hlog")
	args := []string{"--workload=counter", "--engine=mvcc", "--threads=1", "--count=2", "--ops=100",
		"--warmup=0", "--http=off", "--latency-sample=1"}
	succeed(t, append(args, "--hlog="+hlog)...)
	b, err := os.ReadFile(hlog)
	require.NoError(t, err)
	require.Len(t, regexp.MustCompile(`(?m)^\d+\.\d{3},0\.\d{3},\d+\.\d{3},HISTFAAA\S+$`).
		FindAllString(string(b), -1), 2, string(b))
	if _, err := os.Stat("/dev/full"); err == nil {
		code, stdout, stderr := call(t, append(args, "--hlog=/dev/full")...)
		require.Equal(t, ExitFailed, code)
		require.Contains(t, stderr, "writing the histogram log: ")
		require.Contains(t, stdout, "# complete: 2 of 2 samples")
	}
}
