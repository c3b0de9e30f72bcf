package peers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// Reference is the engine that [Table] compares the others with.
const Reference = "mvcc"

// A Table has the times of an operation of several engines under several
// workloads, with what each isolates. The zero Table is empty.
type Table struct {
	head []string    // what the results say of themselves
	run  results.Run // all samples
}

// Add adds the results of a run, as mvccbench writes them. An error says what in the
// file called name is wrong, and where.
func (t *Table) Add(name string, r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	in, err := results.Parse(name, bytes.NewReader(text))
	if err != nil {
		return err
	}
	run, err := in.Run()
	if err != nil {
		return err
	}
	for _, s := range run.Samples {
		if _, ok := s.Metrics[nsPerOp]; !ok {
			return fmt.Errorf("%s: %s: expected ns/op, as mvccbench writes it", name, s.Title)
		}
	}
	t.run.Samples = append(t.run.Samples, run.Samples...)
	for line := range strings.Lines(string(text)) { // the comments with which it begins
		comment, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "# ")
		if !ok {
			break
		}
		// The table says itself what is skipped; the header is for programs.
		if !strings.HasPrefix(comment, "skipped: ") && !strings.HasPrefix(comment, "header: ") {
			t.head = append(t.head, comment)
		}
	}
	if run.Header.CPU != "" {
		t.head = append(t.head, run.Header.CPU)
	}
	return nil
}

// The metrics that the table is made of.
const (
	nsPerOp         = "ns/op"
	auditsPerSecond = "audits/s"
)

// A grid is a table to be written.
type grid struct {
	titles  []string // workloads, in the order in which they first occur,
	engines []string // as are the engines
	threads []int
	cells   map[results.Key]*results.Cell
}

func (t *Table) grid() *grid {
	g := &grid{cells: map[results.Key]*results.Cell{}}
	for _, c := range t.run.Cells() {
		g.cells[c.Key] = c
		g.titles = appendNew(g.titles, c.Title)
		g.engines = appendNew(g.engines, c.Engine)
		g.threads = appendNew(g.threads, c.Threads)
	}
	slices.Sort(g.threads)
	return g
}

// values returns the figures of unit of a cell, if there are any.
func (g *grid) values(title, engine string, threads int, unit string) []float64 {
	if c := g.cells[results.Key{Title: title, Engine: engine, Threads: threads}]; c != nil {
		return c.Values(unit)
	}
	return nil
}

// noisy returns the mark of a figure of some engines, if one of them has noisy samples.
func (g *grid) noisy(title string, threads int, engines ...string) string {
	for _, engine := range engines {
		c := g.cells[results.Key{Title: title, Engine: engine, Threads: threads}]
		if c != nil && c.Noisy() > 0 {
			return results.NoisyMark
		}
	}
	return ""
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// WriteMarkdown writes the table, what it was measured with, and what is missing
// in it and why. It is to be read as it is, too.
func (t *Table) WriteMarkdown(w io.Writer) error {
	if len(t.run.Samples) == 0 {
		return errors.New("peers: an empty table")
	}
	g := t.grid()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "Time of an operation in ns, wall time divided by committed operations, at %s "+
		"goroutines: median (smallest-largest) of the samples,\n"+
		"and the median divided by that of %s.\n\n", numbers(g.threads), Reference)
	header := []string{"workload", "engine", "isolation"}
	for _, n := range g.threads {
		header = append(header, fmt.Sprintf("%d: ns/op", n), "/ "+Reference)
	}
	rows := [][]string{header}
	for _, title := range g.titles {
		name := title
		for _, engine := range g.engines {
			if row := g.row(name, title, engine); row != nil {
				rows, name = append(rows, row), ""
			}
		}
	}
	names := func(column int) bool { return column < 3 }
	if err := results.Markdown.Write(b, rows, names); err != nil {
		return err
	}
	for i, n := range t.notes(g) {
		if i == 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "- %s\n", n)
	}
	fmt.Fprintf(b, "\nMeasured by:\n\n")
	for _, line := range append(slices.Clone(t.head), versions(g.engines)...) {
		fmt.Fprintf(b, "    %s\n", line)
	}
	return b.Flush()
}

