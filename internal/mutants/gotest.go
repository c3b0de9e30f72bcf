package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A result says how one run of a test binary ended.
type result struct {
	outcome outcome
	passed  []string // tests that passed, subtests left out
	failed  []string // tests that failed, subtests left out
	output  string   // of the tests
}

// An outcome tells apart the ways in which tests end.
type outcome int

const (
	passed     outcome = iota // exit code 0
	testFailed                // a test failed, or the test binary crashed
	timedOut                  // the test binary ran into its limit
)

// interruptGrace is how long a test may take to end after an interrupt.
const interruptGrace = 15 * time.Second

// A buildError is the output of a build that failed.
type buildError struct{ output string }

func (e *buildError) Error() string { return lastLines(e.output, 10) }

// A binary says which test binary a test command needs.
type binary struct {
	folder, tags string
	race         bool
	lean         bool   // without external tests
	cover        string // packages whose coverage it tells
}

// buildTest compiles b with the files of a mutant, if any, to the file out. It uses dir.
func (t *workTree) buildTest(
	ctx context.Context, b binary, changed map[string][]byte, dir, out string,
) error {
	var leftOut []string
	if b.lean {
		leftOut, _ = t.externalTests(b.folder)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lay, err := overlay(t.root, dir, changed, leftOut)
	if err != nil {
		return err
	}
	args := []string{"test", "-c", "-o", out, "-overlay", lay, "-tags", b.tags}
	if b.race {
		args = append(args, "-race")
	}
	if b.cover != "" {
		args = append(args, "-coverpkg", b.cover)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = filepath.Join(t.root, b.folder)
	cmd.Env = append(cmd.Environ(), "GOWORK=off") // PWD follows Dir
	text, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return &buildError{string(text)}
	}
	return err
}

var (
	externalPackage = regexp.MustCompile(`(?m)^package \w+_test$`)
	testFunctions   = regexp.MustCompile(`(?m)^func ((?:Test|Example|Benchmark|Fuzz)\w*)\(`)
)

// externalTests returns the files of folder that test it from another package, and the names of
// their tests.
func (t *workTree) externalTests(folder string) (files, tests []string) {
	all, _ := filepath.Glob(filepath.Join(t.root, folder, "*_test.go"))
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil || !externalPackage.Match(text) {
			continue
		}
		files = append(files, filepath.ToSlash(filepath.Join(folder, filepath.Base(file))))
		for _, test := range testFunctions.FindAllSubmatch(text, -1) {
			tests = append(tests, string(test[1]))
		}
	}
	return files, tests
}

// binary returns the test binary that c needs: without external tests if it runs none of them,
// since compiling those takes longer than all else.
func (t *workTree) binary(c *testCommand) (binary, error) {
	folder, err := t.folder(c.pkg)
	if err != nil {
		return binary{}, err
	}
	first, _, _ := strings.Cut(c.pattern, "/")
	pattern, err := regexp.Compile(first)
	if err != nil {
		return binary{}, err
	}
	_, tests := t.externalTests(folder)
	lean := !slices.ContainsFunc(tests, pattern.MatchString)
	return binary{folder: folder, tags: c.tags, race: c.race, lean: lean}, nil
}

// runTest runs c of the test binary file in dir. An error means that it could not be run, or that
// ctx ended first.
func runTest(
	ctx context.Context, file, dir string, c *testCommand, limit time.Duration,
) (result, error) {
	hard, cancel := context.WithTimeout(ctx, limit+interruptGrace)
	defer cancel()
	args := append([]string{"-test.v=test2json", "-test.paniconexit0", "-test.run=" + c.pattern,
		fmt.Sprintf("-test.timeout=%v", limit)}, c.flags...)
	cmd := exec.CommandContext(hard, file, append(args, c.args...)...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	r := readResult(out.String())
	if err == nil {
		r.outcome = passed
		return r, nil
	}
	if hard.Err() != nil || strings.Contains(r.output, "panic: test timed out after ") {
		r.outcome = timedOut
		return r, nil
	}
	if _, ok := errors.AsType[*exec.ExitError](err); !ok && !errors.Is(err, exec.ErrWaitDelay) {
		return result{}, err
	}
	return r, nil
}

// resultLine is the line in which a test binary says that a test, and no subtest, has ended; it
// marks its own lines by a control character.
var resultLine = regexp.MustCompile(`(?m)\x16--- (PASS|FAIL): ([^/\s]+) `)

// readResult reads the output of tests of which one failed.
func readResult(output string) result {
	r := result{outcome: testFailed, output: strings.ReplaceAll(output, "\x16", "")}
	for _, words := range resultLine.FindAllStringSubmatch(output, -1) {
		if words[1] == "PASS" {
			r.passed = append(r.passed, words[2])
		} else {
			r.failed = append(r.failed, words[2])
		}
	}
	slices.Sort(r.failed)
	r.failed = slices.Compact(r.failed)
	return r
}

// lastLines returns at most n of the last lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// crashLine returns the line of output that says why the process died or what
// the race detector found, or "" if there is none.
func crashLine(output string) string {
	for line := range strings.Lines(output) {
		for _, start := range []string{"panic: ", "fatal error: ", "WARNING: DATA RACE"} {
			if strings.HasPrefix(line, start) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}
