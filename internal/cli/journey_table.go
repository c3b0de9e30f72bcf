package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/journey"
	"github.com/mvccmap/mvccmap/internal/results"
)

// print writes a table for each workload: the steps that were measured, and beside each figure
// that of the post.
func (r *journeyRun) print(w io.Writer) error {
	figures := map[results.Key]string{}
	for _, c := range r.run.Cells() {
		c.Title = c.Samples[0].Workload
		figures[c.Key] = brief.Number(results.Median(c.Values("ops/s")))
	}
	markdown := r.Format == "markdown"
	text := &textWriter{w: w, width: terminalWidth(w)}
	for i, workload := range journey.Workloads() {
		rows := r.rows(i, workload.Name, figures)
		if len(rows) == 1 {
			continue
		}
		text.line(fmt.Sprintf("%s, %d %% puts to 4 keys: operations a second by the number of "+
			"goroutines.",
			sentence(workload.Name), 100-workload.Params.ReadPct))
		text.line("")
		form := results.Plain
		if markdown {
			form = results.Markdown
		}
		if err := form.Write(w, rows, func(column int) bool { return column == 0 }); err != nil {
			return writing("table", err)
		}
		text.line("")
	}
	text.line("post: the figures of the post, of Java on its author's machine. ours: the same step " +
		"of this program, median; an operation that has not committed is not counted.")
	text.line("")
	h := r.run.Header
	how := append(results.DescribeMachine(h), h.CPU, fmt.Sprintf(
		"seed %d, %d x %v after %v of warm-up", h.Seed, h.Count, h.Duration, h.Warmup))
	if mark := r.run.Mark(); mark != "" {
		how = append(how, "NOTE: "+mark)
	}
	text.measuredBy(markdown, how)
	return text.err
}

// rows returns the table of one workload. A step without any figure is left out.
func (r *journeyRun) rows(i int, workload string, figures map[results.Key]string) [][]string {
	head := []string{"step"}
	for _, n := range r.Threads {
		head = append(head, fmt.Sprintf("%d post", n), "ours")
	}
	rows := [][]string{head}
	for _, step := range r.steps {
		row := []string{step.Name}
		measured := false
		for _, n := range r.Threads {
			post := "-"
			if at := slices.Index(journey.Threads(), n); at >= 0 && step.Post[i][at] > 0 {
				post = brief.Number(step.Post[i][at])
			}
			ours, ok := figures[results.Key{Title: workload, Engine: step.Name, Threads: n}]
			measured = measured || ok
			row = append(row, post, cmp.Or(ours, "-"))
		}
		if measured {
			rows = append(rows, row)
		}
	}
	return rows
}