func numbers(list []int) string {
	var texts []string
	for _, n := range list {
		texts = append(texts, strconv.Itoa(n))
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

// row returns the line of an engine, nil if it has no figures: the notes say why.
func (g *grid) row(name, title, engine string) []string {
	row, measured := []string{name, engine, isolation(title, engine)}, false
	for _, n := range g.threads {
		ns := g.values(title, engine, n, nsPerOp)
		if ns == nil {
			row = append(row, "-", "")
			continue
		}
		text := figure(results.Median(ns)) + g.noisy(title, n, engine)
		if len(ns) > 1 {
			text += fmt.Sprintf(" (%s-%s)", figure(slices.Min(ns)), figure(slices.Max(ns)))
		}
		ratio := ""
		if of := g.values(title, Reference, n, nsPerOp); of != nil {
			ratio = figure(results.Median(ns)/results.Median(of)) + g.noisy(title, n, engine, Reference)
		}
		row, measured = append(row, text, ratio), true
	}
	if !measured {
		return nil
	}
	return row
}

// isolation returns what engine isolates in the results called title.
func isolation(title, engine string) string {
	if engine == Reference && strings.Contains(title, "/isolation=snapshot") {
		return "snapshot"
	}
	p, ok := ByName(engine)
	if !ok {
		return "not known"
	}
	return p.Isolation
}

// notes returns why figures are missing and what else should be known of them.
func (t *Table) notes(g *grid) []string {
	var notes []string
	for _, engine := range g.engines {
		p, _ := ByName(engine)
		if p.Caveat != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", engine, p.Caveat))
		}
		var reasons []string
		lacks := map[string][]string{} // workloads by reason
		for _, w := range bench.Workloads() {
			base, _, _ := strings.Cut(w.Title(), "/")
			measured := slices.ContainsFunc(g.titles, func(title string) bool {
				b, _, _ := strings.Cut(title, "/")
				return b == base
			})
			if why, ok := p.Runs(w); !ok && measured {
				reasons = appendNew(reasons, why)
				lacks[why] = appendNew(lacks[why], base)
			}
		}
		for _, why := range reasons {
			notes = append(notes, fmt.Sprintf("%s without %s: %s.", strings.Join(lacks[why], ", "), engine,
				why))
		}
		for _, title := range g.titles {
			var at []int
			for _, n := range g.threads {
				audits := g.values(title, engine, n, auditsPerSecond)
				if len(audits) > 0 && results.Median(audits) == 0 {
					at = append(at, n)
				}
			}
			if len(at) > 0 {
				notes = append(notes, fmt.Sprintf("%s with %s: in most samples with threads=%s not a single "+
					"audit came to its end, so that its figure is one without them.", title, engine, numbers(at)))
			}
		}
	}
	if n, of := t.run.Noisy(); n > 0 {
		notes = append(notes, fmt.Sprintf("%s: of noisy samples, %d of %d in all: other programs or the "+
			"host had enough of the processors meanwhile to explain a difference.", results.NoisyMark, n, of))
	}
	return notes
}

// versions returns the versions of the peers among engines that this program was
// built with.
func versions(engines []string) []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var list []string
	for _, engine := range engines {
		p, _ := ByName(engine)
		i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool {
			return p.Module != "" && m.Path == p.Module
		})
		if i >= 0 {
			list = append(list, fmt.Sprintf("%s %s", info.Deps[i].Path, info.Deps[i].Version))
		}
	}
	return list
}

// figure writes v with three significant digits, but all of those before the
// point and no more than three after it.
func figure(v float64) string {
	switch {
	case v < 0.1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
