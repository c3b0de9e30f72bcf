package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// sampleRepo returns a fresh git work tree that holds testdata/sample.
func sampleRepo(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS("testdata/sample")))
	out, err := exec.Command("git", "-C", root, "init", "--quiet").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return root
}

// sampleRunner returns a runner for a sample repository, and its mutants.
func sampleRunner(t *testing.T, root string) (*runner, []*mutant) {
	t.Helper()
	mutants, err := readMutants(filepath.Join(root, "faults"))
	require.NoError(t, err)
	tree, err := openTree(root)
	require.NoError(t, err)
	r, end, err := newRunner(t.Context(), tree)
	require.NoError(t, err)
	t.Cleanup(end)
	r.parallel, r.timeout = 2, time.Minute
	return r, mutants
}

// snapshot returns the contents of every file of root outside .git.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	files, err := sourceFiles(t.Context(), root)
	require.NoError(t, err)
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		all[file] = string(text)
	}
	return all
}

func TestVerdicts(t *testing.T) {
	t.Setenv("SAMPLE_RUNS", filepath.Join(t.TempDir(), "runs"))
	root := sampleRepo(t)
	before := snapshot(t, root)
	want := map[string]verdict{
		"is-killed":     killed,
		"is-found-late": killed,
		"does-panic":    killed,
		"hangs-rightly": killed,
		"reads-source":  killed,
		"hangs-forever": hung,
		"has-survived":  survived,
		"leaves-file":   survived, // killed if the left.txt of the clean tree were still there
		"not-go":        doesNotBuild,
		"adds-nonsense": doesNotBuild,
		"not-there":     stale,
		"no-package":    stale,
		"fails-anyway":  baselineFailed,
		"no-test":       baselineFailed,
		"is-skipped":    baselineFailed,
	}

	r, mutants := sampleRunner(t, root)
	var progress bytes.Buffer
	reports := r.tryAll(t.Context(), mutants, &progress)

	got := map[string]verdict{}
	details := map[string]string{}
	for _, r := range reports {
		got[r.mutant.name] = r.verdict
		details[r.mutant.name] = r.detail
	}
	require.Empty(t, cmp.Diff(want, got), "details: %v", details)
	require.Equal(t, len(want), strings.Count(progress.String(), "\n"))
	require.Equal(t, "TestMax failed", details["is-killed"])
	require.Equal(t, "TestNoticesLate failed; not before run 2", details["is-found-late"])
	require.Contains(t, details["does-panic"], "panic: crash")
	require.Contains(t, details["not-go"], "undefined: c")
	require.Contains(t, details["not-there"], "no such code")
	require.Contains(t, details["fails-anyway"], "fails on the clean tree")
	require.Empty(t, cmp.Diff(before, snapshot(t, root)), "the work tree was written to")

	var table bytes.Buffer
	require.False(t, printTable(&table, reports, false))
	require.Contains(t, table.String(), "has-survived: SURVIVED")
	require.Contains(t, table.String(), "15 mutants: 5 killed, 10 not killed, 0 not run")
	require.Contains(t, table.String(), "sum TestMax ")
}

func TestModes(t *testing.T) {
	root := sampleRepo(t)
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"killed", []string{"-run", "^is-killed$"}, 0, "1 killed", "1/1 is-killed: killed"},
		{"verbose", []string{"-run", "^is-killed$", "-v"}, 0, "and so does this second line", ""},
		{"one bad", []string{"-run", "^(is-killed|not-there)$"}, 1, "STALE", ""},
		{"check", []string{"-check", "-run", "^not-there$"}, 1,
			"faults.txt:69: not-there does not apply: no such code in Max; at sum/sum.go:6 is\n" +
				"     5  func Max(a, b int) int {\n     6  \tif a > b {\n", ""},
		{"check all", []string{"-check"}, 1, "15 mutants: 11 apply and compile, 4 do not", ""},
		{"no such mutant", []string{"-run", "nobody"}, 1, "", "no mutant in faults"},
		{"no time for any", []string{"-run", "^is-killed$", "-budget", "1ns"}, 1,
			"0 killed, 0 not killed, 1 not run", ""},
		{"an unknown flag", []string{"-walk"}, 2, "", "-walk"},
		{"a bad pattern", []string{"-run", "("}, 2, "", "regular expression"},
		{"a matrix without a file", []string{"-matrix", "sum"}, 2, "", "go together"},
		{"an argument", []string{"killed"}, 2, "", "no arguments"},
		{"help", []string{"-h"}, 0, "", "-budget"},
		{"no folder", []string{"-dir", "nowhere"}, 1, "", "no mutant in nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"-root", root, "-dir", "faults"}, c.args...)
			code := run(t.Context(), args, &stdout, &stderr)
			require.Equal(t, c.code, code, "stdout: %s\nstderr: %s", &stdout, &stderr)
			require.Contains(t, stdout.String(), c.stdout)
			require.Contains(t, stderr.String(), c.stderr)
		})
	}
}

