// Package cli is the command mvccbench: its flags, its output, and what it says
// while it runs. The measuring is done by package bench.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/soak"
)

// The exit codes of the command.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the run failed
	ExitUsage       = 2   // an argument is wrong; nothing was done
	ExitViolated    = 3   // an engine, or the map, did not pass verification
	ExitInterrupted = 130 // by Ctrl-C; what had been measured was printed
)

const programName = "mvccbench"

// description and examples frame the list of flags in --help.
const description = `Measures a transactional in-memory map, and other maps beside it, under load.
Every result is verified before it is printed. Results go to standard output in
the Go benchmark format, everything else to standard error. While a run lasts,
its profiles can be looked at in a browser.

"run" is the default command. "verify" checks the map itself, for as long as you
like. "list" describes every workload, engine and metric.`

const examples = `
Examples:
  mvccbench                                the default sweep, in under a minute
  mvccbench --workload zipf-read --engine mvcc,mvcc-direct,xsync --threads 2
  mvccbench --workload zipf-read --theta 0.5,0.9 --value-size 8,16-1024
  mvccbench --workload transfer --rate 50000 --arrival poisson --duration 10s
            --interval 1s                  response times at a given load, live
  mvccbench --workload begin --threads 1 --latency-sample off,1
                                           what timing each operation costs
  mvccbench -o old.txt                     ... change something, then
  mvccbench -o new.txt
  go tool benchstat old.txt new.txt        compare two runs
  go tool benchstat -col /engine new.txt   compare the engines of one run
  mvccbench verify --duration 10m          look for what must not happen

Exit codes: 0 all went well, 1 the run failed, 2 an argument is wrong and
nothing was done, 3 verification was violated, 130 interrupted by
Ctrl-C (what had been measured was printed; a second Ctrl-C ends at once).
`

// root is the command line.
type root struct {
	Run     runCmd     `cmd:"" default:"withargs" help:"Run workloads on engines and print the results. This is the default."`
	Serve   serveCmd   `cmd:"" help:"Run one workload until Ctrl-C, to be looked at in the browser."`
	Verify  verifyCmd  `cmd:"" help:"Check isolation, linearizability and invariants of the map under random load."`
	Compare compareCmd `cmd:"" help:"Compare two runs, with the statistics of benchstat."`
	Runs    runsCmd    `cmd:"" help:"List and delete the runs that were kept with --save."`
	Report  reportCmd  `cmd:"" help:"Draw charts of a run that was saved or written as JSON."`
	Table   tableCmd   `cmd:"" help:"Measure, and print in the form of tables that others have published: ravendb, free-batch, goroutines."`
	List    listCmd    `cmd:"" help:"Describe every workload, engine, metric and format."`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

// env is what a command works with.
type env struct {
	ctx     context.Context
	stdout  io.Writer
	stderr  io.Writer
	engines []bench.EngineSpec // those that --engine can name
	target  soak.Target        // what verify checks
	args    []string
}

// usageError is an error in the arguments; it names the argument.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Run runs the command with the given arguments, the program's name left out,
// until it is done or ctx ends, and returns the exit code. Tests may pass any
// writers; if stderr is a terminal, progress is redrawn in place.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return RunWith(ctx, bench.Engines(), args, stdout, stderr)
}

// RunWith is [Run] with other engines than the built-in ones: engines are those
// that --engine can name, in the order in which they are listed.
func RunWith(ctx context.Context, engines []bench.EngineSpec, args []string, stdout, stderr io.Writer) int {
	return run(&env{ctx: ctx, stdout: stdout, stderr: stderr, engines: engines, args: args})
}

// exited is what the parser's Exit panics with, to get out of it.
type exited int

func run(e *env) (code int) {
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(c)
		}
	}()
	err := parseAndRun(e)
	code = exitCode(err)
	switch {
	case err == nil, code == ExitInterrupted: // the run has said so itself
	case code == ExitUsage:
		fmt.Fprintf(e.stderr, "%s: %v\nTry %s --help.\n", programName, err, programName)
	default:
		fmt.Fprintf(e.stderr, "%s: %v\n", programName, err)
	}
	return code
}

func exitCode(err error) int {
	var usage usageError
	var parse *kong.ParseError
	var violated *bench.Violation
	var unsound *soak.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage), errors.As(err, &parse):
		return ExitUsage
	case errors.As(err, &violated), errors.As(err, &unsound):
		return ExitViolated
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailed
}

func parseAndRun(e *env) error {
	var cmd root
	parser, err := kong.New(&cmd,
		kong.Name(programName),
		kong.Description(description),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.ValueFormatter(withDefault),
		kong.Help(printHelp),
		kong.Vars(vars(e.engines)),
	)
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(e.args)
	if err != nil {
		if strings.HasPrefix(err.Error(), "unexpected argument") {
			var names []string
			for _, c := range parser.Model.Children {
				names = append(names, c.Name)
			}
			err = usagef("%w; expected one of %s, and flags", err, strings.Join(names, ", "))
		}
		return err
	}
	for _, p := range ctx.Path {
		if f := p.Flag; f != nil && f.IsSlice() && f.Target.Len() == 0 {
			return usagef("--%s: nothing given; expected one value, or several with commas between them", f.Name)
		}
	}
	return ctx.Run(e)
}

// withDefault describes a flag together with its default.
func withDefault(v *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(v)
	if v.Default == "" || v.Flag == nil {
		return help
	}
	return fmt.Sprintf("%s Default: %s.", help, v.Default)
}

// printHelp prints the help of the command that was named or, if none was, of
// all commands together with the flags of the default one.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() == nil {
		fmt.Fprintf(ctx.Stdout, "Usage: %s [run] [flags]\n", programName)
		w := &textWriter{w: ctx.Stdout}
		for _, c := range ctx.Model.Children {
			if c.Name != "run" && !c.Hidden {
				w.wrap(fmt.Sprintf("       %-18s ", programName+" "+c.Name), strings.Repeat(" ", 26), c.Help)
			}
		}
		fmt.Fprintf(ctx.Stdout, "       %s COMMAND --help\n\n", programName)
		run, err := kong.Trace(ctx.Kong, []string{"run"})
		if err != nil {
			return err
		}
		fmt.Fprintf(ctx.Stdout, "%s\n", description)
		options.NoAppSummary = true
		ctx = run
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	_, err := io.WriteString(ctx.Stdout, examples)
	return err
}

// version returns the version of the module that the command was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	return v + " " + info.GoVersion
}
