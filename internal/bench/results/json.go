package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// document is a record as it is written.
type document struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Run
}

// Write writes r as JSON.
func Write(w io.Writer, r *Run) error {
	d := document{Format: Format, Version: Version, Run: *r}
	if d.Samples == nil {
		d.Samples = []Sample{}
	}
	b, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// errFormat is wrapped by the errors of [Read] that name a fault of the text, rather
// than one of reading it.
var errFormat = errors.New("not a record of results that this program can read")

// Read reads a run that [Write] has written. It is strict: an unknown field, or a
// senseless value, is an error, which says where.
func Read(r io.Reader) (*Run, error) { return read(r, true) }

// ReadNewer is [Read] of the text of a newer program: it passes over unknown fields.
func ReadNewer(r io.Reader) (*Run, error) { return read(r, false) }

func read(r io.Reader, strict bool) (*Run, error) {
	b, err := io.ReadAll(r)
	if err == nil {
		b, err = PlainText(b)
	}
	if err != nil {
		return nil, err
	}
	var head struct {
		Format  *string `json:"format"`
		Version int     `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, wrong("%s", syntax(b, err))
	}
	switch {
	case head.Format == nil || *head.Format != Format:
		return nil, wrong(`it does not say "format": %q`, Format)
	case head.Version < 1:
		return nil, wrong("it has no version")
	case head.Version < Version:
		return nil, wrong("its version is %d, and this program reads %d: its workloads did other work "+
			"under the same names; measure it again", head.Version, Version)
	case head.Version > Version:
		return nil, wrong("its version is %d, and this program reads up to %d; a newer one wrote it",
			head.Version, Version)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(b))
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(&d); err != nil {
		return nil, wrong("%s", syntax(b, err))
	}
	if err := d.Run.check(); err != nil {
		return nil, wrong("%v", err)
	}
	return &d.Run, nil
}

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errFormat, fmt.Sprintf(format, args...))
}

// syntax says in which line of b it was that err occurred, if err knows.
func syntax(b []byte, err error) string {
	at := int64(-1)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = e.Offset
	}
	if at < 0 || at > int64(len(b)) {
		return err.Error()
	}
	return fmt.Sprintf("line %d: %v", 1+bytes.Count(b[:at], []byte("\n")), err)
}

// check finds contradictions in a record.
func (r *Run) check() error {
	switch o := r.Outcome; {
	case o.Kind != Complete && o.Kind != Interrupted && o.Kind != Failed && o.Kind != Violated:
		return fmt.Errorf("outcome: unknown kind %q", o.Kind)
	case o.Done != len(r.Samples):
		return fmt.Errorf("outcome: it counts %d samples, and there are %d", o.Done, len(r.Samples))
	case o.Of < o.Done:
		return fmt.Errorf("outcome: %d samples of %d", o.Done, o.Of)
	}
	switch h := r.Header; {
	case h.Go == "" || h.GOOS == "" || h.GOARCH == "" || h.GOMAXPROCS < 1:
		return errors.New("header: it lacks the machine")
	case h.Started.IsZero():
		return errors.New("header: it lacks the time at which the run started")
	case h.Loop == "":
		return errors.New("header: it lacks the loop")
	}
	for name := range r.Profiles {
		if !profileNames.MatchString(name) {
			return fmt.Errorf("expected the name of a profile, which ends in %s, not %q", ProfileExtension,
				name)
		}
	}
	for i := range r.Samples {
		if err := r.Samples[i].check(); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return nil
}

func (s *Sample) check() error {
	switch {
	case s.Workload == "" || s.Title == "" || s.Engine == "":
		return errors.New("it lacks workload, title or engine")
	case s.Threads < 1:
		return fmt.Errorf("%d threads", s.Threads)
	case s.Index < 0:
		return fmt.Errorf("index %d", s.Index)
	case s.Ops == 0 || s.Wall <= 0:
		return errors.New("nothing was done in it")
	case len(s.Metrics) == 0:
		return errors.New("it has no metrics")
	case len(s.Intervals) > MaxIntervals || !s.Intervals.inOrder():
		return errors.New("its intervals are not in order, or too many")
	}
	for unit, v := range s.Metrics {
		if unit == "" || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("metric %q is %v", unit, v)
		}
	}
	for i := range s.Latency {
		l := &s.Latency[i]
		if l.Kind != Service && l.Kind != Response {
			return fmt.Errorf("unknown kind of latency %q", l.Kind)
		}
		if _, err := l.decode(); err != nil {
			return err
		}
	}
	return nil
}
