package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/bench"
)

// listCmd is "mvccbench list".
type listCmd struct{}

// Run describes everything that can be named on the command line and that
// appears in the output.
func (c *listCmd) Run(e *env) error {
	w := &textWriter{w: e.stdout}
	w.line("Workloads (--workload). One operation is one transaction, retried until it has committed.")
	for _, wl := range bench.Workloads() {
		w.entry(wl.Name, wl.Doc+describeParams(wl.Params))
	}
	w.line("")
	w.line("Engines (--engine).")
	for _, en := range e.engines {
		doc := en.Doc + "."
		for _, wl := range bench.Workloads() {
			if why, ok := en.Runs(wl); !ok {
				doc += fmt.Sprintf(" Not %s: %s.", wl.Name, why)
			}
		}
		w.entry(en.Name, doc)
	}
	w.line("")
	w.line("Metrics of a result line, in the Go benchmark format. Its name says workload, engine and threads, and whatever parameter is not the default; the first number is the operations.")
	for _, m := range metrics {
		w.entry(m.unit, strings.ToUpper(m.doc[:1])+m.doc[1:]+".")
	}
	w.line("")
	w.line("Every sample has a new map and is verified before its line is printed: final values, reads that never go back, sums. An engine that fails ends the run with exit code 3.")
	return w.err
}

func describeParams(p bench.Params) string {
	var parts []string
	if p.Keys != bench.Unset {
		parts = append(parts, fmt.Sprintf("--keys %d", p.Keys))
	}
	if p.ReadPct != bench.Unset {
		parts = append(parts, fmt.Sprintf("--read-pct %d", p.ReadPct))
	}
	if p.Theta != bench.Unset {
		parts = append(parts, fmt.Sprintf("--theta %v", p.Theta))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Defaults: " + strings.Join(parts, ", ") + "."
}

// textWriter writes paragraphs of at most 80 columns.
type textWriter struct {
	w   io.Writer
	err error
}

func (t *textWriter) line(s string) { t.wrap("", "", s) }

func (t *textWriter) entry(name, doc string) {
	t.wrap(fmt.Sprintf("  %-12s ", name), strings.Repeat(" ", 15), doc)
}

// wrap writes text in lines that begin with indent, the first with head.
func (t *textWriter) wrap(head, indent, text string) {
	const width = 80
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
