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
		"killed":    killed,
		"late":      killed,
		"panics":    killed,
		"hangs-ok":  killed,
		"hangs":     hung,
		"survived":  survived,
		"env":       survived,
		"leaves":    survived, // killed if the baseline's left.txt were still there
		"buildfail": doesNotBuild,
		"vetfail":   doesNotBuild,
		"stale":     stale,
		"nofile":    stale,
		"baseline":  baselineFailed,
		"norun":     baselineFailed,
		"skipped":   baselineFailed,
	}

	mutants, err := readMutants(filepath.Join(root, "faults"))
	require.NoError(t, err)
	var progress bytes.Buffer
	reports, err := tryAll(t.Context(), root, mutants,
		&runner{parallel: 2, timeout: time.Minute}, &progress)
	require.NoError(t, err)

	got := map[string]verdict{}
	details := map[string]string{}
	for _, r := range reports {
		got[r.mutant.name] = r.verdict
		details[r.mutant.name] = r.detail
	}
	require.Empty(t, cmp.Diff(want, got), "details: %v", details)
	require.Equal(t, len(want), strings.Count(progress.String(), "\n"))
	require.Equal(t, "TestMax failed", details["killed"])
	require.Equal(t, "TestNoticesLate failed; not before run 2", details["late"])
	require.Contains(t, details["panics"], "panic: crash")
	require.Contains(t, details["buildfail"], "undefined: c")
	require.Contains(t, details["stale"], "patch does not apply")
	require.Contains(t, details["baseline"], "fails on the clean tree")
	require.Empty(t, cmp.Diff(before, snapshot(t, root)), "the work tree was written to")

	var table bytes.Buffer
	require.False(t, printTable(&table, reports, false))
	require.Regexp(t, `(?m)^survived +\. TestMaxOfEqual +SURVIVED +`, table.String())
	require.Contains(t, table.String(), "15 mutants: 4 killed, 11 not killed, 0 not run\n")
}

func TestExitCodes(t *testing.T) {
	root := sampleRepo(t)
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"all killed", []string{"-run", "^killed$"}, 0, "1 mutants: 1 killed, 0 not killed, 0 not run",
			"1/1 killed: killed"},
		{"a survivor", []string{"-run", "^(killed|survived)$"}, 1, "2 mutants: 1 killed, 1 not killed",
			""},
		{"a stale patch", []string{"-run", "^(killed|stale)$"}, 1, "STALE", ""},
		// TestMax notices env, whose named test does not, and TestCountdown notices nothing.
		{"all tests", []string{"-run", "^env$", "-all"}, 0,
			".: 5 tests, 1 mutants; 1 tests were alone in noticing one\n  these 4 notice none of them: " +
				"TestCountdown, TestFails, TestLeavesFile, TestMaxOfEqual", "1/1 env: killed"},
		{"no such mutant", []string{"-run", "nobody"}, 1, "", "no patch in faults"},
		{"no time for any", []string{"-run", "^killed$", "-budget", "1ns"}, 1,
			"0 killed, 0 not killed, 1 not run", ""},
		{"an unknown flag", []string{"-walk"}, 2, "", "-walk"},
		{"a bad pattern", []string{"-run", "("}, 2, "", "regular expression"},
		{"an argument", []string{"killed"}, 2, "", "no arguments"},
		{"help", []string{"-h"}, 0, "", "-budget"},
		{"no folder", []string{"-dir", "nowhere"}, 1, "", "no patch in nowhere"},
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
	mutants, err := readMutants(filepath.Join(root, "faults"))
	require.NoError(t, err)
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool {
		return m.name != "killed" && m.name != "hangs-ok"
	})

	// The first verdict interrupts the run, as Ctrl-C would, while the other
	// mutant hangs: its end must not count as a kill.
	reports, err := tryAll(ctx, root, mutants, &runner{parallel: 2, timeout: time.Minute},
		writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
	require.NoError(t, err)
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
		run(t.Context(), []string{"-root", root, "-dir", "faults", "-run", "^(baseline|env|killed)$",
			"-parallel", "1", "-budget", "1ns", "-start", start}, new(bytes.Buffer), &stderr)
		var names []string
		for line := range strings.Lines(stderr.String()) {
			_, rest, _ := strings.Cut(line, " ")
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
		return names
	}
	require.Equal(t, []string{"baseline", "env", "killed"}, order("0"))
	require.Equal(t, []string{"killed", "baseline", "env"}, order("2"))
	require.Equal(t, []string{"env", "killed", "baseline"}, order("4"))
}

func TestParseMutant(t *testing.T) {
	const good = "# title: a fault\n# why: it hurts\n#   badly\n# test: A=1 go test -run " +
		"'TestA$|TestB' -v ./x\n"
	m, err := parseMutant([]byte(good +
		"# timeout-ok: it waits\n\ndiff --git a b\n# why: not a header\n"))
	require.NoError(t, err)
	require.Equal(t, "a fault", m.title)
	require.Equal(t, "it hurts badly", m.why)
	test, pkg := m.named()
	require.Equal(t, []string{"TestA$|TestB", "./x"}, []string{test, pkg})
	require.True(t, m.timeoutOK)

	m, err = parseMutant([]byte(good))
	require.NoError(t, err)
	require.False(t, m.timeoutOK)

	m, err = parseMutant([]byte("# title: x\n# why: y\n# test: go test -C in/a -timeout 1s -run 'X$' .\n"))
	require.NoError(t, err)
	test, pkg = m.named()
	require.Equal(t, []string{"X$", "./in/a"}, []string{test, pkg})
	require.Equal(t, "go test -C in/a -short -run '^(Test|Fuzz)' .", m.wholePackage())

	for _, c := range []struct{ text, wrong string }{
		{"", `"title" is missing`},
		{"# title: x\n# test: go test -run X .\n", `"why" is missing`},
		{"# title: x\n# why: y\n", `"test" is missing`},
		{good + "# timeout_ok\n", `unknown header field "timeout_ok"`},
		{good + "# title: again\n", `"title" is given twice`},
		{"# title: x\n# why: y\n# test: go test .\n", "is not go test with -run"},
		{"# title: x\n# why: y\n# test: go vet -run X .\n", "is not go test with -run"},
		{"# title: x\n# why: y\n# test: go test -json -run X .\n", "and no -json"},
	} {
		_, err := parseMutant([]byte(c.text))
		require.ErrorContains(t, err, c.wrong)
	}
}

func TestReadMutantsNamesTheBadFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.patch"), []byte("diff"), 0o644))
	_, err := readMutants(dir)
	require.ErrorContains(t, err, "bad.patch: header field")
}
