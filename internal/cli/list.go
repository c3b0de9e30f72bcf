package cli

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// listCmd is "mvccbench list".
type listCmd struct {
	What string `arg:"" optional:"" default:"all" help:"What to describe: workloads, engines, metrics or formats. All of it if none is named."`
}

// Run describes everything that can be named on the command line and that
// appears in the output.
func (c *listCmd) Run(e *Env) error {
	parts := []struct {
		name  string
		write func(w *textWriter, e *Env)
	}{
		{"workloads", listWorkloads},
		{"engines", listEngines},
		{"metrics", listMetrics},
		{"formats", listFormats},
	}
	names := []string{"all"}
	for _, part := range parts {
		names = append(names, part.name)
	}
	if !slices.Contains(names, c.What) {
		return usagef("list: there is nothing called %s%s; expected one of %s", c.What,
			hint(c.What, names), strings.Join(names, ", "))
	}
	w := &textWriter{w: e.stdout}
	first := true
	for _, part := range parts {
		if c.What != "all" && c.What != part.name {
			continue
		}
		if !first {
			w.line("")
		}
		first = false
		part.write(w, e)
	}
	return w.err
}

func listWorkloads(w *textWriter, e *Env) {
	w.line("Workloads (--workload). One operation is one transaction, retried until it has committed.")
	for _, wl := range e.Workloads {
		w.entry(wl.Name, wl.Doc)
		if params := describeParams(wl); params != "" {
			w.wrap(indent, indent+"  ", params)
		}
	}
	w.line("")
	w.line("One of your own is a function in Go: examples/workload, and the documentation of package bench.")
	w.line("")
	w.line("Every sample has a new map and is verified before its figures are printed: final " +
		"values, reads that never go back, sums. An engine that fails ends the run with exit code 3.")
}

func listEngines(w *textWriter, e *Env) {
	w.line("Engines (--engine).")
	for _, en := range e.Engines {
		w.entry(en.Name, en.Doc+"."+levels(en)+lacks(en, e.Workloads))
	}
}

// levels says which levels of isolation an engine has a choice of.
func levels(e bench.EngineSpec) string {
	if len(e.Levels) == 0 {
		return ""
	}
	names := namesOf(e.Levels, func(l bench.Isolation) string { return string(l) })
	return " Isolation: " + strings.Join(names, " or ") + "."
}

// lacks says what an engine cannot run, by the reason.
func lacks(e bench.EngineSpec, workloads []bench.Workload) string {
	var reasons []string
	names := map[string][]string{}
	for _, w := range workloads {
		why, ok := e.Runs(w)
		if ok {
			continue
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], w.Name)
	}
	text := ""
	for _, why := range reasons {
		text += fmt.Sprintf(" Does not run %s: %s.", strings.Join(names[why], ", "), why)
	}
	return text
}

func listMetrics(w *textWriter, _ *Env) {
	w.line("Metrics. In the Go benchmark format a line begins with its name, which says workload, " +
		"engine, threads and whatever parameter is not the default, and the number of operations. In " +
		"the other formats the names are the same. benchstat and compare show seconds for nanoseconds. " +
		"Where nothing is said of how a figure is measured, it is as the one above it.")
	w.line("")
	w.line("Where a workload has several operations, each has ops/s, p50-ns, p99-ns and " +
		"p99.9-ns, and with --rate response times, of its own: read:p99-ns. Compare shows them if " +
		"--unit names them.")
	before := ""
	for _, m := range results.Metrics() {
		doc := fmt.Sprintf("%s; %s is better.", sentence(m.Doc), m.Better)
		if m.How != before {
			doc += fmt.Sprintf(" Measured: %s.", m.How)
		}
		before = m.How
		w.entry(m.Unit, doc)
	}
}

func listFormats(w *textWriter, _ *Env) {
	w.line("Formats (--format).")
	for _, f := range formats {
		w.entry(f.name, f.doc)
	}
	w.line("")
	w.line("Runs that were interrupted, or slowed down by instruments, are marked in each.")
}

// sentence begins text with a capital, unless it begins with a name.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// describeParams lists the parameters of a workload, with their defaults and what
// else they can be.
func describeParams(w bench.Workload) string {
	var parts []string
	for _, p := range results.Parameters(bench.Config{Workload: w,
		AuditInterval: bench.DefaultAuditInterval}) {
		part := fmt.Sprintf("--%s %s", p.Name, p.Value)
		if r := w.Range(p.Name); r != "" {
			part += " (" + spacedNumbers(r) + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Defaults: " + strings.Join(parts, ", ")
}

var longNumber = regexp.MustCompile(`\d{4,}`)

// spacedNumbers puts commas between the thousands of the numbers in text.
func spacedNumbers(text string) string {
	return longNumber.ReplaceAllStringFunc(text, func(n string) string {
		for i := len(n) - 3; i > 0; i -= 3 {
			n = n[:i] + "," + n[i:]
		}
		return n
	})
}

// textWriter writes paragraphs.
type textWriter struct {
	w     io.Writer
	width int // in columns; 80 if it is zero
	err   error
}

// verbatim writes a line that is not broken.
func (t *textWriter) verbatim(indent, line string) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, "%s%s\n", indent, line)
	}
}

func (t *textWriter) line(s string) { t.wrap("", "", s) }

// indent is where the text of an entry begins.
const indent = "               "

// entry writes what a name means beside it or, if the name is long, below it.
func (t *textWriter) entry(name, doc string) {
	head := fmt.Sprintf("  %-*s ", len(indent)-3, name)
	if len(head) > len(indent) {
		t.wrap("  "+name, "", "")
		head = indent
	}
	t.wrap(head, indent, doc)
}

// wrap writes text in lines that begin with indent, the first with head.
func (t *textWriter) wrap(head, indent, text string) {
	width := cmp.Or(t.width, 80)
	var b strings.Builder
	b.WriteString(head)
	column := utf8.RuneCountInString(head)
	start := column
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if column > start && column+1+n > width {
			b.WriteString("\n" + indent)
			start = utf8.RuneCountInString(indent)
			column = start
		}
		if column > start {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteByte('\n')
	if t.err == nil {
		_, t.err = io.WriteString(t.w, b.String())
	}
}
