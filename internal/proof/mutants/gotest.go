package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	passed  int      // tests that passed, subtests left out
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

// A binary says which test binary a test command needs.
type binary struct {
	folder, tags string
	lean         bool // without external tests
}

// buildTest compiles b with the files of a mutant, if any, to the file out.
func (t *workTree) buildTest(
	ctx context.Context, b binary, changed map[string]string, out string,
) error {
	replace := map[string]string{}
	for file, text := range changed {
		to := fmt.Sprintf("%s-%d.go", out, len(replace))
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return err
		}
		replace[filepath.Join(t.root, file)] = to
	}
	if b.lean {
		files, _ := t.externalTests(b.folder)
		for _, file := range files {
			replace[file] = "" // there is none
		}
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := os.WriteFile(out+".json", overlay, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", out, "-overlay", out+".json",
		"-tags", b.tags, ".")
	cmd.Dir = filepath.Join(t.root, b.folder)
	cmd.Env = append(cmd.Environ(), "GOWORK=off") // PWD follows Dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLines(string(text), 10))
	}
	return nil
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
		files = append(files, file)
		for _, test := range testFunctions.FindAllSubmatch(text, -1) {
			tests = append(tests, string(test[1]))
		}
	}
	return files, tests
}

// binary returns the test binary that c needs: without external tests if c runs none of them, since
// they take as long to compile as all else.
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
	return binary{folder: folder, tags: c.tags,
		lean: !slices.ContainsFunc(tests, pattern.MatchString)}, nil
}

// runTest runs tests of the test binary file of b, at its place. An error means that they could not
// be run, or that ctx ended first.
func (t *workTree) runTest(
	ctx context.Context, b binary, file, pattern string, flags []string, limit time.Duration,
) (result, error) {
	hard, cancel := context.WithTimeout(ctx, limit+interruptGrace)
	defer cancel()
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.run=" + pattern,
		fmt.Sprintf("-test.timeout=%v", limit)}
	cmd := exec.CommandContext(hard, file, append(args, flags...)...)
	cmd.Dir = filepath.Join(t.root, b.folder)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	r := readResult(out.String())
	switch _, exited := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		r.outcome = passed
	case hard.Err() != nil || strings.Contains(r.output, "panic: test timed out after "):
		r.outcome = timedOut
	case !exited && !errors.Is(err, exec.ErrWaitDelay):
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
			r.passed++
		} else if !slices.Contains(r.failed, words[2]) {
			r.failed = append(r.failed, words[2])
		}
	}
	return r
}

// lastLines returns at most n of the last lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// stderrOf returns the words of a command that failed in Output, or nothing.
func stderrOf(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return ": " + strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}
