package bench

import (
	"fmt"
	"slices"
	"strings"
)

// kind is how the operations of a workload are made; see task.go.
type kind int

const (
	getPut kind = iota
	disjoint
	transfer
	counter
	begin
)

// Unset is the value of a parameter that a workload does not have.
const Unset = -1

// Params are what can be varied in a [Workload].
type Params struct {
	Keys    int     // number of keys
	ReadPct int     // percentage of operations that read
	Theta   float64 // skew of the Zipf distribution over the keys; 0 is uniform
}

// NoParams has no parameter set; it is where to start when one is to be varied.
var NoParams = Params{Keys: Unset, ReadPct: Unset, Theta: Unset}

// A Workload says what one operation is. The built-in ones come from
// [Workloads]; [Workload.With] varies them.
type Workload struct {
	Name   string // as in --workload
	Doc    string // one or two sentences: keys, operation, what is verified
	Params Params // with Unset for those that do not apply

	kind             kind
	minKeys, maxKeys int // bounds of Params.Keys if it applies
}

const manyKeys = 100_000_000

// Workloads returns the built-in workloads, in the order in which they are
// listed.
func Workloads() []Workload {
	hot := func(name string, readPct int) Workload {
		return Workload{
			Name: name,
			Doc: fmt.Sprintf("Hot keys, round robin from a random start: %d %% get, %d %% put, chosen at random and independently of the key.",
				readPct, 100-readPct),
			Params:  Params{Keys: 4, ReadPct: readPct, Theta: Unset},
			kind:    getPut,
			minKeys: 1, maxKeys: manyKeys,
		}
	}
	skewed := func(name string, readPct int) Workload {
		return Workload{
			Name: name,
			Doc: fmt.Sprintf("Keys by a Zipf distribution, exact for any theta: %d %% get, %d %% put, chosen independently of the key.",
				readPct, 100-readPct),
			Params:  Params{Keys: 1_000, ReadPct: readPct, Theta: 0.9},
			kind:    getPut,
			minKeys: 1, maxKeys: manyKeys,
		}
	}
	return []Workload{
		hot("read-heavy", 90),
		hot("balanced", 50),
		hot("write-heavy", 10),
		skewed("zipf-read", 90),
		skewed("zipf-write", 10),
		{
			Name:   "disjoint",
			Doc:    "Each goroutine puts to a key of its own. One put in 256 is read back, which is not counted.",
			Params: Params{Keys: Unset, ReadPct: Unset, Theta: Unset},
			kind:   disjoint,
		},
		{
			Name:    "transfer",
			Doc:     "Move an amount between two accounts picked at random: read 2, write 2 in one transaction. Meanwhile an auditor scans all accounts, every --audit-interval, and checks the sum.",
			Params:  Params{Keys: 10_000, ReadPct: Unset, Theta: Unset},
			kind:    transfer,
			minKeys: 2, maxKeys: manyKeys,
		},
		{
			Name:    "counter",
			Doc:     "Increment a counter by read-modify-write; with several, round robin. The counts must add up to the committed operations.",
			Params:  Params{Keys: 1, ReadPct: Unset, Theta: Unset},
			kind:    counter,
			minKeys: 1, maxKeys: 4,
		},
		{
			Name:    "begin",
			Doc:     "Begin a read-only transaction and end it, on a map that holds keys.",
			Params:  Params{Keys: 1_000, ReadPct: Unset, Theta: Unset},
			kind:    begin,
			minKeys: 1, maxKeys: manyKeys,
		},
	}
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

// Takes reports whether w has one of the parameters of p that are not [Unset].
func (w Workload) Takes(p Params) bool {
	return p.Keys != Unset && w.Params.Keys != Unset ||
		p.ReadPct != Unset && w.Params.ReadPct != Unset ||
		p.Theta != Unset && w.Params.Theta != Unset
}

// With returns w with those of the parameters p that are not [Unset] and that it
// has. A value out of range is an error.
func (w Workload) With(p Params) (Workload, error) {
	if p.Keys != Unset && w.Params.Keys != Unset {
		if p.Keys < w.minKeys || p.Keys > w.maxKeys {
			return w, fmt.Errorf("workload %s takes from %d to %d keys, not %d", w.Name, w.minKeys, w.maxKeys, p.Keys)
		}
		w.Params.Keys = p.Keys
	}
	if p.ReadPct != Unset && w.Params.ReadPct != Unset {
		if p.ReadPct < 0 || p.ReadPct > 100 {
			return w, fmt.Errorf("workload %s takes a read percentage from 0 to 100, not %d", w.Name, p.ReadPct)
		}
		w.Params.ReadPct = p.ReadPct
	}
	if p.Theta != Unset && w.Params.Theta != Unset {
		if !(p.Theta >= 0 && p.Theta <= 10) { // also refuses NaN
			return w, fmt.Errorf("workload %s takes a theta from 0 to 10, not %v", w.Name, p.Theta)
		}
		w.Params.Theta = p.Theta
	}
	return w, nil
}

// Title returns the name in the form of a Go benchmark: "ReadHeavy" for
// "read-heavy". Parameters that differ from the workload's defaults follow, as
// in "ReadHeavy/keys=16", so that results of different work are never compared.
func (w Workload) Title() string {
	var b strings.Builder
	for part := range strings.SplitSeq(w.Name, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	def, ok := WorkloadByName(w.Name)
	if !ok {
		return b.String()
	}
	if w.Params.Keys != def.Params.Keys {
		fmt.Fprintf(&b, "/keys=%d", w.Params.Keys)
	}
	if w.Params.ReadPct != def.Params.ReadPct {
		fmt.Fprintf(&b, "/read-pct=%d", w.Params.ReadPct)
	}
	if w.Params.Theta != def.Params.Theta {
		fmt.Fprintf(&b, "/theta=%v", w.Params.Theta)
	}
	return b.String()
}

// HasAudits reports whether an auditor runs beside the workload's goroutines.
func (w Workload) HasAudits() bool { return w.kind == transfer }

// keyCount returns the number of keys the map holds for a number of goroutines.
func (w Workload) keyCount(threads int) int {
	if w.kind == disjoint {
		return threads
	}
	return w.Params.Keys
}
