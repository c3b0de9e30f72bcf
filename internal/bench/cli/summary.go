package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// decisive returns the units of the summary, the most important one first.
func decisive(cells []*results.Cell) []string {
	if results.Paced(cells) {
		return []string{results.ResponsePrefix + "p99-ns", "achieved-%", "audits/s"}
	}
	return []string{"ops/s", "p99-ns", "audits/s"}
}

// noisyMeans explains a noisy sample.
const noisyMeans = "other programs or the host had enough of the processors meanwhile to explain " +
	"a difference"

// summary writes how the engines have come out, and on which machine.
func (o *output) summary(w io.Writer) error {
	if len(o.run.Samples) == 0 {
		return nil
	}
	text := &textWriter{w: w, width: terminalWidth(w)}
	if o.table { // else the results say so
		for _, line := range results.DescribeMachine(o.run.Header) {
			text.wrap("", "  ", line)
		}
	}
	text.line("")
	cells := o.run.Cells()
	contests := results.Compete(cells, o.subject, decisive(cells)...)
	for i := range contests {
		text.contest(&contests[i])
	}
	if n, of := o.run.Noisy(); n > 0 {
		text.wrap("", "  ", fmt.Sprintf("%s of which samples are noisy, %d of %d in all: %s",
			results.NoisyMark, n, of, noisyMeans))
		text.line("")
	}
	text.verdicts(contests, o.subject)
	text.operations(cells)
	for _, f := range o.run.Found {
		if o.table { // elsewhere it has been said
			text.wrap("\n", "  ", f.String())
		}
	}
	if mark := o.run.Mark(); mark != "" {
		text.wrap("\nNOTE: ", "  ", mark)
	}
	return text.err
}

// contest writes a table with as many engines as there is room for.
func (t *textWriter) contest(c *results.Contest) {
	rows := c.Rows()
	all := len(rows[0])
	for t.width != anyWidth && results.Width(rows) > t.width && len(rows[0]) > 5 {
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-2]
		}
	}
	head := fmt.Sprintf("%s: %s is better", c.Figure(), c.Better)
	if left := (all - len(rows[0])) / 2; left > 0 && len(c.Engines) > 1 {
		head += fmt.Sprintf(" (no room for %d more)", left)
	}
	t.line(head)
	t.table(rows, func(column int) bool { return column == 0 })
	t.line("")
}

// table writes a table, the columns that leftmost names flush left.
func (t *textWriter) table(rows [][]string, leftmost func(column int) bool) {
	if t.err == nil {
		t.err = results.Plain.Write(t.w, rows, leftmost)
	}
}

// verdicts writes where the subject does better, and where worse, than each other engine.
func (t *textWriter) verdicts(contests []results.Contest, subject string) {
	for i := 1; len(contests) > 0 && i < len(contests[0].Engines); i++ {
		other, open := contests[0].Engines[i], 0
		for _, verdict := range []string{results.Improved, results.Worsened} {
			head := fmt.Sprintf("Where %s does %s than %s:", subject, verdict, other)
			for _, c := range contests {
				if where := c.Where(i, verdict); where != "" {
					if head != "" {
						t.line(head)
						head = ""
					}
					t.wrap("  ", "    ", c.Figure()+": "+where)
				}
			}
		}
		for _, c := range contests {
			open += c.Open(i)
		}
		if open > 0 {
			t.wrap("", "  ", fmt.Sprintf("Figures that do not tell %s and %s apart (~): %d", subject,
				other, open))
		}
	}
}

// operations writes the medians of each kind of operation, where workloads have several.
func (t *textWriter) operations(cells []*results.Cell) {
	rows := results.OperationRows(cells)
	if rows == nil {
		return
	}
	t.line("")
	t.line("Operations, medians:")
	if t.width != anyWidth && results.Width(rows) > t.width {
		for i := range rows { // the tables above have the workload, too
			rows[i] = append(rows[i][:1:1], rows[i][2:]...)
		}
	}
	t.table(rows, func(column int) bool {
		return slices.Contains([]string{"operation", "workload", "engine"}, rows[0][column])
	})
}

// textWriter writes paragraphs.
type textWriter struct {
	w     io.Writer
	width int // in columns; anyWidth: lines are not broken
	err   error
}

func (t *textWriter) line(s string) { t.wrap("", "", s) }

// wrap writes text in lines that begin with indent, the first with head.
func (t *textWriter) wrap(head, indent, text string) {
	var b strings.Builder
	b.WriteString(head)
	column := utf8.RuneCountInString(head)
	start := column
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if column > start && column+1+n > t.width && t.width != anyWidth {
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
