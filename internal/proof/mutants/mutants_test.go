package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// inSample makes a fresh copy of testdata/sample the current folder.
func inSample(t *testing.T) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS("testdata/sample")))
	t.Chdir(root)
}

// sampleRunner returns a runner for a sample, and its mutants.
func sampleRunner(t *testing.T) (*runner, []*mutant) {
	t.Helper()
	inSample(t)
	mutants, err := readMutants("internal/proof/mutants")
	require.NoError(t, err)
	root, err := os.Getwd()
	require.NoError(t, err)
	tree, err := openTree(root)
	require.NoError(t, err)
	r, end, err := newRunner(tree)
	require.NoError(t, err)
	t.Cleanup(end)
	return r, mutants
}

func TestVerdicts(t *testing.T) {
	t.Setenv("SAMPLE_RUNS", filepath.Join(t.TempDir(), "runs"))
	want := map[string]verdict{
		"is-killed":     killed,
		"is-found-late": killed,
		"does-panic":    killed,
		"hangs-rightly": killed,
		"hangs-forever": hung,
		"has-survived":  survived,
		"not-go":        broken,
		"not-there":     broken,
		"fails-anyway":  broken,
		"no-test":       broken,
		"is-skipped":    broken,
	}

	r, mutants := sampleRunner(t)
	r.timeout = 5 * time.Second
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
	for name, part := range map[string]string{
		"is-killed":     "TestMax failed",
		"is-found-late": "TestNoticesLate failed; not before run 2",
		"does-panic":    "panic: crash",
		"not-go":        "undefined: c",
		"not-there":     "0 times such code",
		"fails-anyway":  "fails on the clean tree",
		"no-test":       "runs no test",
	} {
		require.Contains(t, details[name], part)
	}

	var table bytes.Buffer
	require.False(t, summarize(&table, reports))
	require.Contains(t, table.String(), "has-survived: SURVIVED")
	require.Contains(t, table.String(), "11 mutants: 4 killed, 7 not killed, 0 not run")
}

func TestModes(t *testing.T) {
	inSample(t)
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"killed", []string{"-run", "^is-killed$"}, 0, "1 killed", "1/1 is-killed: killed"},
		{"one bad", []string{"-run", "^(is-killed|not-there)$"}, 1, "ERROR", ""},
		{"check", []string{"-check", "-run", "^not-there$"}, 1,
			"not-there does not apply: 0 times such code; sum/sum.go:5 is\n" +
				"func Max(a, b int) int {\n\tif a > b {\n", ""},
		{"check all", []string{"-check"}, 1, "11 mutants: 2 do not apply or compile", ""},
		{"no such mutant", []string{"-run", "nobody"}, 1, "", "no mutant matches"},
		{"no time for any", []string{"-run", "^is-killed$", "-budget", "1ns"}, 1,
			"0 killed, 0 not killed, 1 not run", ""},
		{"an unknown flag", []string{"-walk"}, 2, "", "-walk"},
		{"a bad pattern", []string{"-run", "("}, 2, "", "regular expression"},
		{"an argument", []string{"killed"}, 2, "", "no arguments"},
		{"help", []string{"-h"}, 0, "", "-budget"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), c.args, &stdout, &stderr)
			require.Equal(t, c.code, code, "stdout: %s\nstderr: %s", &stdout, &stderr)
			require.Contains(t, stdout.String(), c.stdout)
			require.Contains(t, stderr.String(), c.stderr)
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, mutants := sampleRunner(t)
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

	code := run(ctx, nil, new(bytes.Buffer), new(bytes.Buffer))
	require.Equal(t, 130, code)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestStartRotates(t *testing.T) {
	inSample(t)
	// One worker and no time: the order of the refusals is the order of turns.
	order := func(start string) []string {
		var stderr bytes.Buffer
		run(t.Context(), []string{"-run", "^(is-killed|not-go|no-test)$", "-parallel", "1",
			"-budget", "1ns", "-start", start}, new(bytes.Buffer), &stderr)
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

// A fault that does not apply or compile any more is noticed by no test.
func TestMutantsApplyAndCompile(t *testing.T) {
	mutants, err := readMutants(".")
	require.NoError(t, err)
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	tree, err := openTree(root)
	require.NoError(t, err)
	errs, err := tree.verify(t.Context(), mutants)
	require.NoError(t, err)
	for m, err := range errs {
		t.Errorf("%s: %s %v", m.place, m.name, err)
	}
}
