package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A result says how one go test invocation ended.
type result struct {
	outcome outcome
	passed  []string // tests that passed, subtests left out
	failed  []string // tests that failed, subtests left out
	output  string   // what the tests and the compiler printed
}

// An outcome tells apart the ways in which go test exits. Exit code 1 alone
// would not do: a tree that does not build exits with it too.
type outcome int

const (
	passed      outcome = iota // exit code 0
	testFailed                 // a test failed, or the test binary crashed
	timedOut                   // the test binary ran into -timeout
	buildFailed                // a package or its test did not build, or vet refused it
)

// event is the part of a test2json record that the runner reads.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// interruptGrace is how long go test may take to end after an interrupt.
const interruptGrace = 15 * time.Second

// runTest runs a go test command in dir and classifies how it ended. An error means that this
// could not be told: go could not be started, refused its arguments, or ctx
// ended first.
func runTest(ctx context.Context, dir, command string, timeout time.Duration) (result, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec env "+command)
	cmd.Dir = dir
	// PWD follows Dir; the copy must not be built as part of a workspace.
	flags := fmt.Sprintf("GOFLAGS=%s -json -timeout=%v", os.Getenv("GOFLAGS"), timeout)
	cmd.Env = append(cmd.Environ(), "GOWORK=off", flags)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr

	err := cmd.Run()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	r := readEvents(stdout.Bytes())
	r.output += stderr.String()
	if err == nil {
		r.outcome = passed
		return r, nil
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return result{}, err
	}
	// go test exits with 1 when something it ran or built failed, and with 2
	// when it did not understand its arguments.
	if exit.ExitCode() != 1 {
		return result{}, fmt.Errorf("%s: %w: %s", command, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return r, nil
}

// readEvents collects what a failed or passed go test -json run printed. The
// outcome is meant for a run that exited with 1.
func readEvents(stdout []byte) result {
	r := result{outcome: testFailed}
	var out strings.Builder
	built := true
	for line := range bytes.Lines(stdout) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			out.Write(line) // go test's own words, for example a missing package
			continue
		}
		out.WriteString(e.Output)
		if e.Action == "build-fail" || e.FailedBuild != "" {
			built = false
		}
		if e.Test == "" || strings.Contains(e.Test, "/") {
			continue
		}
		switch e.Action {
		case "pass":
			r.passed = append(r.passed, e.Test)
		case "fail":
			r.failed = append(r.failed, e.Test)
		}
	}
	r.output = out.String()
	switch {
	case !built || strings.Contains(r.output, "[setup failed]"):
		r.outcome = buildFailed
	case strings.Contains(r.output, "panic: test timed out after ") ||
		strings.Contains(r.output, "*** Test killed"):
		r.outcome = timedOut
	case !strings.Contains(r.output, "FAIL"):
		// Exit code 1 before any test binary ran: go list or the module graph.
		r.outcome = buildFailed
	}
	slices.Sort(r.failed)
	r.failed = slices.Compact(r.failed)
	return r
}

// tail returns at most n of the last lines of text.
func tail(text string, n int) string {
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
