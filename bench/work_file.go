package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// fileWorkloads are those that are shipped as files, which are read once.
var fileWorkloads = sync.OnceValue(func() (list []Workload) {
	for _, f := range workfile.Shipped() {
		w := workloadOf(f)
		w.Doc += " " + w.verified() + " Source: " + f.Source + "."
		list = append(list, w)
	}
	return list
})

// ReadWorkload reads a workload from a file, in the format that docs/workloads.md describes, and
// the trace that it names, if it does; or, if its name does not end in .json, from a trace. An error
// says in which line something is wrong, and what was expected.
func ReadWorkload(name string) (Workload, error) {
	if !strings.HasSuffix(name, ".json") {
		return traceWorkload(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return Workload{}, err
	}
	f, err := workfile.Parse(name, data)
	if err != nil {
		return Workload{}, err
	}
	if _, taken := WorkloadByName(f.Name); taken {
		return Workload{}, fmt.Errorf("%s: name: expected another than %q, which the program has already",
			name, f.Name)
	}
	w := workloadOf(f)
	w.sum = f.Sum
	if f.Trace != nil {
		from := f.Trace.File
		if !filepath.IsAbs(from) {
			from = filepath.Join(filepath.Dir(name), from)
		}
		if w.trace, err = readTrace(from); err != nil {
			return Workload{}, err
		}
		w.trace.order = f.Trace.Order
		w.sum += w.trace.sum
		return w, nil
	}
	_, err = newLayout(w)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return w, err
}

// workloadOf returns the workload that f describes.
func workloadOf(f *workfile.File) Workload {
	w := Workload{
		Name: f.Name, Doc: f.Doc, Params: NoParams, kind: script, file: f,
		minKeys: 1, maxKeys: manyKeys, isolation: Isolation(f.Isolation),
	}
	p := f.Params
	if p.Keys > 0 {
		w.Params.Keys = p.Keys
	}
	w.Params.Theta = max(p.Theta, Unset)
	w.Params.TxnSize = p.TxnSize
	w.Params.ValueSize = ValueSize{p.ValueSize.Min, p.ValueSize.Max}
	switch {
	case f.Trace != nil:
		w.kind = replay
		if w.Params.ValueSize == (ValueSize{}) {
			w.Params.ValueSize = replayParams.ValueSize
		}
		w.Doc += " " + traceVerified
	case f.Plain():
		w.kind, w.ordered = plain, f.Tables[0].Ordered
	default:
		w.audits = f.Audited()
	}
	w.usual = w.Params
	return w
}

// verified says what is verified of a workload of a file.
func (w Workload) verified() string {
	if w.kind == plain {
		return "Verified as the gets and puts above, with every byte of the values."
	}
	s := "Verified: values as those of gets and puts; each number is what the committed operations " +
		"make of it, and each record there or not"
	for i := range w.file.Invariants {
		v := &w.file.Invariants[i]
		s += fmt.Sprintf("; %s %s", map[bool]string{false: "in each snapshot", true: "at the end"}[v.AtEnd], v.Text)
	}
	return s + "."
}

// plainSize returns the size of the values of a plain file.
func (w Workload) plainSize() ValueSize {
	size := w.file.Tables[0].Size
	switch {
	case !size.Param:
		return ValueSize{size.Min, size.Max}
	case w.Params.ValueSize == (ValueSize{}):
		return words
	}
	return w.Params.ValueSize
}

// sizeTheta returns the skew of the sizes of the values of a table.
func (w Workload) sizeTheta(size workfile.Size) float64 {
	if size.Param && w.Params.ValueSize != w.usual.ValueSize {
		return 0 // what a flag says is uniform
	}
	return size.Theta
}

// needs says what the sessions of an engine need beside Get and Put, of a plain workload.
func (w Workload) needs() (batch, modify, ranges, grows bool) {
	batch = w.Params.TxnSize > 1 || !w.file.OneKey()
	for i := range w.file.Operations {
		for _, s := range w.file.Operations[i].Steps {
			modify = modify || s.Kind == workfile.Modify
			ranges = ranges || s.Kind == workfile.Range
			grows = grows || s.Kind == workfile.Insert
		}
	}
	return batch, modify, ranges, grows
}

// runsPlain is [EngineSpec.Runs] for a plain workload and for a trace.
func (e EngineSpec) runsPlain(w Workload) (why string, ok bool) {
	var batch, modify, ranges, grows bool
	if w.kind == replay {
		grows = w.trace.writes
	} else {
		batch, modify, ranges, grows = w.needs()
	}
	lacks := func(need bool, like string) bool {
		if reason, lacks := e.Lacks[like]; lacks && need {
			why = reason
			return true
		}
		return false
	}
	// An engine that has ranges and batches has all; those of single keys say what else they do.
	return why, !(lacks(batch, "disjoint-batch") || lacks(modify && !e.OneKey, "disjoint-batch") ||
		lacks(ranges, "range-read") || lacks(grows && !e.OneKey, "free-batch"))
}

// layout is what a file asks for, with the parameters that it is run with.
type layout struct {
	records []int // by table
	total   int
}

func newLayout(w Workload) (l layout, err error) {
	vars := w.fileVars()
	for i := range w.file.Tables {
		t := &w.file.Tables[i]
		n := t.Records.Eval(vars)
		if n < 1 || n > manyKeys {
			return l, fmt.Errorf("table %s: records: expected from 1 to %d, not %d", t.Name, manyKeys, n)
		}
		l.records = append(l.records, int(n))
		l.total += int(n)
	}
	for i := range w.file.Draws {
		d := &w.file.Draws[i]
		if d.Table >= 0 {
			continue
		}
		from, to := d.From.Eval(vars), d.To.Eval(vars)
		most := int64(maxNumbers)
		if d.By == workfile.Zipf {
			most = manyKeys
		}
		if d.By == workfile.NURand && from < 0 {
			return l, fmt.Errorf("draw %s: from: expected 0 or more by nurand, not %d", d.Name, from)
		}
		if to < from || uint64(to)-uint64(from) >= uint64(most) {
			return l, fmt.Errorf("draw %s: expected from %d up to at most %d numbers, not to %d", d.Name,
				from, most, to)
		}
	}
	return l, nil
}

// IsFile reports whether name, as in --workload, is that of a file: it has a slash, or ends in
// .json, .trace or .csv.
func IsFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json") ||
		strings.HasSuffix(name, ".trace") || strings.HasSuffix(name, ".csv")
}

var errNoHarness = errors.New("bench: the harness of this workload cannot be measured alone")

// unharnessed reports whether the engine that only remembers cannot do a plain workload.
func (w Workload) unharnessed() bool {
	_, _, _, grows := w.needs()
	return grows || w.file.Tables[0].Hashed
}

// tableNames returns the names of the tables of a file.
func tableNames(f *workfile.File) (names []string) {
	for i := range f.Tables {
		names = append(names, f.Tables[i].Name)
	}
	return names
}

// scriptBytes returns how many bytes the keys, numbers and values of the tables have at least.
func (w Workload) scriptBytes() (sum float64) {
	l, err := newLayout(w)
	if err != nil {
		return 0
	}
	for i, n := range l.records {
		size := w.file.Tables[i].Size
		sum += float64(n) * (2*WordSize + float64(size.Min+size.Max)/2)
	}
	return sum
}
