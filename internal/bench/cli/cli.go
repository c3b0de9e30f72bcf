// Package cli is the command mvccbench: its flags, its output, and its messages
// while it runs. The measuring is done by package bench.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/proof/soak"
)

// The exit codes of the command.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the run failed
	ExitUsage       = 2   // an argument is wrong; nothing was done
	ExitViolated    = 3   // an engine, or the map, did not pass verification
	ExitCannotTell  = 4   // too little was measured, or checked, to say that all is well
	ExitMissed      = 5   // a limit of --threshold was not kept, or no rate of --find-rate
	ExitInterrupted = 130 // by Ctrl-C; the samples so far were printed
	ExitTerminated  = 143 // by SIGTERM; the samples so far were printed
)

// root is the command line.
type root struct {
	Run     runCmd     `cmd:"" default:"withargs" help:"Run workloads on engines and print the results. This is the default."`
	Serve   serveCmd   `cmd:"" help:"Run one workload until Ctrl-C, to be looked at in the browser; or show kept runs there."`
	Verify  verifyCmd  `cmd:"" help:"Check isolation, linearizability and invariants of the map under random load."`
	AB      abCmd      `cmd:"" name:"ab" help:"Is my change slower? Measure two builds of this program in turns, and say which way it went."`
	Compare compareCmd `cmd:"" help:"Compare two runs, with the statistics of benchstat."`
	Report  reportCmd  `cmd:"" help:"Draw charts of a file of results."`
	List    listCmd    `cmd:"" help:"Describe every workload, engine and metric."`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

// A Program is a command line tool with the commands of mvccbench.
type Program struct {
	// Name is its name for users; it is in all that the program says of itself.
	Name string
	// Engines are those that --engine can name, in the order in which they are
	// listed.
	Engines []bench.EngineSpec
	// Workloads are those that --workload can name, in the order in which they are listed.
	Workloads []bench.Workload
	// Default are the workloads that are measured unless --workload names others; nil: mvccbench's.
	Default []string
	// Package is the package that ab builds; empty: cmd/Name of the module of the current folder.
	Package string
}

// mvccbench is the program that this package is made for.
func mvccbench() Program {
	return Program{Name: "mvccbench", Engines: bench.Engines(), Workloads: bench.Workloads()}
}

// An Env is the environment of a command.
type Env struct {
	Program
	ctx    context.Context
	stdout io.Writer
	stderr io.Writer
	target soak.Target // of verify
	args   []string
}

// usageError is an error in the arguments; it names the argument.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errCannotTell is wrapped by the errors that say that there was too little to judge by.
var errCannotTell = errors.New("cannot tell")

// Run runs mvccbench with the given arguments, the program's name left out, until
// it is done or ctx ends, and returns the exit code. Tests may pass any writers;
// if stderr is a terminal, progress is redrawn in place.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return RunWith(ctx, mvccbench(), args, stdout, stderr)
}

// RunWith is [Run] of another program.
func RunWith(ctx context.Context, p Program, args []string, stdout, stderr io.Writer) int {
	return run(&Env{Program: p, ctx: ctx, stdout: stdout, stderr: stderr, args: args})
}

// exited is the value with which the parser's Exit panics, to get out of it.
type exited int

func run(e *Env) (code int) {
	if e.Engines == nil {
		e.Engines = bench.Engines()
	}
	if e.Workloads == nil {
		e.Workloads = bench.Workloads()
	}
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(c)
		}
	}()
	ctx, err := e.parse()
	if err == nil {
		err = ctx.Run(e)
	}
	code = exitCode(err)
	switch {
	case err == nil, code == ExitInterrupted: // the run has said so itself
	case code == ExitUsage:
		fmt.Fprintf(e.stderr, "%s: %v\nTry %s --help.\n", e.Name, err, e.Name)
	default:
		fmt.Fprintf(e.stderr, "%s: %v\n", e.Name, err)
	}
	return code
}

