package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A verdict is the result of one mutant. Only killed is good; capitals mark those that fail the
// run.
type verdict string

const (
	notRun   verdict = "not run"   // the budget was used up, or the run was interrupted
	killed   verdict = "killed"    // the named test failed
	survived verdict = "SURVIVED"  // the named test passed: nothing guards this line
	hung     verdict = "TIMED OUT" // the named test did, and has no -timeout
	broken   verdict = "ERROR"     // it does not apply or compile, or its test fails anyway
)

// A report is the verdict on one mutant, with the reason.
type report struct {
	mutant  *mutant
	verdict verdict
	detail  string // why, when the verdict is not killed; else which test failed
}

// A runner tries mutants: it builds test binaries from the work tree with an overlay, and runs them
// in the folders of their packages, as go test does.
type runner struct {
	tree     *workTree
	scratch  string        // where the binaries go
	parallel int           // how many mutants at a time
	timeout  time.Duration // for tests without -timeout
	budget   time.Duration // no mutant starts later than this after the first; 0: no limit

	mu       sync.Mutex
	binaries map[binary]func() (file string, err error) // of the clean tree
	baseline map[string]func() error                    // of the tests, on the clean tree
}

// newRunner returns a runner with a scratch folder, which end removes.
func newRunner(tree *workTree) (r *runner, end func(), err error) {
	scratch, err := os.MkdirTemp("", "mutants-")
	r = &runner{tree: tree, scratch: scratch, parallel: 2, timeout: 10 * time.Minute,
		binaries: map[binary]func() (string, error){}, baseline: map[string]func() error{}}
	return r, func() { os.RemoveAll(scratch) }, err
}

// tries is how often a test that is named may run before the mutant has survived: the test may
// notice it by chance only, and less often on a busy machine.
const tries = 3

// run calls do with every mutant, some at a time, from several goroutines.
func (r *runner) run(ctx context.Context, mutants []*mutant, do func(m *mutant, hasTime bool)) {
	start := time.Now()
	queue := make(chan *mutant)
	var workers sync.WaitGroup
	for range r.parallel {
		workers.Go(func() {
			for m := range queue {
				do(m, ctx.Err() == nil && (r.budget == 0 || time.Since(start) < r.budget))
			}
		})
	}
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	workers.Wait()
}

// tryMutant gives the verdict on m.
func (r *runner) tryMutant(ctx context.Context, m *mutant) (verdict, string) {
	b, err := r.tree.binary(&m.test)
	if err != nil {
		return broken, err.Error()
	}
	file, err := r.build(ctx, m, b)
	defer os.Remove(file)
	if err == nil {
		err = r.clean(ctx, b, m)
	}
	if err != nil {
		return broken, err.Error()
	}
	return r.judge(ctx, m, b, file)
}

// build builds b with m in it, and returns its file.
func (r *runner) build(ctx context.Context, m *mutant, b binary) (file string, err error) {
	file = filepath.Join(r.scratch, m.name)
	result, err := r.tree.apply(m)
	if err != nil {
		return file, fmt.Errorf("does not apply: %w", err)
	}
	return file, r.tree.buildTest(ctx, b, result.files, file)
}

// judge runs the test of m in the mutated binary file, and gives the verdict.
func (r *runner) judge(ctx context.Context, m *mutant, b binary, file string) (verdict, string) {
	var res result
	runs := 0
	for more := true; more; more = res.outcome == passed && runs < tries {
		runs++
		var err error
		if res, err = r.runOnce(ctx, m, b, file); err != nil {
			return broken, err.Error()
		}
	}
	switch {
	case res.outcome == passed:
		return survived, lastLines(res.output, 10)
	case res.outcome == timedOut && m.test.limit == 0:
		return hung, "the test has no -timeout; " + lastLines(res.output, 3)
	case res.outcome == timedOut:
		return killed, "timed out"
	}
	detail := strings.Join(res.failed, ", ") + " failed"
	if line := crashLine.FindString(res.output); line != "" {
		detail += "; " + line
	}
	if runs > 1 { // then the clean tree passes as often
		detail += fmt.Sprintf("; not before run %d", runs)
		for range runs - 1 {
			if err := r.passClean(ctx, b, m); err != nil {
				return broken, err.Error()
			}
		}
	}
	return killed, detail
}

// crashLine says why a process died.
var crashLine = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)

// runOnce runs the test of m once.
func (r *runner) runOnce(ctx context.Context, m *mutant, b binary, file string) (result, error) {
	limit := r.timeout
	if m.test.limit > 0 {
		limit = m.test.limit
	}
	return r.tree.runTest(ctx, b, file, m.test.pattern, m.test.flags, limit)
}

// clean returns an error if the test of m does not pass on the clean tree, or runs nothing there. A
// pattern that matches no test passes, and a test that is skipped passes too: neither can kill
// anything.
func (r *runner) clean(ctx context.Context, b binary, m *mutant) error {
	r.mu.Lock()
	passes := r.baseline[m.test.text]
	if passes == nil { // the first that needs it finds it out, the others wait
		passes = sync.OnceValue(func() error { return r.passClean(ctx, b, m) })
		r.baseline[m.test.text] = passes
	}
	r.mu.Unlock()
	return passes()
}

// passClean is clean, once.
func (r *runner) passClean(ctx context.Context, b binary, m *mutant) error {
	file, err := r.cleanBinary(ctx, b)
	if err != nil {
		return fmt.Errorf("the clean tree does not build: %w", err)
	}
	res, err := r.runOnce(ctx, m, b, file)
	switch {
	case err != nil:
		return err
	case res.outcome != passed:
		return fmt.Errorf("fails on the clean tree: %s", lastLines(res.output, 10))
	case res.passed == 0:
		return fmt.Errorf("runs no test that is not skipped: %s", m.test.text)
	}
	return nil
}

// cleanBinary returns the file of b, built from the clean tree.
func (r *runner) cleanBinary(ctx context.Context, b binary) (string, error) {
	r.mu.Lock()
	build := r.binaries[b]
	if build == nil {
		file := filepath.Join(r.scratch, fmt.Sprintf("clean%d.test", len(r.binaries)))
		build = sync.OnceValues(func() (string, error) {
			return file, r.tree.buildTest(ctx, b, nil, file)
		})
		r.binaries[b] = build
	}
	r.mu.Unlock()
	return build()
}
