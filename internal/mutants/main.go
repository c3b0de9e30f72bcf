// Command mutants shows that the tests can fail. It applies each deliberate
// fault of internal/mutants/*.patch to a copy of the work tree and runs the one
// test that the patch names: a fault that this test does not notice in three
// runs has survived, and the command exits with 1.
//
// A patch starts with a header that git apply skips:
//
//	# title: the clock is drawn before the announcement
//	# why: a reader that saw the writer active may already have skipped it
//	# test: go test -tags mvcccheck -count=1 -run 'TestReadersDecideForStandingWriter$' ./mvcc
//	# timeout-ok: the reader waits for ever
//
// The last line is optional; without it a test that times out kills nothing.
// A patch that no longer applies, a mutant that does not compile, and a test
// that fails, is skipped or does not exist on the clean tree fail the run too.
//
// With -all it runs every test of the package against each fault, shortened, which takes a night, and
// prints the tests that notice none: such a test holds a promise, or nobody would miss it.
//
// With -table it tries nothing and prints docs/mutants.md ("make mutants-table").
// Run it from anywhere in the module with "go run ./internal/mutants", or with
// "make mutants". It needs git and writes to the temporary directory only. It
// exits with 0 if every mutant was killed, 1 if not, 2 on a wrong flag and 130
// when interrupted.
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
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its surroundings passed in. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", "",
		"work tree to copy (default: the module that holds the current folder)")
	dir := flags.String("dir", "internal/mutants", "folder of the patches, relative to the work tree")
	only := flags.String("run", "", "try only the mutants whose name matches this regular expression")
	asTable := flags.Bool("table", false,
		"try nothing; print the mutants as the Markdown of docs/mutants.md")
	verbose := flags.Bool("v", false, "print the reasons and the last lines of each test")
	parallel := flags.Int("parallel", 2, "mutants tried at a time")
	timeout := flags.Duration("timeout", 2*time.Minute, "limit for a test command without -timeout")
	budget := flags.Duration("budget", 0, "start no mutant later than this (0: no limit)")
	all := flags.Bool("all", false,
		"run all tests of the package, with -short, in place of the one, "+
			"and print those that notice nothing; it takes a night and -timeout 10m")
	start := flags.Int("start", 0, "begin at this mutant, modulo their number, and wrap round; "+
		"with -budget, a number that grows from run to run makes every mutant's turn come")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	pattern, err := regexp.Compile(*only)
	if err != nil || flags.NArg() > 0 || *parallel < 1 || *start < 0 {
		fmt.Fprintln(stderr, "mutants: -run takes a regular expression, -parallel a positive number,",
			"-start none below 0, and there are no arguments")
		return 2
	}

	if *root == "" {
		if *root, err = moduleRoot(ctx); err != nil {
			fmt.Fprintln(stderr, "mutants:", err)
			return 1
		}
	}
	mutants, err := readMutants(filepath.Join(*root, *dir))
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !pattern.MatchString(m.name) })
	if len(mutants) == 0 {
		fmt.Fprintf(stderr, "mutants: no patch in %s matches %q\n", *dir, *only)
		return 1
	}
	if *asTable {
		printMarkdown(stdout, mutants)
		return 0
	}
	first := *start % len(mutants)
	mutants = slices.Concat(mutants[first:], mutants[:first])

	reports, err := tryAll(ctx, *root, mutants, &runner{
		parallel: *parallel, timeout: *timeout, budget: *budget, all: *all,
	}, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
	}
	ok := err == nil && printTable(stdout, reports, *verbose)
	if *all {
		printKillers(stdout, reports)
	}
	switch {
	case ctx.Err() != nil:
		return 130
	case !ok:
		return 1
	}
	return 0
}

// tryAll copies the work tree at root for r, runs it, tells each verdict to
// progress as it comes, and returns the reports sorted by name.
func tryAll(
	ctx context.Context, root string, mutants []mutant, r *runner, progress io.Writer,
) ([]report, error) {
	files, err := sourceFiles(ctx, root)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	r.root, r.files, r.scratch = root, files, scratch

	var mu sync.Mutex
	var reports []report
	r.run(ctx, mutants, func(rep report) {
		mu.Lock()
		defer mu.Unlock()
		reports = append(reports, rep)
		fmt.Fprintf(progress, "%d/%d %s: %v (%.1fs)\n",
			len(reports), len(mutants), rep.mutant.name, rep.verdict, rep.elapsed.Seconds())
	})
	slices.SortFunc(reports, func(a, b report) int {
		return strings.Compare(a.mutant.name, b.mutant.name)
	})
	return reports, nil
}

// printTable prints one row per mutant, then the details that matter and the
// totals. It reports whether at least one mutant was killed and none got away;
// those that the budget left out do not count.
func printTable(w io.Writer, reports []report, verbose bool) bool {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "mutant\ttest\tresult\ttime\ttitle")
	counts := map[verdict]int{}
	for _, r := range reports {
		counts[r.verdict]++
		test, pkg := r.mutant.named()
		fmt.Fprintf(table, "%s\t%s %s\t%v\t%.1fs\t%s\n", r.mutant.name, pkg,
			strings.TrimSuffix(strings.TrimPrefix(test, "^"), "$"), r.verdict,
			r.elapsed.Seconds(), r.mutant.title)
	}
	table.Flush()
	for _, r := range reports {
		good := r.verdict == killed || r.verdict == notRun
		if good && !verbose {
			continue
		}
		fmt.Fprintf(w, "\n%s: %v\n  title: %s\n  why:   %s\n  test:  %v\n", r.mutant.name, r.verdict,
			r.mutant.title, r.mutant.why, r.mutant.test)
		if r.detail != "" {
			fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(r.detail, "\n", "\n  "))
		}
	}
	bad := len(reports) - counts[killed] - counts[notRun]
	fmt.Fprintf(w, "\n%d mutants: %d killed, %d not killed, %d not run\n",
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
