// Command mutants shows that the tests can fail. It makes each deliberate fault of
// internal/proof/mutants/*.txt and runs the one test that the mutant names: a fault that this test does
// not notice in three runs has survived, and the command exits with 1.
//
// A mutant looks like this:
//
//	# mvcc-chain-cut-too-high: the version that a live epoch reads is cut off
//	why: an open snapshot loses keys
//	test: mvcc TestSchedules -tags=mvcccheck -args -scenario 'a+|view ra|store a; prune'
//	in: mvcc.chains.pruneBelow
//	- c.CommitEpoch(n) > at
//	+ c.CommitEpoch(n) >= at
//
// A line that begins with a space continues the field above it, one that begins with // is a
// comment.
//
// test is PACKAGE PATTERN and flags of go test: -tags= -short -count= -timeout= -args. A pattern of
// names alone means these tests and no others; any other one means the same as with go test -run.
// -timeout is for faults that make a test hang: one that runs for longer has noticed the fault.
// Without it a test that times out, after ten minutes, kills nothing.
//
// in is PACKAGE.FUNCTION or PACKAGE.TYPE.METHOD, in whatever file; the end of its path is enough
// for a package. The lines below are an edit of the function: code that stays (' '), goes ('-') or
// comes ('+'), in lines of any tokens. The old code must be there once; say more of it if it is
// not. A second field in begins another edit of the same mutant.
//
// Old code is compared token by token. So files, folders, layout, comments and neighbours do not
// matter, and names matter little: a name that the function has no more stands for another one of
// it, and a field or method that the package has no more for any other, always the same one.
// Methods are found under another type too. A rename breaks a mutant only if it is one of the
// function itself, in the field in, or of something that only the new code uses. Types would tell
// more names apart, but need a tree that compiles; a syntax tree has no half of a statement.
// Imports that an edit leaves unused become blank.
//
// A mutant that does not apply or compile, and a test that fails, is skipped or does not exist on
// the clean tree, fail the run. With -check no test runs: for each mutant that does not apply or
// compile it prints the reason and the present code, within seconds.
//
// Test binaries are built from the work tree with an overlay, so that only the mutated package is
// compiled, and run in the folder of the package, as go test does. The command runs anywhere in the
// module, as "go run ./internal/proof/mutants" or "make mutants". It exits with 0 if every mutant was
// killed, 1 if not, 2 on a wrong flag and 130 when interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	only            string
	pattern         *regexp.Regexp
	check           bool
	parallel, start int
	budget          time.Duration
}

// parseFlags reads args. It returns false with the exit code if there is nothing to do.
func parseFlags(args []string, stderr io.Writer) (o options, code int, ok bool) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.only, "run", "", "only the mutants whose name matches this regular expression")
	flags.BoolVar(&o.check, "check", false,
		"run no test; print the mutants that do not apply or compile")
	flags.IntVar(&o.parallel, "parallel", 2, "mutants tried at a time")
	flags.DurationVar(&o.budget, "budget", 0, "start no mutant later than this (0: no limit)")
	flags.IntVar(&o.start, "start", 0, "begin at this mutant, modulo their number, and wrap round; "+
		"with -budget, a number that grows from run to run makes every mutant's turn come")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, 0, false
		}
		return o, 2, false
	}
	var err error
	o.pattern, err = regexp.Compile(o.only)
	if err != nil || flags.NArg() > 0 || o.parallel < 1 || o.start < 0 {
		fmt.Fprintln(stderr, "mutants: -run takes a regular expression, -parallel a positive number,",
			"-start none below 0, and there are no arguments")
		return o, 2, false
	}
	return o, 0, true
}

// run is main with its surroundings passed in. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, code, ok := parseFlags(args, stderr)
	if !ok {
		return code
	}
	ok, err := o.run(ctx, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
	}
	switch {
	case ctx.Err() != nil:
		return 130
	case !ok || err != nil:
		return 1
	}
	return 0
}

// run does as the flags say, and reports whether nothing is wrong with the mutants.
func (o *options) run(ctx context.Context, stdout, stderr io.Writer) (ok bool, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	mutants, err := readMutants(filepath.Join(root, "internal/proof/mutants"))
	if err != nil {
		return false, err
	}
	mutants = slices.DeleteFunc(mutants, func(m *mutant) bool {
		return !o.pattern.MatchString(m.name)
	})
	if len(mutants) == 0 {
		return false, fmt.Errorf("no mutant matches %q", o.only)
	}
	tree, err := openTree(root)
	if err != nil {
		return false, err
	}
	if o.check {
		errs, err := tree.verify(ctx, mutants)
		for _, m := range mutants {
			if errs[m] != nil {
				fmt.Fprintf(stdout, "%s: %s %v\n\n", m.place, m.name, errs[m])
			}
		}
		fmt.Fprintf(stdout, "%d mutants: %d do not apply or compile\n", len(mutants), len(errs))
		return len(errs) == 0, err
	}
	r, end, err := newRunner(tree)
	if err != nil {
		return false, err
	}
	defer end()
	r.parallel, r.budget = o.parallel, o.budget
	first := o.start % len(mutants)
	return summarize(stdout,
		r.tryAll(ctx, slices.Concat(mutants[first:], mutants[:first]), stderr)), nil
}

// tryAll tries mutants, and tells each verdict to progress as it comes.
func (r *runner) tryAll(ctx context.Context, mutants []*mutant, progress io.Writer) []report {
	var mu sync.Mutex
	var reports []report
	r.run(ctx, mutants, func(m *mutant, hasTime bool) {
		began := time.Now()
		rep := report{m, notRun, ""}
		if hasTime {
			rep.verdict, rep.detail = r.tryMutant(ctx, m)
		}
		if ctx.Err() != nil { // then the failure was ours
			rep = report{m, notRun, ""}
		}
		mu.Lock()
		defer mu.Unlock()
		reports = append(reports, rep)
		detail, _, _ := strings.Cut(rep.detail, "\n")
		fmt.Fprintf(progress, "%d/%d %s: %s (%.1fs) %s\n", len(reports), len(mutants), m.name,
			rep.verdict, time.Since(began).Seconds(), detail)
	})
	return reports
}

// summarize prints all about the mutants that got away, and the totals. It reports whether at least
// one mutant was killed and none got away; those that the budget left out do not count.
func summarize(w io.Writer, reports []report) bool {
	counts := map[verdict]int{}
	for _, r := range reports {
		counts[r.verdict]++
		if m := r.mutant; r.verdict != killed && r.verdict != notRun {
			fmt.Fprintf(w, "%s: %s: %s\n  title: %s\n  why:   %s\n  test:  %s\n  %s\n\n", m.place, m.name,
				r.verdict, m.title, m.why, m.test.text, strings.ReplaceAll(r.detail, "\n", "\n  "))
		}
	}
	bad := len(reports) - counts[killed] - counts[notRun]
	fmt.Fprintf(w, "%d mutants: %d killed, %d not killed, %d not run\n",
		len(reports), counts[killed], bad, counts[notRun])
	return bad == 0 && counts[killed] > 0
}

// moduleRoot returns the folder of the go.mod that go finds from here.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w%s", err, stderrOf(err))
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", errors.New("not in a module")
	}
	return filepath.Dir(mod), nil
}
