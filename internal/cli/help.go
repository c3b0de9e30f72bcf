package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// description is what the program is, in --help.
const description = `Measures a transactional in-memory map, and other maps beside it, under load.
Every result is verified before it is printed. Results go to standard output in
the Go benchmark format, everything else to standard error. While a run lasts,
its profiles can be looked at in a browser.

"run" is the default command. "verify" checks the map itself, for as long as you
like. "list" describes every workload, engine and metric.`

// exitCodes ends every --help.
const exitCodes = `
Exit codes: 0 all went well, 1 the run failed, or --gate found something worse,
2 an argument is wrong and nothing was done, 3 verification was violated,
4 cannot tell: --gate has too little to judge by, or nothing was verified,
5 a limit was missed: of --threshold, or --find-rate has found no rate,
130 interrupted by Ctrl-C (143 by SIGTERM): what had been measured was printed.
A second Ctrl-C ends at once. For "serve" Ctrl-C is the normal end: 0 or 3.
`

// An Example is a command line that --help shows.
type Example struct {
	What string // it is good for
	Args string // the command line without the program or, if it begins with "$ ", that of another
}

// examples are those of each command.
var examples = map[string][]Example{
	"run": {
		{"The default sweep, in under a minute", ""},
		{"Reads of skewed keys: transactions, one-key operations and a concurrent map",
			"--workload read-heavy --keys 1k --theta 0.9 --engine mvcc,mvcc-direct,xsync --threads 2"},
		{"A sweep over two parameters", "--workload read-heavy --keys 1k --theta 0.5,0.9 --value-size 8,16-1024"},
		{"Response times at a given load, a line of figures each second",
			"--workload transfer --rate 50k --arrival poisson --duration 10s --interval 1s --count 1 " +
				"--threads 2"},
		{"In CI: fail unless response times are kept at a given load", "--workload transfer --threads 1 " +
			"--rate 50k --duration 2s --threshold 'response-p99<5ms,achieved>=99'"},
		{"The highest rate at which they are", "--workload transfer --engine mvcc --threads 1 " +
			"--duration 1s --find-rate 'response-p99<5ms'"},
		{"For other programs: a histogram for each second",
			"--workload transfer --duration 10s --hlog transfer.hlog"},
		{"What timing each operation costs", "--workload counter --threads 1 --latency-sample off,1"},
		{"Charts, and a record with profiles, to be shown and compared later",
			"--workload transfer --profile -o before.json --report charts.html"},
		{"Change something in between, then compare", "-o old.txt"},
		{"", "-o new.txt"},
		{"", "compare old.txt new.txt"},
		{"The same with benchstat, and the engines of one run beside each other",
			"$ go tool benchstat old.txt new.txt"},
		{"", "$ go tool benchstat -col /engine new.txt"},
		{"Look for what must not happen", "verify --duration 10m"},
	},
	"serve": {
		{"Transfers, looked at in the browser until Ctrl-C", "serve"},
		{"A skewed load at a fixed rate, for ten minutes",
			"serve --workload ycsb-a --theta 0.99 --threads 8 --rate 100000 --duration 10m"},
		{"Two kept runs, to compare them and their profiles", "serve before.json after.json"},
	},
	"verify": {
		{"As a soak", "verify --duration 10m"},
		{"The parameters of one round, over and over", "verify --seed 7 --repeat --duration 1m"},
	},
	"ab": {
		{"The work tree, with your change, and the commit before it", "ab HEAD ."},
		{"One workload, why it is slower, and a page of it all",
			"ab main . --workload transfer --threads 2 --count 20 --profile --report ab.html"},
		{"Two programs that were built before; in CI: fail if it is slower",
			"ab ./old ./new --gate --gate-pct 5"},
	},
	"compare": {
		{"Two files of results, or of Go benchmarks", "compare old.txt new.txt"},
		{"In CI: fail if throughput has fallen", "compare old.txt new.txt --gate"},
	},
	"report": {
		{"Charts of a file of results", "report results.txt --report charts.html"},
	},
	"list": {
		{"Everything", "list"},
		{"What p99-ns is, and how it is measured", "list metrics"},
	},
}

// writeExamples writes the examples of a command.
func (e *Env) writeExamples(w io.Writer, command string) {
	list := examples[command]
	for _, c := range e.Commands {
		if c.Name == command {
			list = c.Examples
		}
	}
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\nExamples:\n")
	text := &textWriter{w: w}
	for _, x := range list {
		if x.What != "" {
			text.wrap("  ", "  ", x.What+":")
		}
		line, other := strings.CutPrefix(x.Args, "$ ")
		if !other {
			line = strings.TrimSpace(e.Name + " " + line)
		}
		text.wrapCommand("    ", line)
	}
}

// wrapCommand writes a command line so that it can be copied in whole.
func (t *textWriter) wrapCommand(indent, line string) {
	const width = 80
	text := indent
	for i, part := range strings.Split(line, " --") {
		switch {
		case i == 0:
			text += part
		case len(text)+len(" --"+part+" \\") <= width:
			text += " --" + part
		default:
			t.verbatim("", text+" \\")
			text = indent + "  --" + part
		}
	}
	t.verbatim("", text)
}

// printHelp prints the help of the command that was named or, if none was, of
// all commands together with the flags of the default one.
func (e *Env) printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	command := "run"
	if node := ctx.Selected(); node != nil {
		for node.Parent != nil && node.Parent.Parent != nil {
			node = node.Parent
		}
		command = cmp.Or(node.Name, command)
	} else {
		e.writeCommands(ctx)
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
	e.writeExamples(ctx.Stdout, command)
	_, err := io.WriteString(ctx.Stdout, exitCodes)
	return err
}

// writeCommands lists the commands.
func (e *Env) writeCommands(ctx *kong.Context) {
	fmt.Fprintf(ctx.Stdout, "Usage: %s [run] [flags]\n", e.Name)
	w := &textWriter{w: ctx.Stdout}
	column := 0
	for _, c := range ctx.Model.Children {
		column = max(column, len(c.Name))
	}
	column += len("       "+e.Name) + 2
	for _, c := range ctx.Model.Children {
		if c.Name != "run" && !c.Hidden {
			w.wrap(fmt.Sprintf("%-*s ", column, "       "+e.Name+" "+c.Name), strings.Repeat(" ", column+1),
				c.Help)
		}
	}
	fmt.Fprintf(ctx.Stdout, "       %s COMMAND --help\n\n", e.Name)
}
