package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench/peers"
)

// binary is the command, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "peersbench")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "peersbench")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		os.Stderr.Write(out)
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// call runs the command.
func call(t *testing.T, args ...string) (stdout, stderr string, code int) {
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}
	require.NoError(t, err)
	return out.String(), errs.String(), 0
}

// Every peer is measured, and its results go into the table.
func TestRunAndTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.txt")
	engines := "mvcc"
	for _, p := range peers.Peers() {
		engines += "," + p.Name
	}
	_, stderr, code := call(t, "run", "--workload=transfer,long-reader", "--engine="+engines,
		"--threads=1,2", "--count=1",
		"--duration=2ms", "--warmup=0", "--http=off", "-o", file)
	require.Zero(t, code, stderr)
	stdout, stderr, code := call(t, "markdown", file)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	for _, p := range peers.Peers() {
		require.Regexp(t, `\| +`+p.Name+` +\| `+p.Isolation+` +\| +[0-9]`, stdout)
		require.Contains(t, stdout, "    "+p.Module+" v", "its version")
	}
	require.Contains(t, stdout, "LongReader without buntdb: ")
	require.Contains(t, stdout, "\n    peersbench run --workload=transfer,long-reader ",
		"the command line can be copied")
	require.NotContains(t, stdout, "mvccbench")

	// The same in a page, in place of what was there before.
	page := filepath.Join(t.TempDir(), "page.md")
	const before, after = "text\n\n<!-- make bench-peers -->\n",
		"<!-- end of make bench-peers -->\n\nmore text\n"
	require.NoError(t, os.WriteFile(page, []byte(before+"\nan old table\n\n"+after), 0o666))
	for range 2 { // a second time changes nothing
		_, stderr, code = call(t, "markdown", "--into", page, file)
		require.Zero(t, code, stderr)
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Equal(t, before+"\n"+stdout+"\n"+after, string(text))
	}
	require.NoError(t, os.WriteFile(page, []byte("<!-- make bench-peers -->\nno end\n"), 0o666))
	_, stderr, code = call(t, "markdown", "--into", page, file)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "after the first")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "<!-- make bench-peers -->\nno end\n", string(text), "it is left as it was")
}

func TestExitCodes(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o666))
	results := filepath.Join(t.TempDir(), "results")
	require.NoError(t, os.WriteFile(results,
		[]byte("BenchmarkCounter/engine=stm/threads=1-2 100 5 ns/op\n"), 0o666))
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"list", []string{"list"}, 0, "badger"},
		{"help", []string{"run", "--help"}, 0, "badger"},
		{"help of markdown", []string{"markdown", "--help"}, 0, "FILE"},
		{"table of nothing", []string{"markdown"}, 2, "<file>"},
		{"table of no file", []string{"markdown", filepath.Join(t.TempDir(), "none")}, 2, "no such file"},
		{"table of an empty file", []string{"markdown", empty}, 2, "no results"},
		{"table into no page", []string{"markdown", results, "--into", filepath.Join(t.TempDir(),
			"none")}, 2, "--into: expected a page"},
		{"table into another page", []string{"markdown", results, "--into", results}, 2,
			"there is no line \"<!-- make bench-peers -->\""},
		{"unknown engine", []string{"run", "--engine=no-such"}, 2, "badger"},
		{"lacking", []string{"run", "--engine=buntdb", "--workload=long-reader"}, 2, "stops every writer"},
	} {
		stdout, stderr, code := call(t, c.args...)
		require.Equal(t, c.code, code, "%s: %s", c.name, stderr)
		if code == 0 {
			require.Contains(t, stdout, c.says, c.name)
		} else {
			require.Empty(t, stdout, c.name)
			require.Contains(t, stderr, c.says, c.name)
		}
	}
}
