package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// decisive returns the units of the table at the end, the most important one first.
func decisive(cells []*results.Cell) []string {
	if results.Paced(cells) {
		return []string{results.ResponsePrefix + "p99-ns", "achieved-%", "audits/s"}
	}
	return []string{"ops/s", "p99-ns", "audits/s"}
}

// subject returns the engine that the others are set beside: the map, if it is among them.
func subject(engines []bench.EngineSpec) string {
	i := slices.IndexFunc(engines, func(e bench.EngineSpec) bool { return e.Reclaims })
	return engines[max(i, 0)].Name
}

// standings returns how the engines stand, for a terminal of that size, in lines.
func standings(r *results.Run, subject string, width, height int, colour bool) []string {
	contests := results.Compete(r.Cells(), subject, decisive(r.Cells())[0])
	if len(contests) == 0 {
		return nil
	}
	lines := contestLines(&contests[0], width, colour)
	if head := 2; height > head && len(lines) > height { // what is being measured is at the end
		lines = append(lines[:head:head], lines[len(lines)-(height-head):]...)
	}
	return lines
}

// contestLines returns a contest as a table of at most that width, unless it is anyWidth: with
// as many engines as there is room for.
func contestLines(c *results.Contest, width int, colour bool) []string {
	rows := c.Rows()
	all := len(rows[0])
	for width != anyWidth && results.Width(rows) > width && len(rows[0]) > 5 {
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-2]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s is better", c.Figure(), c.Better)
	if left := (all - len(rows[0])) / 2; left > 0 && len(c.Engines) > 1 {
		fmt.Fprintf(&b, " (no room for %d more)", left)
	}
	b.WriteByte('\n')
	_ = results.Plain.Write(&b, rows, func(column int) bool { return column == 0 })
	table := b.String()
	if colour {
		table = times.ReplaceAllStringFunc(table, func(text string) string {
			if strings.Contains(text, " more") == (c.Better == "higher") {
				return green + text + reset
			}
			return red + text + reset
		})
	}
	return strings.Split(strings.TrimSuffix(table, "\n"), "\n")
}

// times are the results in a table of standings that are decided.
var times = regexp.MustCompile(`\S+ x (more|less)!?`)

// noisyMeans says what a noisy sample is.
const noisyMeans = "other programs or the host had enough of the processors meanwhile to explain " +
	"a difference"

// writeStandings writes how the engines have come out.
func writeStandings(w io.Writer, r *results.Run, subject string, width int, colour bool) error {
	text := &textWriter{w: w, width: width}
	contests := results.Compete(r.Cells(), subject, decisive(r.Cells())...)
	for i := range contests {
		for _, line := range contestLines(&contests[i], width, colour) {
			text.verbatim("", line)
		}
		text.line("")
	}
	if n, of := r.Noisy(); n > 0 {
		text.wrap("", "  ", fmt.Sprintf("%s of which samples are noisy, %d of %d in all: %s",
			results.NoisyMark, n, of, noisyMeans))
		text.line("")
	}
	for i := 1; len(contests) > 0 && i < len(contests[0].Engines); i++ {
		other, open := contests[0].Engines[i], 0
		for _, verdict := range []string{results.Improved, results.Worsened} {
			head := fmt.Sprintf("Where %s does %s than %s:", subject, verdict, other)
			for _, c := range contests {
				if where := c.Where(i, verdict); where != "" {
					if head != "" {
						text.wrap("", "", head)
						head = ""
					}
					text.wrap("  ", "    ", c.Figure()+": "+where)
				}
			}
		}
		for _, c := range contests {
			open += c.Open(i)
		}
		if open > 0 {
			text.wrap("", "  ", fmt.Sprintf("Figures that do not tell %s and %s apart (~): %d", subject,
				other, open))
		}
	}
	return text.err
}
