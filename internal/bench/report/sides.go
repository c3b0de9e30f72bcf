package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// Sides are the two runs of a comparison.
type Sides struct {
	Old, New   *results.Run
	Comparison *results.Comparison // with its verdict
	Changes    []Change            // of profiles; none if they were not taken
}

var (
	//go:embed sides.html
	sidesText string

	sidesTemplate = template.Must(template.New("sides").Parse(sidesText))
)

// WriteComparison writes the page of a comparison to the named file, which it replaces if there is
// one: the verdict, the changes, and the charts of both sides beside each other.
func WriteComparison(name string, s Sides) error {
	both := s.both()
	if len(both.Samples) == 0 {
		return ErrEmpty
	}
	program, _, _ := strings.Cut(both.Header.Program, " ")
	p := Page{Saved: results.Summary("", both)}
	p.Title = fmt.Sprintf("%s: %s and %s", program, s.Comparison.Old, s.Comparison.New)
	for part, to := range map[string]*template.HTML{"top": &p.Top, "more": &p.More} {
		var b bytes.Buffer
		if err := sidesTemplate.ExecuteTemplate(&b, part, s); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		*to = template.HTML(b.String())
	}
	b, err := p.HTML()
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o666)
}

// Open reports whether the page shows a table at once: it was judged, or some row has changed.
func (s Sides) Open(t *results.Table) bool {
	n := t.Tally()
	return slices.Contains(s.Comparison.Verdict.Units, t.Unit) || n.Improved+n.Worse > 0
}

// both returns the samples of both sides as one run: each engine is two, the old one and the new.
func (s Sides) both() *results.Run {
	r := &results.Run{Header: s.New.Header, Outcome: s.New.Outcome}
	r.Header.Notes = slices.Concat(r.Header.Notes, []string{
		fmt.Sprintf("old: %s, %s", s.Comparison.Old, s.Old.Header.Program),
		fmt.Sprintf("new: %s, %s", s.Comparison.New, s.New.Header.Program)})
	add := func(sample results.Sample, side string) {
		sample.Engine += " " + side
		r.Samples = append(r.Samples, sample)
	}
	for i := range s.Old.Samples {
		add(s.Old.Samples[i], "old")
		add(s.New.Samples[i], "new")
	}
	r.Outcome.Done, r.Outcome.Of = 2*r.Outcome.Done, 2*r.Outcome.Of
	return r
}
