package cli

import (
	"fmt"
	"io"
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
	if len(c.Engines) == 1 {
		for i := range rows {
			rows[i] = rows[i][:3]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s is better", strings.TrimSuffix(c.Unit, "-ns"), c.Better)
	if left := (all - len(rows[0])) / 2; left > 0 && len(c.Engines) > 1 {
		fmt.Fprintf(&b, " (no room for %d more)", left)
	}
	b.WriteByte('\n')
	_ = results.WriteTable(&b, rows, func(column int) bool { return column == 0 })
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, round := range c.Rounds {
		line, done := &lines[i+2], 0
		for _, result := range round.Results {
			word := c.Word(result)
			if at := strings.Index((*line)[done:], word); colour && result.Decided && at >= 0 {
				painted := paint(result) + word + reset
				*line = (*line)[:done+at] + painted + (*line)[done+at+len(word):]
				done += at + len(painted)
			}
		}
	}
	return lines
}

// paint begins the colour of a result: green for better, red for worse.
func paint(r results.Result) string {
	if r.Factor >= 1 {
		return green
	}
	return red
}

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
	for _, o := range results.Decided(contests) {
		for _, part := range []struct {
			head  string
			lines []string
		}{{"does better than", o.Better}, {"does worse than", o.Worse}} {
			if len(part.lines) > 0 {
				text.wrap("", "", fmt.Sprintf("Where %s %s %s:", o.Engine, part.head, o.Other))
			}
			for _, line := range part.lines {
				text.wrap("  ", "    ", line)
			}
		}
		if o.Open > 0 {
			text.wrap("", "  ", fmt.Sprintf("Figures that do not tell %s and %s apart (~): %d", o.Engine,
				o.Other, o.Open))
		}
	}
	return text.err
}
