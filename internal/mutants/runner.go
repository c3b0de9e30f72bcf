package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A verdict is the result of one mutant. Only killed is good.
type verdict int

const (
	notRun   verdict = iota // the budget was used up, or the run was interrupted
	killed                  // the named test failed
	survived                // the named test passed: nothing guards this line
	hung                    // the named test timed out and the mutant has no field hangs
	// the mutated tree does not compile: the compiler killed it, no test did
	doesNotBuild
	stale          // the edit does not apply any more
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

// A report is the verdict on one mutant, with the reason.
type report struct {
	mutant  *mutant
	verdict verdict
	elapsed time.Duration
	detail  string // why, when the verdict is not killed; else which test failed
}

// A runner tries mutants: it builds test binaries from the work tree with an overlay, and runs them
// in copies of it.
type runner struct {
	tree     *workTree     // never written to
	files    []string      // those to copy
	scratch  string        // where the copies and the binaries go
	parallel int           // how many mutants at a time
	timeout  time.Duration // for tests without -timeout
	budget   time.Duration // no mutant starts later than this after the first; 0: no limit

	mu       sync.Mutex
	binaries map[binary]func() (file string, err error) // of the clean tree
	baseline map[string]func() error                    // of the tests, on the clean tree
}

// tries is how often a test that is named may run before the mutant has survived: the test may
// notice it by chance only, and less often on a busy machine.
const tries = 3

// run tries every mutant and calls done once for each, in the order of
// finishing, from several goroutines at a time.
func (r *runner) run(ctx context.Context, mutants []*mutant, done func(report)) {
	r.eachMutant(ctx, mutants, func(w worker, m *mutant, hasTime bool) {
		rep := report{mutant: m}
		began := time.Now()
		if hasTime {
			rep.verdict, rep.detail = w.tryMutant(ctx, m)
		}
		if ctx.Err() != nil { // then the failure was ours
			rep.verdict = notRun
		}
		rep.elapsed = time.Since(began)
		done(rep)
	})
}

// eachMutant calls do with every mutant, from some workers at a time.
func (r *runner) eachMutant(
	ctx context.Context, mutants []*mutant, do func(w worker, m *mutant, hasTime bool),
) {
	start := time.Now()
	queue := make(chan *mutant)
	var workers sync.WaitGroup
	for i := range r.parallel {
		w := worker{r, filepath.Join(r.scratch, fmt.Sprintf("w%d", i))}
		workers.Go(func() {
			for m := range queue {
				do(w, m, ctx.Err() == nil && (r.budget == 0 || time.Since(start) < r.budget))
			}
		})
	}
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	workers.Wait()
}

// A worker tries one mutant after the other.
type worker struct {
	*runner
	dir string // of its files
}

// tryMutant gives the verdict on m.
func (w worker) tryMutant(ctx context.Context, m *mutant) (verdict, string) {
	result, err := w.tree.apply(m)
	if err != nil {
		return stale, err.Error()
	}
	b, err := w.tree.binary(&m.test)
	if err != nil {
		return broken, err.Error()
	}
	if err := w.clean(ctx, b, m); err != nil {
		return baselineFailed, err.Error()
	}
	file := w.dir + ".test"
	if err := w.tree.buildTest(ctx, b, result.files, w.dir+"-overlay", file); err != nil {
		if _, ok := errors.AsType[*buildError](err); ok {
			return doesNotBuild, err.Error()
		}
		return broken, err.Error()
	}
	return w.judge(ctx, m, b, file, result.files)
}

// judge runs the test of m in the mutated binary file, and gives the verdict.
func (w worker) judge(
	ctx context.Context, m *mutant, b binary, file string, changed map[string][]byte,
) (verdict, string) {
	var res result
	runs := 0
	for more := true; more; more = res.outcome == passed && runs < tries {
		runs++
		var err error
		if res, err = w.runOnce(ctx, m, b, file, changed); err != nil {
			return broken, err.Error()
		}
	}
	switch res.outcome {
	case passed:
		return survived, lastLines(res.output, 10)
	case timedOut:
		if m.hangs == 0 {
			return hung, "the mutant has no field hangs; " + lastLines(res.output, 3)
		}
		return killed, "timed out"
	}
	detail := strings.Join(res.failed, ", ") + " failed"
	if line := crashLine(res.output); line != "" {
		detail += "; " + line
	}
	if runs > 1 { // then the clean tree passes as often
		detail += fmt.Sprintf("; not before run %d", runs)
		for range runs - 1 {
			if err := w.passClean(ctx, b, m); err != nil {
				return baselineFailed, err.Error()
			}
		}
	}
	return killed, detail
}

// runOnce runs the test of m once, in a fresh copy of the tree: a run before may have left files
// behind.
func (w worker) runOnce(
	ctx context.Context, m *mutant, b binary, file string, changed map[string][]byte,
) (result, error) {
	if err := copyTree(w.tree.root, w.dir, w.files, changed); err != nil {
		return result{}, err
	}
	limit := w.timeout
	if m.test.limit > 0 {
		limit = m.test.limit
	}
	if m.hangs > 0 {
		limit = m.hangs
	}
	return runTest(ctx, file, filepath.Join(w.dir, b.folder), &m.test, limit)
}

// clean reports as an error that the test of m does not pass on the clean
// tree, or that it runs nothing there. A pattern that matches no test passes, and
// a test that is skipped passes too: neither can kill anything.
func (w worker) clean(ctx context.Context, b binary, m *mutant) error {
	key := fmt.Sprint(m.test.text, m.hangs)
	w.mu.Lock()
	passes := w.baseline[key]
	if passes == nil { // the first worker that needs it finds it out, the others wait
		passes = sync.OnceValue(func() error { return w.passClean(ctx, b, m) })
		w.baseline[key] = passes
	}
	w.mu.Unlock()
	return passes()
}

// passClean is clean, once.
func (w worker) passClean(ctx context.Context, b binary, m *mutant) error {
	file, err := w.cleanBinary(ctx, b)
	if err != nil {
		return fmt.Errorf("the clean tree does not build: %w", err)
	}
	res, err := w.runOnce(ctx, m, b, file, nil)
	switch {
	case err != nil:
		return err
	case res.outcome != passed:
		return fmt.Errorf("fails on the clean tree: %s", lastLines(res.output, 10))
	case len(res.passed) == 0:
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
			return file, r.tree.buildTest(ctx, b, nil, file+"-overlay", file)
		})
		r.binaries[b] = build
	}
	r.mu.Unlock()
	return build()
}

// newRunner returns a runner with a scratch folder, which end removes.
func newRunner(ctx context.Context, tree *workTree) (r *runner, end func(), err error) {
	files, err := sourceFiles(ctx, tree.root)
	if err != nil {
		return nil, nil, err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, nil, err
	}
	r = &runner{
		tree: tree, files: files, scratch: scratch,
		binaries: map[binary]func() (string, error){}, baseline: map[string]func() error{},
	}
	return r, func() { os.RemoveAll(scratch) }, nil
}
