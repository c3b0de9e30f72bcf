package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A verdict is what a run says about one mutant. Only killed is good.
type verdict int

const (
	notRun   verdict = iota // the budget was used up, or the run was interrupted
	killed                  // the named test failed
	survived                // the named test passed: nothing guards this line
	hung                    // the named test timed out and the header has no timeout-ok
	// the mutated tree does not compile: the compiler killed it, no test did
	doesNotBuild
	stale          // the patch does not apply any more
	baselineFailed // the named test does not pass on the clean tree
	broken         // the run itself went wrong
)

// String returns the word of the table; capitals mark what fails the run.
func (v verdict) String() string {
	return [...]string{
		"not run", "killed", "SURVIVED", "TIMED OUT", "DOES NOT BUILD", "STALE",
		"BASELINE FAILED", "ERROR",
	}[v]
}

// A report is the verdict on one mutant with what led to it.
type report struct {
	mutant  mutant
	verdict verdict
	elapsed time.Duration
	detail  string // why, when the verdict is not killed; else which test failed
	result  result // of the mutated tree, if its tests were run
}

// A runner tries mutants against copies of one work tree.
type runner struct {
	root     string        // work tree to copy; never written to
	files    []string      // what to copy of it
	scratch  string        // where the copies go
	parallel int           // how many mutants at a time
	timeout  time.Duration // for test commands without -timeout
	budget   time.Duration // no mutant starts later than this after the first; 0: no limit
	all      bool          // run all tests of the package, not only the one that is named

	mu       sync.Mutex
	baseline map[string]*baseline // by test command
}

// A baseline is the verdict of one test command on the clean tree. The first
// worker that needs it finds it out, the others wait for it.
type baseline struct {
	once sync.Once
	err  error // nil if the named test ran and passed
}

// tries is how often a test that is named may run before the mutant has survived: what it looks for
// may happen by chance only, and less often on a busy machine.
const tries = 3

// run tries every mutant and calls done once for each, in the order of
// finishing, from several goroutines at a time.
func (r *runner) run(ctx context.Context, mutants []mutant, done func(report)) {
	r.baseline = map[string]*baseline{}
	start := time.Now()
	queue := make(chan mutant)
	var workers sync.WaitGroup
	for i := range r.parallel {
		// A worker uses one folder again and again: what go build caches is
		// keyed by it, so only the first mutant compiles the whole tree.
		dir := filepath.Join(r.scratch, fmt.Sprintf("w%d", i))
		workers.Go(func() {
			for m := range queue {
				began := time.Now()
				if ctx.Err() != nil || r.budget > 0 && began.Sub(start) >= r.budget {
					done(report{mutant: m, verdict: notRun})
					continue
				}
				rep := report{mutant: m}
				rep.verdict, rep.detail = r.try(ctx, dir, &rep)
				rep.elapsed = time.Since(began)
				done(rep)
			}
		})
	}
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	workers.Wait()
}

// try gives the verdict on the mutant of rep, using dir for the copy of the tree.
func (r *runner) try(ctx context.Context, dir string, rep *report) (verdict, string) {
	m := rep.mutant
	if r.all {
		m.test = m.wholePackage()
	}
	files := lean(r.root, r.files, m.test)
	if err := copyTree(r.root, dir, files); err != nil {
		return broken, err.Error()
	}
	if err := r.clean(ctx, dir, m.test); err != nil {
		return orNotRun(ctx, baselineFailed), err.Error()
	}
	var res result
	runs := 0
	for more := true; more; more = res.outcome == passed && runs < tries && !r.all {
		runs++
		// What ran before may have left files behind.
		if err := copyTree(r.root, dir, files); err != nil {
			return broken, err.Error()
		}
		if err := applyPatch(ctx, dir, m.patch); err != nil {
			return orNotRun(ctx, stale), err.Error()
		}
		var err error
		if res, err = runTest(ctx, dir, m.test, r.timeout); err != nil {
			return orNotRun(ctx, broken), err.Error()
		}
	}
	rep.result = res
	switch res.outcome {
	case passed:
		return survived, tail(res.output, 10)
	case buildFailed:
		return doesNotBuild, tail(res.output, 10)
	case timedOut:
		if !m.timeoutOK {
			return hung, "no timeout-ok in the header; " + tail(res.output, 3)
		}
		return killed, "timed out"
	}
	if runs > 1 { // then the clean tree passes as often
		if err := copyTree(r.root, dir, files); err != nil {
			return broken, err.Error()
		}
		for range runs - 1 {
			if err := r.pass(ctx, dir, m.test); err != nil {
				return orNotRun(ctx, baselineFailed), err.Error()
			}
		}
	}
	detail := strings.Join(res.failed, ", ") + " failed"
	if line := crashLine(res.output); line != "" {
		detail += "; " + line
	}
	if runs > 1 {
		detail += fmt.Sprintf("; not before run %d", runs)
	}
	return killed, detail
}

// clean reports as an error that the test command does not pass on the clean
// tree, or that it runs nothing there. A -run that matches no test passes, and
// a test that is skipped passes too: neither can kill anything.
func (r *runner) clean(ctx context.Context, dir, command string) error {
	r.mu.Lock()
	b := r.baseline[command]
	if b == nil {
		b = &baseline{}
		r.baseline[command] = b
	}
	r.mu.Unlock()
	b.once.Do(func() { b.err = r.pass(ctx, dir, command) })
	return b.err
}

// pass is clean, once.
func (r *runner) pass(ctx context.Context, dir, command string) error {
	res, err := runTest(ctx, dir, command, r.timeout)
	switch {
	case err != nil:
		return err
	case res.outcome == buildFailed:
		return fmt.Errorf("the clean tree does not build: %s", tail(res.output, 10))
	case res.outcome != passed:
		return fmt.Errorf("fails on the clean tree: %s", tail(res.output, 10))
	case len(res.passed) == 0:
		return fmt.Errorf("runs no test that is not skipped: %s", command)
	}
	return nil
}

// orNotRun returns v, unless ctx ended: then the failure was ours.
func orNotRun(ctx context.Context, v verdict) verdict {
	if ctx.Err() != nil {
		return notRun
	}
	return v
}
