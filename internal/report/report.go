package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/results"
)

// IndexFile is the page with all charts.
const IndexFile = "index.html"

// ErrEmpty says that a run has no samples to draw.
var ErrEmpty = errors.New("the run has no samples to draw")

// Write draws a run into the folder dir, which it makes if need be, and returns
// the path of the page. The page contains the charts and refers to no other file;
// the charts are beside it as files, too. Files of the same names are replaced,
// others left alone. Nothing is written if something cannot be drawn.
func Write(dir string, r *results.Run) (index string, err error) {
	files, err := Draw(r)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o666); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, IndexFile), nil
}

// A File is what [Draw] makes: a chart, or the page.
type File struct {
	Name    string
	Content []byte
}

// Draw draws a run. The last file is the page.
func Draw(r *results.Run) ([]File, error) {
	if len(r.Samples) == 0 {
		return nil, ErrEmpty
	}
	sections, err := plan(r)
	if err != nil {
		return nil, err
	}
	var files []File
	p := page{Header: r.Header, Mark: r.Mark(), Facts: results.Describe(r.Header), Machine: machine(r.Header)}
	names := map[string]int{}
	for _, s := range sections {
		ps := pageSection{Workload: s.Workload, ID: "workload-" + fileName(s.Workload, "charts"), Table: medians(r, s.Workload)}
		for _, c := range s.Charts {
			if c = c.drawable(); len(c.Series) == 0 {
				continue
			}
			if names[c.File]++; names[c.File] > 1 {
				c.File += fmt.Sprintf("-%d", names[c.File])
			}
			svg, err := c.svg()
			if err != nil {
				return nil, err
			}
			files = append(files, File{c.File + ".svg", svg})
			ps.Charts = append(ps.Charts, pageChart{c.Title, c.Caption, c.File + ".svg", template.HTML(inline(svg))})
		}
		p.Sections = append(p.Sections, ps)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(files, File{IndexFile, b.Bytes()}), nil
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

type page struct {
	Header   results.Header
	Machine  string
	Mark     string
	Facts    []string
	Sections []pageSection
}

type pageSection struct {
	Workload, ID string
	Charts       []pageChart
	Table        table
}

type pageChart struct {
	Title, Caption, File string
	SVG                  template.HTML
}

// inline returns a chart as part of a page, which has style sheet and background.
func inline(svg []byte) string { return strings.Replace(string(svg), style+backdrop, "", 1) }

func machine(h results.Header) string {
	cpu := h.CPU
	if cpu == "" {
		cpu = "unknown processor"
	}
	parts := []string{cpu}
	if h.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d CPUs", h.CPUs))
	}
	parts = append(parts, fmt.Sprintf("GOMAXPROCS %d", h.GOMAXPROCS))
	if h.Go != "" {
		parts = append(parts, h.Go)
	}
	return strings.Join(append(parts, h.GOOS+"/"+h.GOARCH), ", ")
}

// Program returns the name of the program that measured.
func (p page) Program() string {
	name, _, _ := strings.Cut(p.Header.Program, " ")
	return cmp.Or(name, "mvccbench")
}

// When returns when the run started, "" if it is not known.
func (p page) When() string {
	if p.Header.Started.IsZero() {
		return ""
	}
	return p.Header.Started.UTC().Format("2 January 2006, 15:04 MST")
}

// Style is the style sheet of the charts.
func (p page) Style() template.CSS {
	return template.CSS(strings.TrimSuffix(strings.TrimPrefix(style, "<style>"), "</style>"))
}

// Date returns when the run started, for machines.
func (p page) Date() string { return p.Header.Started.UTC().Format(time.RFC3339) }

// table has the medians of a workload.
type table struct {
	Head []string
	Rows [][]string
}

// tableUnits are the columns of the tables.
var tableUnits = []string{"ops/s", "ns/op", "p50-ns", "p99-ns", "p99.9-ns", results.ResponsePrefix + "p99-ns", "aborts/op", "B/op", "allocs/op"}

func medians(r *results.Run, workload string) table {
	var cells []*results.Cell
	for _, c := range r.Cells() {
		if c.Samples[0].Workload == workload {
			cells = append(cells, c)
		}
	}
	units := slices.DeleteFunc(slices.Clone(tableUnits), func(unit string) bool {
		return !slices.ContainsFunc(cells, func(c *results.Cell) bool { return len(c.Values(unit)) > 0 })
	})
	t := table{Head: append([]string{"benchmark", "engine", "goroutines", "samples"}, units...)}
	for _, c := range cells {
		row := []string{c.Title, c.Engine, fmt.Sprint(c.Threads), fmt.Sprint(len(c.Samples))}
		for _, unit := range units {
			row = append(row, median(c, unit))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func median(c *results.Cell, unit string) string {
	v := c.Values(unit)
	if len(v) == 0 {
		return "–"
	}
	m, _ := results.MetricByUnit(unit)
	middle := results.Median(v)
	if unit == "ops/s" {
		return groups(fmt.Sprintf("%.0f", middle))
	}
	return groups(m.Format(middle))
}

// groups puts thin spaces between groups of three digits before the point.
func groups(s string) string {
	whole, rest, _ := strings.Cut(s, ".")
	var b strings.Builder
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteRune('\u2009')
		}
		b.WriteRune(r)
	}
	if rest != "" {
		b.WriteString("." + rest)
	}
	return b.String()
}

func escape(s string) string { return html.EscapeString(s) }
