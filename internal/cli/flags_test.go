package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

func TestSlowWrong(t *testing.T) {
	for _, value := range []string{"0", "100", "-1", "NaN", "slow", "0s", "-2ms", "99.9 %"} {
		for _, command := range []string{"run", "serve"} {
			refused(t, []string{command, "--slow=" + value}, "--slow: expected a percentile", value)
		}
	}
	refused(t, quick("--slow=99"), "--slow: expected an address in --http")
	refused(t, []string{"run", "--slow=99", "--latency-sample=off"}, "--latency-sample off")
}

// runOf reads the results in the JSON form.
func runOf(t *testing.T, text string) results.Run {
	t.Helper()
	var r results.Run
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	return r
}

// With --slow every operation is timed, unless it is said otherwise, and the run is
// marked: it was slowed down.
func TestSlowMarksTheRun(t *testing.T) {
	args := []string{"--workload=counter", "--engine=mvcc", "--count=1", "--ops=2000", "--threads=2",
		"--format=json", "--http=127.0.0.1:0", "-q"}
	stdout, _ := succeed(t, append(args, "--slow=99.9%")...)
	r := runOf(t, stdout)
	require.Equal(t, 1, r.Samples[0].LatencySample)
	require.Contains(t, r.Header.Instrumented, "execution trace")

	stdout, _ = succeed(t, append(args, "--slow=99.9", "--latency-sample=7")...)
	require.Equal(t, 7, runOf(t, stdout).Samples[0].LatencySample)

	stdout, _ = succeed(t, args...)
	require.Empty(t, runOf(t, stdout).Header.Instrumented)
}

// A run during which a visitor has taken an execution trace is marked, in every format that has a
// place for it; one during which a visitor has taken a CPU profile is not.
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
				"--warmup=0s --format=json --http=127.0.0.1:0"), &stdout, &stderr)
		require.Equal(t, ExitOK, code, stderr.String())
		require.True(t, asked)
		require.Equal(t, c.marked, runOf(t, stdout.String()).Header.Instrumented != "", c.path)
	}
}

const quickConfig = `{
	"workload": "counter", "engine": ["rwmutex", "mvcc"], "threads": [1, 2], "count": 1, "duration": "2ms", "warmup": "0s",
	"http": "off", "quiet": true, "format": "json", "seed": 18446744073709551615
}`

// Flags come from the file, and those on the command line win, also over those that
// they exclude. Some editors begin a file with a byte order mark.
func TestConfig(t *testing.T) {
	file := fileOf(t, "bench.json", "\uFEFF"+quickConfig)
	read := func(args ...string) *results.Run {
		out := filepath.Join(t.TempDir(), "out.json")
		stdout, stderr := succeed(t, append(args, "-o", out)...)
		require.Empty(t, stdout)
		require.Empty(t, stderr, "it is quiet")
		in, err := results.Load(out)
		require.NoError(t, err)
		run, err := in.Run()
		require.NoError(t, err)
		return run
	}
	run := read("--config", file)
	require.Len(t, run.Samples, 4)
	require.Equal(t, "rwmutex", run.Samples[0].Engine)
	require.EqualValues(t, uint64(18446744073709551615), run.Header.Seed, "to the last digit")

	run = read("run", "--threads=3", "--config="+file, "--engine=xsync,sync.Map,rwmutex",
		"--workload=read-heavy", "--ops=100")
	require.Len(t, run.Samples, 3)
	for _, s := range run.Samples {
		require.Equal(t, "read-heavy", s.Workload)
		require.Equal(t, 3, s.Threads)
		require.EqualValues(t, 100, s.Ops, "and not the duration of the file")
	}
}

func TestWrongConfig(t *testing.T) {
	for text, want := range map[string][]string{
		`{"thread": 1}`:           {`unknown key "thread"`, "did you mean threads?"},
		`{"read_pct": 1}`:         {`"read_pct"`, "did you mean read-pct?"},
		`{"run": {"threads": 1}}`: {`"run"`},
		`{"gate": true}`:          {`unknown key "gate"`}, // a flag of another command
		`{"config": "x"}`:         {`unknown key "config"`},
		`{"version": true}`:       {`unknown key "version"`},
		`{"threads": {}}`:         {`"threads"`, "expected a number"},
		`{"threads": [[1]]}`:      {`"threads"`, "expected a number"},
		`{"threads": null}`:       {`"threads"`, "expected a number"},
		`{"count": [1, 2]}`:       {`"count"`, "not a list"},
		`{"count": 1} {}`:         {"after the object"},
		`{"seed": 1, "seed": 2}`:  {`"seed" is there twice`},
		"\xFF\xFE{\x00}\x00":      {"UTF-16"},
		`{"count": 1`:             {"expected an object", "EOF"},
		`{"count" 1}`:             {"expected an object", "colon"},
		`[1]`:                     {"expected an object"},
		`null`:                    {"expected an object"},
		``:                        {"expected an object"},
	} {
		file := fileOf(t, "bench.json", text)
		refused(t, []string{"--config", file}, append(want, "--config: "+file+": ")...)
	}
	refused(t, []string{"--config", filepath.Join(t.TempDir(), "none")},
		"--config: expected a file in JSON")

	// What a flag does not take is refused as on the command line.
	for text, want := range map[string][]string{
		`{"threads": ["many"]}`: {"--threads", "int", "many"},
		`{"count": 1.5}`:        {"--count", "1.5"},
		`{"quiet": "perhaps"}`:  {"--quiet", "perhaps"},
		`{"format": "xml"}`:     {"--format", `"auto","bench","json"`, "xml"},
		`{"count": 0}`:          {"--count"},
	} {
		refused(t, []string{"--config", fileOf(t, "bench.json", text)}, want...)
	}
}
