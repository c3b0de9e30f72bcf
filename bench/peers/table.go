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

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// Reference is the engine that [Table] compares the others with.
const Reference = "mvcc"

// A Table has the times of an operation of several engines under several
// workloads, with what each isolates. The zero Table is empty.
type Table struct {
	head    []string // what the results say of themselves
	titles  []string // workloads, in the order in which they first occur,
	engines []string // as are the engines
	threads []int
	cells   map[cell]*samples
}

// cell is what is measured several times.
type cell struct {
	title, engine string
	threads       int
}

// samples has the figures of a cell.
type samples struct {
	nsPerOp []float64
	audits  []float64 // a second; empty if the workload has none
}

// Add adds results in the Go benchmark format, as mvccbench writes them. An error
// says what in the file called name is wrong, and where.
func (t *Table) Add(name string, r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	t.addHead(text)
	lines := benchfmt.NewReader(bytes.NewReader(text), name)
	n := 0
	cpu := ""
	for lines.Scan() {
		switch line := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return line
		case *benchfmt.Result:
			n++
			cpu = line.GetConfig("cpu")
			if err := t.add(line); err != nil {
				file, at := line.Pos()
				return fmt.Errorf("%s:%d: %w", file, at, err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%s: there are no results in it", name)
	}
	if cpu != "" {
		t.head = append(t.head, cpu)
	}
	return nil
}

// addHead keeps the comments with which results begin.
func (t *Table) addHead(text []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		comment, ok := strings.CutPrefix(lines.Text(), "# ")
		if !ok {
			return
		}
		if !strings.HasPrefix(comment, "skipped: ") { // the table says so itself
			t.head = append(t.head, comment)
		}
	}
}

func (t *Table) add(r *benchfmt.Result) error {
	base, parts := r.Name.Parts()
	c := cell{title: string(base)}
	for _, part := range parts {
		key, value, _ := strings.Cut(strings.TrimPrefix(string(part), "/"), "=")
		switch {
		case key == "engine":
			c.engine = value
		case key == "threads":
			n, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("threads=%s: expected a number", value)
			}
			c.threads = n
		case strings.HasPrefix(string(part), "/"):
			c.title += string(part)
		}
	}
	ns, ok := value(r, "ns/op")
	if c.engine == "" || c.threads == 0 || !ok {
		return fmt.Errorf("%s: expected an engine, threads and ns/op, as mvccbench writes them", r.Name)
	}
	if t.cells == nil {
		t.cells = map[cell]*samples{}
	}
	if t.cells[c] == nil {
		t.cells[c] = new(samples)
		t.titles = appendNew(t.titles, c.title)
		t.engines = appendNew(t.engines, c.engine)
		t.threads = appendNew(t.threads, c.threads)
		slices.Sort(t.threads)
	}
	s := t.cells[c]
	s.nsPerOp = append(s.nsPerOp, ns)
	if audits, ok := value(r, "audits/s"); ok {
		s.audits = append(s.audits, audits)
	}
	return nil
}

// value returns the figure of unit as it was written, before it was made into the
// base unit.
func value(r *benchfmt.Result, unit string) (v float64, ok bool) {
	factor, tidy := benchunit.Tidy(1, unit)
	v, ok = r.Value(tidy)
	return v / factor, ok
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
	if len(t.cells) == 0 {
		return errors.New("peers: an empty table")
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "Time of an operation in ns, wall time divided by committed operations, at %s goroutines: median (smallest-largest) of the samples,\n"+
		"and the median divided by that of %s.\n\n", numbers(t.threads), Reference)
	header := []string{"workload", "engine", "isolation"}
	for _, n := range t.threads {
		header = append(header, fmt.Sprintf("%d: ns/op", n), "/ "+Reference)
	}
	rows := [][]string{header}
	for _, title := range t.titles {
		name := title
		for _, engine := range t.engines {
			rows = append(rows, t.row(name, title, engine))
			name = ""
		}
	}
	if err := results.WriteMarkdown(b, rows, func(column int) bool { return column < 3 }); err != nil {
		return err
	}
	for i, n := range t.notes() {
		if i == 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "- %s\n", n)
	}
	fmt.Fprintf(b, "\nMeasured by:\n\n")
	for _, line := range append(slices.Clone(t.head), versions(t.engines)...) {
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

func (t *Table) row(name, title, engine string) []string {
	row := []string{name, engine, isolation(title, engine)}
	for _, n := range t.threads {
		s := t.cells[cell{title, engine, n}]
		if s == nil {
			row = append(row, "-", "")
			continue
		}
		m := results.Median(s.nsPerOp)
		text := figure(m)
		if len(s.nsPerOp) > 1 {
			text += fmt.Sprintf(" (%s-%s)", figure(slices.Min(s.nsPerOp)), figure(slices.Max(s.nsPerOp)))
		}
		ratio := ""
		if of := t.cells[cell{title, Reference, n}]; of != nil {
			ratio = figure(m / results.Median(of.nsPerOp))
		}
		row = append(row, text, ratio)
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
func (t *Table) notes() []string {
	var notes []string
	for _, engine := range t.engines {
		p, _ := ByName(engine)
		if p.Caveat != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", engine, p.Caveat))
		}
		for _, w := range bench.Workloads() {
			base, _, _ := strings.Cut(w.Title(), "/")
			measured := slices.ContainsFunc(t.titles, func(title string) bool {
				b, _, _ := strings.Cut(title, "/")
				return b == base
			})
			if why, ok := p.Runs(w); !ok && measured {
				notes = append(notes, fmt.Sprintf("%s without %s: %s.", base, engine, why))
			}
		}
		for _, title := range t.titles {
			var at []int
			for _, n := range t.threads {
				s := t.cells[cell{title, engine, n}]
				if s != nil && len(s.audits) > 0 && results.Median(s.audits) == 0 {
					at = append(at, n)
				}
			}
			if len(at) > 0 {
				notes = append(notes, fmt.Sprintf("%s with %s: in most samples with threads=%s not a single audit came to its end, so that its figure is one without them.", title, engine, numbers(at)))
			}
		}
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
		i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return p.Module != "" && m.Path == p.Module })
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
