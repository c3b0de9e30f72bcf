package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hist"
)

// readEvents returns the events of a file by name, in order.
func readEvents(t *testing.T, file string) map[string][]event {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	all := map[string][]event{}
	for line := range strings.Lines(string(b)) {
		var e event
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&e), line)
		require.False(t, e.Time.IsZero())
		all[e.Event] = append(all[e.Event], e)
	}
	require.Regexp(t, `^\{"event":"begin",`, string(b))
	require.Regexp(t, `(?m)^\{"event":"end",.*\n\z`, string(b))
	return all
}

// Every operation is in one interval of the log of histograms, and every sample in the events.
func TestEventsAndHistogramLog(t *testing.T) {
	dir := t.TempDir()
	events, hlog := filepath.Join(dir, "events.ndjson"), filepath.Join(dir, "x.hlog")
	args := []string{"--workload=begin", "--engine=mvcc,rwmutex", "--threads=1", "--count=2",
		"--ops=2000", "--warmup=1ms", "--http=off", "--rate=100k", "--interval=3ms",
		"--events=" + events, "--hlog=" + hlog, "--threshold=achieved>=0,p99<0"}
	code, _, stderr := call(t, args...)
	require.Equal(t, ExitMissed, code, stderr)

	all := readEvents(t, events)
	require.Len(t, all["begin"], 1)
	require.Equal(t, 4, all["begin"][0].Of)
	require.Contains(t, all["begin"][0].Header.Args, "--rate=100k")
	require.Len(t, all["start"], 4)
	require.Equal(t, "Begin/rate=100000/engine=rwmutex/threads=1", all["start"][1].Name)
	require.Equal(t, []int{2, 1}, []int{all["start"][1].Step, all["start"][1].Number})
	require.Len(t, all["sample"], 4)
	require.EqualValues(t, 2000, all["sample"][0].Result.Ops)
	require.Contains(t, all["sample"][0].Result.Metrics, "response-p99-ns")
	timed := map[int]uint64{}
	for _, e := range all["interval"] {
		require.Equal(t, "response", e.Figure.Kind)
		require.Positive(t, e.Figure.Seconds)
		timed[e.Step] += e.Figure.Timed
	}
	require.Equal(t, map[int]uint64{1: 2000, 2: 2000, 3: 2000, 4: 2000}, timed, "each once")
	require.Len(t, all["threshold"], 4)
	require.True(t, all["threshold"][0].Threshold.Kept)
	require.False(t, all["threshold"][1].Threshold.Kept)
	require.Equal(t, "p99-ns < 0 ns", all["threshold"][1].Threshold.Limit)
	require.Positive(t, *all["threshold"][1].Threshold.Value)
	require.Equal(t, "complete", all["end"][0].Outcome.Kind)

	b, err := os.ReadFile(hlog)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	require.Contains(t, lines[0], "#[response times of the interval, from when each operation was due")
	require.Equal(t, "#[Histogram log format version 1.3]", lines[1])
	require.Regexp(t, `^#\[StartTime: \d+\.\d{3} \(seconds since epoch\), `, lines[2])
	require.Equal(t, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`,
		lines[3])
	interval := regexp.MustCompile(
		`^Tag=Begin/rate=100000/engine=(\w+)/threads=1,\d+\.\d{3},\d+\.\d{3},\d+\.\d{3},(HISTFAAA\S+)$`)
	counts := map[string]uint64{}
	for _, line := range lines[4:] {
		m := interval.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		h := new(hist.Hist)
		require.NoError(t, h.Decode(m[2]))
		counts[m[1]] += h.Count()
	}
	require.Equal(t, map[string]uint64{"mvcc": 4000, "rwmutex": 4000}, counts)

	refused(t, append(args, "--quiet"), "--events", "already")
	_, stderr = succeed(t, "--workload=begin", "--engine=mvcc", "--threads=1", "--count=2", "--ops=100",
		"--warmup=0", "--http=off", "--events="+events, "--overwrite", "--find-rate=achieved>=0")
	all = readEvents(t, events)
	require.Len(t, all["found"], 1, stderr)
	require.Len(t, all["try"], len(all["found"][0].Found.Tries))
	require.Equal(t, 1e9, all["found"][0].Found.Rate)
}

// A log of one combination has no tags. What cannot be written fails the run, which is saved all the
// same.
func TestLogsOfOneCombination(t *testing.T) {
	hlog := filepath.Join(t.TempDir(), "x.hlog")
	args := []string{"--workload=begin", "--engine=mvcc", "--threads=1", "--count=2", "--ops=100",
		"--warmup=0", "--http=off", "--latency-sample=1"}
	succeed(t, append(args, "--hlog="+hlog)...)
	b, err := os.ReadFile(hlog)
	require.NoError(t, err)
	require.Len(t, regexp.MustCompile(`(?m)^\d+\.\d{3},0\.\d{3},\d+\.\d{3},HISTFAAA\S+$`).
		FindAllString(string(b), -1), 2, string(b))

	refused(t, append(args, "--hlog="+filepath.Join(t.TempDir(), "no", "x")), "--hlog", "can be written")
	refused(t, append(args, "--hlog=a", "--events=a"), "--hlog", "another file")
	if _, err := os.Stat("/dev/full"); err == nil {
		code, stdout, stderr := call(t, append(args, "--events=/dev/full")...)
		require.Equal(t, ExitFailed, code)
		require.Contains(t, stderr, "writing the events: ")
		require.Contains(t, stdout, "# complete: 2 of 2 samples")
	}
}
