package cli

import (
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// greet is a command of another program.
type greet struct {
	Name string `arg:"" help:"Whom."`
}

func (g *greet) Run(e *Env) error {
	if g.Name == "nobody" {
		return UsageError(io.EOF)
	}
	_, err := io.WriteString(e.Stdout(), "hello "+g.Name+"\n")
	return err
}

// callOther runs a program that is not mvccbench.
func callOther(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err lines
	code = RunWith(t.Context(), Program{
		Name:    "otherbench",
		Engines: bench.Engines(),
		Commands: []Command{{Name: "greet", Help: "Greet somebody.", Args: new(greet),
			Examples: []Example{{What: "Politely", Args: "greet you"}}}},
	}, args, &out, &err)
	return code, out.String(), err.String()
}

// Whatever a program says of itself, it says with its own name.
func TestOtherProgram(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
	}{
		{"--help", ExitOK}, {"--version", ExitOK}, {"list", ExitOK}, {"serve --help", ExitOK},
		{"verify --help", ExitOK},
		{"compare --help", ExitOK}, {"report --help", ExitOK},
		{"list --help", ExitOK},
		{"--no-such", ExitUsage}, {"compare nosuch nosuch", ExitUsage}, {"report nosuch --report=x",
			ExitUsage},
		{strings.Join(quick("--workload=counter"), " "), ExitOK},
		{strings.Join(quick("--workload=counter"), " "), ExitOK},
		{"verify --duration=1ms --http=off --kind=onekey", ExitOK}, // some check nothing so soon
	} {
		code, stdout, stderr := callOther(t, strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, stderr)
		said := strings.ReplaceAll(stdout+stderr, "cmd/mvccbench", "") // whose benchmarks they are
		require.NotContains(t, said, "mvccbench", c.args)
	}
	code, stdout, _ := callOther(t, "--help")
	require.Equal(t, ExitOK, code)
	require.Contains(t, stdout, "otherbench greet ")
	require.Contains(t, stdout, "\n    otherbench verify --duration 10m\n")
	_, stdout, _ = callOther(t, strings.Fields(strings.Join(quick("--workload=counter"), " "))...)
	require.True(t, strings.HasPrefix(stdout, "# otherbench --duration=2ms"), stdout)

	code, stdout, _ = callOther(t, "greet", "you")
	require.Equal(t, ExitOK, code)
	require.Equal(t, "hello you\n", stdout)
	code, _, stderr := callOther(t, "greet", "nobody")
	require.Equal(t, ExitUsage, code)
	require.Equal(t, "otherbench: EOF\nTry otherbench --help.\n", stderr)
	_, stdout, _ = callOther(t, "greet", "--help")
	require.Contains(t, stdout, "Examples:\n  Politely:\n    otherbench greet you\n")
	code, _, stderr = callOther(t, "nope")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "list, greet, and flags")
}

// Every command shows examples and the exit codes in its help, in 80 columns.
func TestHelpOfEachCommand(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, args := range []string{"", "run", "serve", "verify", "ab", "compare", "report", "list"} {
		stdout, _ := succeed(t, append(strings.Fields(args), "--help")...)
		require.Contains(t, stdout, "\nExamples:\n", args)
		require.Contains(t, stdout, "\nExit codes: 0 ", args)
		require.NotContains(t, stdout, "%%")
		require.NotContains(t, stdout, "${")
		for line := range strings.Lines(stdout) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
		}
	}
}

// The examples are command lines that can be run.
func TestExamplesAreRight(t *testing.T) {
	for command, list := range examples {
		require.NotEmpty(t, list, command)
		for _, x := range list {
			if other, ok := strings.CutPrefix(x.Args, "$ "); ok {
				require.True(t, strings.HasPrefix(other, "go tool "), x.Args)
				continue
			}
			e := &Env{Program: mvccbench(), ctx: t.Context(), stdout: io.Discard, stderr: io.Discard,
				args: strings.Fields(strings.ReplaceAll(x.Args, "'", ""))}
			ctx, err := e.parse()
			require.NoError(t, err, x.Args)
			switch cmd := ctx.Selected().Target.Addr().Interface().(type) {
			case *runCmd:
				_, err = cmd.sweep(e)
			case *abCmd:
				if _, err = cmd.sweep(e); err == nil {
					err = cmd.check()
				}
			case *serveCmd:
				_, err = cmd.config(e)
			case *verifyCmd:
				_, err = cmd.config()
			}
			require.NoError(t, err, x.Args)
		}
		require.True(t, slices.ContainsFunc(list, func(x Example) bool {
			return command == "run" || x.Args == command || strings.HasPrefix(x.Args, command+" ")
		}), "no example of %s", command)
	}
}

// A program may have a command in place of one of mvccbench's, and flags of all commands.
func TestReplacedCommand(t *testing.T) {
	var flags struct {
		Whom string `help:"Whom."`
	}
	for args, code := range map[string]int{"verify you --whom me": ExitOK, "verify --duration=1s": ExitUsage,
		"list --whom you": ExitOK, "--help": ExitOK} {
		var out, err lines
		require.Equal(t, code, RunWith(t.Context(), Program{Name: "otherbench", Engines: bench.Engines(),
			Flags: &flags, Commands: []Command{{Name: "verify", Help: "Greet somebody.", Args: new(greet)}},
		}, strings.Fields(args), &out, &err), "%s: %s", args, &err)
		switch args {
		case "verify you --whom me":
			require.Equal(t, "hello you\n", out.String())
			require.Equal(t, "me", flags.Whom)
		case "--help":
			require.Contains(t, out.String(), "Greet somebody.")
			require.NotContains(t, out.String(), "linearizability")
		}
	}
}
