package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// callOther runs a program that is not mvccbench.
func callOther(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err lines
	code = RunWith(t.Context(), Program{Name: "otherbench", Engines: bench.Engines()}, args, &out, &err)
	return code, out.String(), err.String()
}

// Whatever a program says of itself, it says with its own name.
func TestOtherProgram(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--help", ExitOK, "otherbench"},
		{"--version", ExitOK, "otherbench"},
		{"list", ExitOK, "mvcc-direct"},
		{"run --help", ExitOK, "\n    otherbench --workload transfer --rate 50k"},
		{"serve --help", ExitOK, "otherbench serve"},
		{"verify --nope", ExitUsage, "otherbench: unknown flag --nope"},
		{"nope", ExitUsage, "unexpected argument nope; expected one of run, serve, verify, ab, compare, "},
		{"compare nosuch nosuch", ExitUsage, "otherbench: open nosuch"},
		{strings.Join(quick("--workload=counter"), " "), ExitOK, "# otherbench --duration=2ms"},
	} {
		code, stdout, stderr := callOther(t, strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, stderr)
		require.Contains(t, stdout+stderr, c.says, c.args)
		require.NotContains(t, strings.ReplaceAll(stdout+stderr, "cmd/mvccbench", ""), "mvccbench", c.args)
	}
}

// Every help fits into 80 columns, and its examples are command lines that can be run.
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	examples := 0
	for _, args := range []string{"", "run", "serve", "verify", "ab", "compare", "report", "list"} {
		stdout, _ := succeed(t, append(strings.Fields(args), "--help")...)
		require.Equal(t, args == "", strings.Contains(stdout, "\nExit codes: 0 "), args)
		require.NotContains(t, stdout, "%%")
		require.NotContains(t, stdout, "${")
		for line := range strings.Lines(stdout) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
			example, ok := strings.CutPrefix(line, "    mvccbench ")
			if !ok {
				continue
			}
			examples++
			e := &Env{Program: mvccbench(), args: strings.Fields(strings.ReplaceAll(example, "'", ""))}
			ctx, err := e.parse()
			require.NoError(t, err, line)
			switch cmd := ctx.Selected().Target.Addr().Interface().(type) {
			case *runCmd:
				_, err = cmd.sweep(e)
			case *abCmd:
				_, err = cmd.sweep(e)
			case *serveCmd:
				_, err = cmd.config(e)
			case *verifyCmd:
				_, err = cmd.config()
			}
			require.NoError(t, err, line)
		}
	}
	require.Greater(t, examples, 10)
}
