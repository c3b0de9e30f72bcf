package cli

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

func TestSlowWrong(t *testing.T) {
	for _, value := range []string{"0", "100", "-1", "NaN", "slow", "0s", "-2ms", "99.9 %"} {
		for _, command := range []string{"run", "serve"} {
			refused(t, []string{command, "--slow=" + value}, "--slow: expected a percentile", value)
		}
	}
	refused(t, quick("--slow=99"), "--slow: expected an address in --http")
}

// record returns the results of a run that succeeds, in JSON.
func record(t *testing.T, args ...string) *results.Run {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	succeed(t, append(args, "--output="+file)...)
	return loadRun(t, file)
}

// loadRun reads a file of results.
func loadRun(t *testing.T, file string) *results.Run {
	t.Helper()
	in, err := results.Load(file)
	require.NoError(t, err)
	r, err := in.Run()
	require.NoError(t, err)
	return r
}

// With --slow every operation is timed, unless it is said otherwise, and the run is
// marked: it was slowed down.
func TestSlowMarksTheRun(t *testing.T) {
	args := []string{"--workload=counter", "--engine=mvcc", "--count=1", "--ops=2000", "--threads=2",
		"--http=127.0.0.1:0", "-q"}
	r := record(t, append(args, "--slow=99.9%")...)
	require.Equal(t, 1, r.Samples[0].LatencySample)
	require.Contains(t, r.Header.Instrumented, "execution trace")

	require.Equal(t, 7, record(t, append(args, "--slow=99.9", "--latency-sample=7")...).
		Samples[0].LatencySample)
	require.Empty(t, record(t, args...).Header.Instrumented)
}

// A run during which a visitor has taken an execution trace is marked; one during which a visitor has taken a CPU profile is not.
func TestVisitorsAreMarked(t *testing.T) {
	mvcc, ok := bench.EngineByName("mvcc")
	require.True(t, ok)
	address := regexp.MustCompile(`profiles: (http://\S+)`)
	for _, c := range []struct {
		path   string
		marked bool
	}{
		{"/debug/pprof/trace?seconds=0.01", true},
		{"/debug/pprof/profile?seconds=0.01", false},
	} {
		var stdout, stderr lines
		asked := false
		visitor := sessions("visited", mvcc,
			func(s bench.Session) bench.Session {
				return doing{s, func(s bench.Session, readOnly bool, fn func(bench.Access) error) error {
					if asked || readOnly {
						return s.Do(readOnly, fn)
					}
					asked = true
					res, err := http.Get(address.FindStringSubmatch(stderr.String())[1] + c.path)
					if err != nil {
						panic(err)
					}
					defer res.Body.Close()
					if n, err := io.Copy(io.Discard, res.Body); err != nil || n == 0 ||
						res.StatusCode != http.StatusOK {
						panic(res.Status)
					}
					return s.Do(readOnly, fn)
				}}
			})
		code := RunWith(t.Context(), Program{Name: "visits", Engines: []bench.EngineSpec{visitor}},
			strings.Fields("run --engine=visited --workload=read-heavy --read-pct=0 --threads=1 --count=2 --ops=10 "+
				"--warmup=0s --http=127.0.0.1:0"), &stdout, &stderr)
		require.Equal(t, ExitOK, code, stderr.String())
		require.True(t, asked)
		require.Equal(t, c.marked, strings.Contains(stdout.String(), "execution trace"), c.path)
	}
}
