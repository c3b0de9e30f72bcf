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
	for _, c := range []struct {
		text string
		want []string
	}{
		{`{"thread": 1}`, []string{`unknown key "thread"`, `is it "threads"?`}},
		{`{"read_pct": 1}`, []string{`"read_pct"`, `is it "read-pct"?`}},
		{`{"run": {"threads": 1}}`, []string{`"run"`}},
		{`{"gate": true}`, []string{`unknown key "gate"`}}, // a flag of another command
		{`{"config": "x"}`, []string{`unknown key "config"`}},
		{`{"help": true}`, []string{`unknown key "help"`}},
		{`{"version": true}`, []string{`unknown key "version"`}},
		{`{"threads": ["many"]}`, []string{`"threads"`, "many"}},
		{`{"threads": {}}`, []string{`"threads"`, "expected"}},
		{`{"threads": [[1]]}`, []string{`"threads"`, "expected"}},
		{`{"threads": null}`, []string{`"threads"`, "expected"}},
		{`{"count": [1, 2]}`, []string{`"count"`, "not a list"}},
		{`{"count": 1.5}`, []string{`"count"`, "1.5"}},
		{`{"quiet": "perhaps"}`, []string{`"quiet"`, "perhaps"}},
		{`{"format": "xml"}`, []string{`"format"`, "bench, table, json, csv", "xml"}},
		{`{"count": 1, "count": 2}`, []string{`"count" is there twice`}},
		{`{"count": 1} {}`, []string{"after the object"}},
		{`{"count": 1`, []string{"expected a brace"}},
		{`{"count": `, []string{"expected a brace"}},
		{`{`, []string{"expected a brace"}},
		{`{"count" 1}`, []string{"colon"}},
		{`[1]`, []string{"expected an object"}},
		{``, []string{"expected an object"}},
	} {
		file := configFile(t, c.text)
		refused(t, []string{"--config", file}, append(c.want, "--config: "+file+": ")...)
	}
	refused(t, []string{"--config", filepath.Join(t.TempDir(), "none")},
		"--config: expected a file in JSON")

	// What the command itself refuses is named as on the command line.
	refused(t, []string{"--config", configFile(t, `{"count": 0}`)}, "--count")
}