func TestInterrupted(t *testing.T) {
	root := sampleRepo(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, mutants := sampleRunner(t, root)
	mutants = slices.DeleteFunc(mutants, func(m *mutant) bool {
		return m.name != "is-killed" && m.name != "hangs-rightly"
	})

	// The first verdict interrupts the run, as Ctrl-C would, while the other
	// mutant hangs: its end must not count as a kill.
	reports := r.tryAll(ctx, mutants,
		writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
	require.Len(t, reports, 2)
	verdicts := []verdict{reports[0].verdict, reports[1].verdict}
	require.ElementsMatch(t, []verdict{killed, notRun}, verdicts)

	code := run(ctx, []string{"-root", root, "-dir", "faults"}, new(bytes.Buffer), new(bytes.Buffer))
	require.Equal(t, 130, code)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestStartRotates(t *testing.T) {
	root := sampleRepo(t)
	// One worker and no time: the order of the refusals is the order of turns.
	order := func(start string) []string {
		var stderr bytes.Buffer
		run(t.Context(), []string{"-root", root, "-dir", "faults", "-run", "^(is-killed|not-go|no-test)$",
			"-parallel", "1", "-budget", "1ns", "-start", start}, new(bytes.Buffer), &stderr)
		var names []string
		for line := range strings.Lines(stderr.String()) {
			_, rest, _ := strings.Cut(line, " ")
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
		return names
	}
	require.Equal(t, []string{"is-killed", "not-go", "no-test"}, order("0"))
	require.Equal(t, []string{"no-test", "is-killed", "not-go"}, order("2"))
	require.Equal(t, []string{"not-go", "no-test", "is-killed"}, order("4"))
}

func TestMatrix(t *testing.T) {
	root, results := sampleRepo(t), filepath.Join(t.TempDir(), "results")
	fill := func() (table, progress string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"-root", root, "-dir", "faults", "-matrix", "sum",
			"-results", results, "-run", "^(is-killed|has-survived|not-there)$"}, &stdout, &stderr)
		require.Zero(t, code, &stderr)
		return stdout.String(), stderr.String()
	}
	table, progress := fill()
	require.Contains(t, progress, "is-killed: ")
	for _, part := range []string{
		"no test notices: 2\n  has-survived, of 3 \n  not-there, of 0 no such code in Max",
		"the only one to notice (noticed/met): 1\n  TestMax 1/2: is-killed\n",
		"notices nothing: 4\n  TestCountdown 0/0\n  TestLeavesFile 0/2\n  TestMaxOfEqual 0/2\n",
		"alone and shortened: 3\n  TestFails\n  TestNoticesLate\n  TestSkipped\n",
		"sum: 3 mutants, 3 of them tried, by number of killers: map[0:2 1:1]\n",
	} {
		require.Contains(t, table, part)
	}
	// The file ends amid the last result: that one is tried again, and kept.
	text, err := os.ReadFile(results)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(results, text[:len(text)-9], 0o644))
	again, progress := fill()
	require.Equal(t, table, again)
	require.Equal(t, 1, strings.Count(progress, " tests "))
	again, progress = fill()
	require.Equal(t, table, again)
	require.Empty(t, progress)
}

// A fault that does not apply or compile any more is noticed by no test.
func TestMutantsApplyAndCompile(t *testing.T) {
	mutants, err := readMutants(".")
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	tree, err := openTree(root)
	require.NoError(t, err)
	all, err := tree.verify(t.Context(), mutants)
	require.NoError(t, err)
	require.Len(t, all, len(mutants))
	for _, v := range all {
		if v.err != nil {
			t.Errorf("%s: %s %v", v.mutant.place, v.mutant.name, v.err)
		}
	}
}