func exitCode(err error) int {
	var side *sideError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, new(usageError)), errors.As(err, new(*kong.ParseError)):
		return ExitUsage
	case errors.As(err, new(*bench.Violation)), errors.As(err, new(*soak.Error)),
		errors.As(err, &side) && side.code == ExitViolated:
		return ExitViolated
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, errMissed):
		return ExitMissed
	case errors.Is(err, errCannotTell):
		return ExitCannotTell
	}
	return ExitFailed
}

// parse returns the command that the arguments name, with its flags set.
func (e *Env) parse() (*kong.Context, error) {
	var cmd root
	options := []kong.Option{
		kong.Name(e.Name),
		kong.Description(description),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.ValueFormatter(withDefault),
		vars(e.Program),
	}
	for _, kind := range []reflect.Kind{reflect.Int, reflect.Uint64, reflect.Float64} {
		options = append(options, kong.KindMapper(kind, kong.MapperFunc(decodeNumber)))
	}
	parser, err := kong.New(&cmd, options...)
	if err != nil {
		return nil, err
	}
	for _, command := range parser.Model.Children {
		command.Detail = strings.ReplaceAll(command.Detail, "mvccbench", e.Name)
	}
	ctx, err := parser.Parse(e.args)
	if err != nil && strings.HasPrefix(err.Error(), "unexpected argument") {
		commands := namesOf(parser.Model.Children, func(n *kong.Node) string { return n.Name })
		return nil, usagef("%w; expected one of %s, and flags", err, strings.Join(commands, ", "))
	}
	if err != nil {
		return nil, err
	}
	return ctx, empty(ctx.Path)
}

// empty returns an error if a flag has nothing for its value.
func empty(path []*kong.Path) error {
	for _, p := range path {
		f := p.Flag
		switch {
		case f == nil:
		case f.IsSlice() && f.Target.Len() == 0:
			return usagef("--%s: nothing given; expected one value, or several with commas between them",
				f.Name)
		case f.Target.Kind() == reflect.String && f.Target.Len() == 0 && f.Name != "http":
			return usagef("--%s: nothing given; expected %s", f.Name, f.FormatPlaceHolder())
		}
	}
	return nil
}

// withDefault describes a flag together with its default.
func withDefault(v *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(v)
	if v.Default == "" || v.Flag == nil {
		return help
	}
	return fmt.Sprintf("%s Default: %s.", help, v.Default)
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

// Main is the main function of a program. It calls run with a context that a signal ends, and ends
// the process with the exit code that run returns.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var stop Stop
	go stop.Handle(signals, cancel, os.Stderr, os.Exit)
	os.Exit(stop.Code(run(ctx, os.Args[1:], os.Stdout, os.Stderr)))
}

// A Stop is how a program is told to end.
type Stop struct{ terminated atomic.Bool }

// Handle waits for two signals. At the first it calls cancel, so the run prints its samples. At the
// second it calls exit at once.
func (s *Stop) Handle(
	signals <-chan os.Signal, cancel func(), stderr io.Writer, exit func(code int),
) {
	// before cancel: the run then returns, and Code reads it
	s.terminated.Store(<-signals == syscall.SIGTERM)
	line := onScreen.Load() // before cancel, too: the line ends with the run
	cancel()
	const stopping = "stopping; Ctrl-C again ends at once"
	if line != nil {
		go line.note(stopping) // drawing may be slow, and the second signal must not wait for it
	} else {
		fmt.Fprintln(stderr, "\n"+stopping)
	}
	<-signals
	exit(s.Code(ExitInterrupted))
}

// Code returns the exit code of the process if the run has returned code. An interrupted run has
// another exit code after SIGTERM than after Ctrl-C.
func (s *Stop) Code(code int) int {
	if code == ExitInterrupted && s.terminated.Load() {
		return ExitTerminated
	}
	return code
}
