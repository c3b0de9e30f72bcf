package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// A Source is one side of a comparison.
type Source struct {
	Label   string // as it was named
	Results []*benchfmt.Result
	Units   benchfmt.UnitMetadataMap

	// Instrumented says how the run was instrumented, "" if it was not.
	Instrumented string
	// Runs is how many runs the results are of, one after the other in a file; 0 if that is not
	// known.
	Runs int
	// Doubts are reasons why results may be missing: a run did not come to its end, or nothing says
	// that it did.
	Doubts []string
	// Noisy is how many of the results are of noisy samples.
	Noisy int
	// Warnings are remarks for the reader of a comparison: the doubts, and lines that could not
	// be read.
	Warnings []string

	*ends
}

// An Input is results as they were found.
type Input struct {
	label string // as it was named
	run   *Run   // nil if text is in the Go benchmark format
	text  []byte
}

// Load returns the results in the file called name, in the Go benchmark format or as a record in
// JSON.
func Load(name string) (*Input, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, bytes.NewReader(b))
}

// Parse is [Load] of the text of r, which is called name.
func Parse(name string, r io.Reader) (*Input, error) {
	b, err := io.ReadAll(r)
	if err == nil {
		b, err = PlainText(b)
	}
	if err == nil && !bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) {
		return &Input{label: name, text: b}, nil
	}
	var run *Run
	if err == nil {
		run, err = Read(bytes.NewReader(b))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Input{label: name, run: run}, nil
}

// Source returns the results as one side of a comparison.
func (in *Input) Source() (*Source, error) {
	if in.run != nil {
		return in.run.Source(in.label)
	}
	return parseBench(in.label, in.text)
}

// Run returns the record, or an error if the results are in the Go benchmark format.
func (in *Input) Run() (*Run, error) {
	if in.run == nil {
		return nil, fmt.Errorf("%s: expected a record in JSON, as run -o FILE.json writes it", in.label)
	}
	return in.run, nil
}

// Source returns r, under the name label, as it would come out of a file in the
// Go benchmark format, so that a comparison does not depend on the format.
func (r *Run) Source(label string) (*Source, error) {
	var b bytes.Buffer
	if err := WriteBench(&b, r); err != nil {
		return nil, err
	}
	return parseBench(label, b.Bytes())
}

// PlainText returns text without the byte order mark that some editors and shells put before it,
// which would spoil the first line.
func PlainText(b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte{0xFE, 0xFF}) || bytes.HasPrefix(b, []byte{0xFF, 0xFE}) {
		return nil, errors.New("it is in UTF-16; expected UTF-8, without a byte order mark")
	}
	return bytes.TrimPrefix(b, []byte("\uFEFF")), nil
}

func parseBench(label string, b []byte) (*Source, error) {
	s := &Source{Label: label}
	r := benchfmt.NewReader(bytes.NewReader(b), label)
	var bad []string
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			s.Results = append(s.Results, rec.Clone())
			if how := rec.GetConfig(instrumentedKey); how != "" {
				s.Instrumented = how
			}
		case *benchfmt.SyntaxError:
			bad = append(bad, rec.Error())
		}
	}
	err := r.Err()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	if len(s.Results) == 0 {
		why := ""
		if len(bad) > 0 {
			why = ": " + bad[0]
		}
		return nil, fmt.Errorf("%s: there are no results in it, neither in the Go benchmark format nor "+
			"as a record in JSON%s", label, why)
	}
	s.Units = r.Units()
	if s.ends, err = endsOf(b); err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	s.Runs, s.Noisy = s.begun, s.noisy
	for _, doubt := range s.doubts() {
		s.Doubts = append(s.Doubts, label+": "+doubt)
	}
	s.Warnings = append(s.Warnings, s.Doubts...)
	if len(bad) > 0 {
		s.Warnings = append(s.Warnings, bad...)
		s.Doubts = append(s.Doubts, fmt.Sprintf("%s: %d lines could not be read", label, len(bad)))
	}
	return s, nil
}

// config returns the value that all results of s have for a configuration key, or
// all their values, separated by commas.
func (s *Source) config(key string) string {
	var values []string
	for _, r := range s.Results {
		values = appendNew(values, r.GetConfig(key))
	}
	return strings.Join(values, ", ")
}
