package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// Unset is the value of a number in [Params] that a workload does not have.
const Unset = -1

// Params are what can be varied in a [Workload]. The first three are [Unset]
// where they do not apply or are not given, the others zero.
type Params struct {
	Keys    int     // number of keys
	ReadPct int     // percentage of operations that read
	Theta   float64 // skew of the Zipf distribution over the keys; 0 is uniform

	TxnSize   int       // reads and writes of a transaction
	ValueSize ValueSize // bytes of a value
}

// NoParams has no parameter set; it is where to start when one is to be varied.
var NoParams = Params{Keys: Unset, ReadPct: Unset, Theta: Unset}

const (
	manyKeys   = 100_000_000
	maxTxnSize = 1_000_000 // reads and writes of a transaction
)

// words are values that are 64-bit numbers.
var words = ValueSize{WordSize, WordSize}

// A param is one of [Params], called as its [Label] is.
type param struct {
	key string
	// value returns it as it is given on the command line; ok is false if it is not set.
	value func(p Params) (value string, ok bool)
	// limits says which values w takes, in words.
	limits func(w Workload) string
	// take sets it in w to what it is in p, and refuses that if it is out of range.
	take func(w *Workload, p Params) error
}

var params = []param{
	{
		"keys",
		func(p Params) (string, bool) { return strconv.Itoa(p.Keys), p.Keys != Unset },
		func(w Workload) string { return fmt.Sprintf("%d to %d", w.minKeys, w.maxKeys) },
		func(w *Workload, p Params) error {
			w.Params.Keys = p.Keys
			return w.refuse(p.Keys < w.minKeys || p.Keys > w.maxKeys,
				"from %d to %d keys, not %d", w.minKeys, w.maxKeys, p.Keys)
		},
	},
	{
		"read-pct",
		func(p Params) (string, bool) { return strconv.Itoa(p.ReadPct), p.ReadPct != Unset },
		func(Workload) string { return "0 to 100" },
		func(w *Workload, p Params) error {
			w.Params.ReadPct = p.ReadPct
			return w.refuse(p.ReadPct < 0 || p.ReadPct > 100,
				"a read percentage from 0 to 100, not %d", p.ReadPct)
		},
	},
	{
		"theta",
		func(p Params) (string, bool) { return fmt.Sprint(p.Theta), p.Theta != Unset },
		func(Workload) string { return "0 to 10" },
		func(w *Workload, p Params) error {
			w.Params.Theta = p.Theta
			good := p.Theta >= 0 && p.Theta <= 10 // NaN is not
			return w.refuse(!good, "a theta from 0 to 10, not %v", p.Theta)
		},
	},
	{
		"txn-size",
		func(p Params) (string, bool) { return strconv.Itoa(p.TxnSize), p.TxnSize != 0 },
		func(Workload) string { return fmt.Sprintf("1 to %d", maxTxnSize) },
		func(w *Workload, p Params) error {
			w.Params.TxnSize = p.TxnSize
			return w.refuse(p.TxnSize < 1 || p.TxnSize > maxTxnSize,
				"transactions of 1 to %d keys, not %d", maxTxnSize, p.TxnSize)
		},
	},
	{
		"value-size",
		func(p Params) (string, bool) { return p.ValueSize.String(), p.ValueSize != ValueSize{} },
		func(Workload) string { return fmt.Sprintf("%d to %d", WordSize, MaxValueSize) },
		func(w *Workload, p Params) error {
			v := p.ValueSize
			w.Params.ValueSize = v
			return w.refuse(v.Min < WordSize || v.Max < v.Min || v.Max > MaxValueSize,
				"values of %d to %d bytes, not %v", WordSize, MaxValueSize, v)
		},
	},
}

// A Workload says what one operation is. The built-in ones come from
// [Workloads]; [Workload.With] varies them.
type Workload struct {
	Name   string // as in --workload
	Doc    string // a few sentences: keys, operation, what is verified
	Params Params // with Unset, or zero, for those that do not apply

	kind             kind
	like             string  // an engine that lacks the workload of this name lacks this one too
	minKeys, maxKeys int     // bounds of Params.Keys if it applies
	owned            bool    // each goroutine has keys of its own
	multiKey         bool    // its operations are transactions over several keys
	ordered          bool    // it reads ranges of keys, in their order
	kept             bool    // what is committed is kept on disk
	audits           bool    // what HasAudits returns
	restless         bool    // there is no pause between its audits, whatever the interval
	memory           bool    // what ReportsMemory returns
	operation        string  // what all its operations are, "" if they are gets and puts
	threads          int     // what Threads returns
	rate             float64 // what Rate returns

	file      *workfile.File // what describes it; nil if it is written in Go
	sum       string         // tells files apart that the program does not have within it
	usual     Params         // of a file: its defaults
	isolation Isolation      // what the file says, or ""
	trace     *trace         // what is repeated; nil if none is
}

