package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Unset is the value of a number in [Params] that a workload does not have.
const Unset = -1

// Params are the parameters of a [Workload]. The first three are [Unset] where they do
// not apply or are not given, the others zero.
type Params struct {
	Keys    int     // number of keys
	ReadPct int     // percentage of operations that read
	Theta   float64 // skew of the Zipf distribution over the keys; 0 is uniform

	TxnSize   int       // operations of a transaction
	ValueSize ValueSize // bytes of a value
}

// NoParams has no parameter set. Start from it to vary one.
var NoParams = Params{Keys: Unset, ReadPct: Unset, Theta: Unset}

const (
	manyKeys   = 100_000_000
	maxTxnSize = 1_000_000 // operations of a transaction
)

// words are values that are numbers.
var words = ValueSize{WordSize, WordSize}

// A param is one of [Params], called as its [Label] is.
type param struct {
	key string
	// value returns the parameter as on the command line; ok is false if it is not set.
	value func(p Params) (value string, ok bool)
	// limits says which values w takes, in words.
	limits func(w Workload) string
	// take sets the parameter of w to its value in p, or returns an error if that is out of range.
	take func(w *Workload, p Params) error
}

var params = []param{
	{
		"keys",
		func(p Params) (string, bool) { return strconv.Itoa(p.Keys), p.Keys != Unset },
		func(w Workload) string { return fmt.Sprintf("%d to %d", max(w.MinKeys, 1), manyKeys) },
		func(w *Workload, p Params) error {
			w.Params.Keys = p.Keys
			least := max(w.MinKeys, 1)
			return w.refuse(p.Keys < least || p.Keys > manyKeys,
				"from %d to %d keys, not %d", least, manyKeys, p.Keys)
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
				"transactions of 1 to %d operations, not %d", maxTxnSize, p.TxnSize)
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

// A Workload defines one operation. The built-in ones come from [Workloads]; [Workload.With]
// varies them.
type Workload struct {
	Name   string // as in --workload: in lower case, with dashes
	Doc    string // a few sentences: records, operations, checks
	Params Params // with Unset, or zero, for those that do not apply

	// MinKeys is the least number of keys that the workload takes; 0 stands for 1.
	MinKeys int
	// OneKey says that each operation calls its Tx once, and is about one record: it runs on engines
	// without transactions, too.
	OneKey bool
	// Build makes the model, from its parameters.
	Build func(m *Model)

	usual    *Params // before it was varied; nil if it was not
	pins     bool    // a snapshot stays open, and measurements have a Memory
	restless bool    // there is no pause between its audits, whatever the interval
	alone    bool    // nothing runs beside the goroutines
}

// Workloads returns the built-in workloads, in the order in which they are
// listed. Each is in a file whose name begins with work_.
func Workloads() []Workload {
	return slices.Concat(keyWorkloads(), transferWorkloads(), ycsbWorkloads(),
		[]Workload{smallBank(), tatp(), tpcc()})
}

// WorkloadByName returns the built-in workload called name.
func WorkloadByName(name string) (Workload, bool) {
	all := Workloads()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return all[i], true
}

// validate returns an error if w cannot be run.
func (w Workload) validate() error {
	var err error
	switch {
	case w.Build == nil:
		err = fmt.Errorf("expected Build")
	default:
		for _, p := range params {
			if _, has := p.value(w.Params); has && err == nil {
				err = p.take(&w, w.Params)
			}
		}
		if err == nil {
			err = w.model().validate()
		}
	}
	if err != nil {
		return fmt.Errorf("bench: workload %s: %w", w.Name, err)
	}
	return nil
}

// defaults returns the parameters that w has unless others are given.
func (w Workload) defaults() Params {
	if w.usual != nil {
		return *w.usual
	}
	if of, ok := WorkloadByName(w.Name); ok {
		return of.Params
	}
	return w.Params
}

// Level returns the level of isolation of read-write transactions.
func (c Config) Level() Isolation { return cmp.Or(c.Isolation, Serializable) }

// HasAudits reports whether an auditor runs beside the workload's goroutines.
func (w Workload) HasAudits() bool { return w.pins || len(w.model().audit) > 0 }

// Tables returns the names of the tables of a workload that has several.
func (w Workload) Tables() (names []string) {
	for _, t := range w.model().tables {
		names = append(names, t.Name)
	}
	if len(names) < 2 {
		return nil
	}
	return names
}

// ReportsMemory reports whether the workload's measurements have a [Memory].
func (w Workload) ReportsMemory() bool { return w.pins }

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

// With returns w with each parameter that p gives and that w has. A value out of range is an error.
func (w Workload) With(p Params) (Workload, error) {
	usual := w.defaults()
	w.usual = &usual
	for _, param := range params {
		if has, given := w.has(param, p); has && given {
			if err := param.take(&w, p); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// refuse returns an error that says which values w takes, if bad.
func (w *Workload) refuse(bad bool, takes string, args ...any) error {
	if !bad {
		return nil
	}
	return fmt.Errorf("workload %s takes %s", w.Name, fmt.Sprintf(takes, args...))
}

// Range returns words for the values that [Workload.With] takes for a parameter, as in "1 to 4", or
// "" if w does not have the parameter. key is the Key of its [Label].
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
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// Bytes returns how many bytes the keys and records of the run's tables have at least. To hold them
// takes more.
func (c Config) Bytes() (sum float64) {
	for _, t := range c.Workload.model().tables {
		bytes := WordSize + float64(t.Size.Min+t.Size.Max)/2
		if t.numbers() {
			bytes = 2 * WordSize
		}
		sum += float64(t.Records) * bytes
	}
	return sum
}

// The purposes of random sequences. Each goroutine has one for each of them, so that no
// choice follows from another.
const (
	forCoin = iota
	forPick
	forGaps
	forArrivals
	forSizes
)

// randFor returns the sequence of random numbers with which goroutine worker makes one kind of
// choice.
func (t *Trial) randFor(worker, purpose int) Rand {
	return newRand(t.config.Seed, uint64(t.config.Sample), uint64(worker), uint64(purpose))
}
