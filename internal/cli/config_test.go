package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const quickConfig = `{
	"workload": "begin", "engine": ["rwmutex", "mvcc"], "threads": [1, 2], "count": 1, "duration": "2ms", "warmup": "0s",
	"http": "off", "quiet": true, "format": "json", "seed": 18446744073709551615
}`

// Flags come from the file, and those on the command line win, also over those that
// they exclude.
func TestConfig(t *testing.T) {
	file := configFile(t, quickConfig)
	read := func(args ...string) *results.Run {
		out := filepath.Join(t.TempDir(), "out.json")
		stdout, stderr := succeed(t, append(args, "-o", out)...)
		require.Empty(t, stdout)
		require.Empty(t, stderr, "it is quiet")
		in, err := results.Load(out, nil)
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
		"--workload=balanced", "--ops=100")
	require.Len(t, run.Samples, 3)
	for _, s := range run.Samples {
		require.Equal(t, "balanced", s.Workload)
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
		`{"count": 1`:             {"expected an object", "EOF"},
		`{"count" 1}`:             {"expected an object", "'1'"},
		`[1]`:                     {"expected an object"},
		`null`:                    {"expected an object"},
		``:                        {"expected an object"},
	} {
		file := configFile(t, text)
		refused(t, []string{"--config", file}, append(want, "--config: "+file+": ")...)
	}
	refused(t, []string{"--config", filepath.Join(t.TempDir(), "none")},
		"--config: expected a file in JSON")

	// What a flag does not take is refused as on the command line.
	for text, want := range map[string][]string{
		`{"threads": ["many"]}`: {"--threads", "int", "many"},
		`{"count": 1.5}`:        {"--count", "1.5"},
		`{"quiet": "perhaps"}`:  {"--quiet", "perhaps"},
		`{"format": "xml"}`:     {"--format", `"bench","table","json","csv"`, "xml"},
		`{"count": 0}`:          {"--count"},
	} {
		refused(t, []string{"--config", configFile(t, text)}, want...)
	}
}