// level returns the level of isolation of read-write transactions, which is asked for unless asked is
// empty.
func (w Workload) level(asked Isolation) Isolation { return cmp.Or(asked, w.isolation, Serializable) }

// Level returns the level of isolation of read-write transactions.
func (c Config) Level() Isolation { return c.Workload.level(c.Isolation) }

// operationNames returns the names of the operations that are measured apart, of a workload that
// has several.
func (w Workload) operationNames() []string {
	var names []string
	switch {
	case w.trace != nil:
		names = w.trace.kinds
	case w.file != nil && w.Params.TxnSize <= 1:
		names = namesOf(w.file)
	}
	if len(names) < 2 {
		return nil
	}
	return names
}

// Threads returns the number of goroutines that w is meant for, or 0 if it is
// meant for any.
func (w Workload) Threads() int { return w.threads }

// Rate returns the operations a second, of all goroutines together, that w is
// meant to be offered, or 0 if it is meant for as many as the engine serves.
func (w Workload) Rate() float64 { return w.rate }

// HasAudits reports whether an auditor runs beside the workload's goroutines.
func (w Workload) HasAudits() bool { return w.audits }

// Tables returns the names of the tables of a workload that has several.
func (w Workload) Tables() []string {
	switch w.kind {
	case orders:
		return []string{"customers", "items", "orders"}
	case script:
		return tableNames(w.file)
	}
	return nil
}

// ReportsMemory reports whether the workload's measurements have a [Memory].
func (w Workload) ReportsMemory() bool { return w.memory }

// has reports whether w has a parameter, and given whether p gives it.
func (w Workload) has(param param, p Params) (has, given bool) {
	_, has = param.value(w.Params)
	_, given = param.value(p)
	return has, given
}

// Takes reports whether w has one of the parameters of p that are given.
func (w Workload) Takes(p Params) bool {
	return slices.ContainsFunc(params, func(param param) bool {
		has, given := w.has(param, p)
		return has && given
	})
}

// With returns w with those of the parameters p that are given and that it has. A
// value out of range is an error.
func (w Workload) With(p Params) (Workload, error) {
	for _, param := range params {
		if has, given := w.has(param, p); has && given {
			if err := param.take(&w, p); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// refuse returns an error that says what w takes, if bad.
func (w *Workload) refuse(bad bool, takes string, args ...any) error {
	if !bad {
		return nil
	}
	return fmt.Errorf("workload %s takes %s", w.Name, fmt.Sprintf(takes, args...))
}

// Range says which values of a parameter [Workload.With] takes, in words, as in "1
// to 4"; the parameter is called as its [Label] is. It is empty if w does not have
// the parameter.
func (w Workload) Range(key string) string {
	for _, p := range params {
		if _, has := p.value(w.Params); has && p.key == key {
			return p.limits(w)
		}
	}
	return ""
}

// Title returns the name in the form of a Go benchmark: "ReadHeavy" for "read-heavy".
func (w Workload) Title() string {
	var b strings.Builder
	for part := range strings.SplitSeq(w.Name, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// keyCount returns the number of keys the map holds for a number of goroutines.
func (w Workload) keyCount(threads int) int {
	switch w.kind {
	case plain, script:
		l, err := newLayout(w)
		if err != nil {
			return 0
		}
		return l.total
	case replay:
		return len(w.trace.keys)
	}
	if w.owned {
		return threads * w.ownKeys()
	}
	return w.Params.Keys
}

// Bytes returns how many bytes the keys and values of the run's map have at least. To hold them
// takes more.
func (c Config) Bytes() float64 {
	if c.Workload.kind == script {
		return c.Workload.scriptBytes()
	}
	size := c.Workload.valueSize()
	return float64(c.Workload.keyCount(c.Threads)) * (WordSize + float64(size.Min+size.Max)/2)
}

// ownKeys returns how many keys of its own a goroutine has: whole batches, at least one.
func (w Workload) ownKeys() int {
	size := max(w.Params.TxnSize, 1)
	return max(w.Params.Keys/size, 1) * size
}

// valueSize returns the size of the values.
func (w Workload) valueSize() ValueSize {
	if w.kind == plain {
		return w.plainSize()
	}
	if w.kind == replay {
		return w.trace.size(w)
	}
	if w.Params.ValueSize == (ValueSize{}) {
		return words
	}
	return w.Params.ValueSize
}
