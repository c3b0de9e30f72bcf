package bench

import (
	"fmt"
	"slices"
	"strings"
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
	KeyType   KeyType   // what a key is
}

// NoParams has no parameter set; it is where to start when one is to be varied.
var NoParams = Params{Keys: Unset, ReadPct: Unset, Theta: Unset}

// A Workload says what one operation is. The built-in ones come from
// [Workloads]; [Workload.With] varies them.
type Workload struct {
	Name   string // as in --workload
	Doc    string // a few sentences: keys, operation, what is verified
	Params Params // with Unset, or zero, for those that do not apply

	kind             kind
	minKeys, maxKeys int  // bounds of Params.Keys if it applies
	modifies         bool // its writes are read-modify-writes
	threads          int  // what Threads returns
	rate             float64
}

// Threads returns the number of goroutines that w is meant for, or 0 if it is
// meant for any.
func (w Workload) Threads() int { return w.threads }

// Rate returns the operations a second, of all goroutines together, that w is
// meant to be offered, or 0 if it is meant for as many as the engine serves.
func (w Workload) Rate() float64 { return w.rate }

// Takes reports whether w has one of the parameters of p that are given.
func (w Workload) Takes(p Params) bool {
	return p.Keys != Unset && w.Params.Keys != Unset ||
		p.ReadPct != Unset && w.Params.ReadPct != Unset ||
		p.Theta != Unset && w.Params.Theta != Unset ||
		p.TxnSize != 0 && w.Params.TxnSize != 0 ||
		p.ValueSize != ValueSize{} && w.Params.ValueSize != ValueSize{} ||
		p.KeyType != "" && w.Params.KeyType != ""
}

// With returns w with those of the parameters p that are given and that it has. A
// value out of range is an error.
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
	if p.TxnSize != 0 && w.Params.TxnSize != 0 {
		if p.TxnSize < 1 || p.TxnSize > maxTxnSize {
			return w, fmt.Errorf("workload %s takes transactions of 1 to %d keys, not %d", w.Name, maxTxnSize, p.TxnSize)
		}
		w.Params.TxnSize = p.TxnSize
	}
	if v := p.ValueSize; v != (ValueSize{}) && w.Params.ValueSize != (ValueSize{}) {
		if v.Min < WordSize || v.Max < v.Min || v.Max > MaxValueSize {
			return w, fmt.Errorf("workload %s takes values of %d to %d bytes, not %v", w.Name, WordSize, MaxValueSize, v)
		}
		w.Params.ValueSize = v
	}
	if p.KeyType != "" && w.Params.KeyType != "" {
		if !slices.Contains(KeyTypes(), p.KeyType) {
			return w, fmt.Errorf("workload %s takes keys that are %s, not %q", w.Name, oneOf(KeyTypes()), p.KeyType)
		}
		w.Params.KeyType = p.KeyType
	}
	return w, nil
}

// Range says which values of a parameter [Workload.With] takes, in words, as in "1
// to 4"; the parameter is called as its [Label] is. It is empty if w does not have
// the parameter.
func (w Workload) Range(key string) string {
	if _, ok := w.Params.value(key); !ok {
		return ""
	}
	switch key {
	case "keys":
		return fmt.Sprintf("%d to %d", w.minKeys, w.maxKeys)
	case "read-pct":
		return "0 to 100"
	case "theta":
		return "0 to 10"
	case "txn-size":
		return fmt.Sprintf("1 to %d", maxTxnSize)
	case "value-size":
		return fmt.Sprintf("%d to %d", WordSize, MaxValueSize)
	case "key-type":
		return oneOf(KeyTypes())
	}
	return ""
}

// oneOf lists alternatives.
func oneOf[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, t := range list {
		s[i] = string(t)
	}
	return strings.Join(s[:len(s)-1], ", ") + " or " + s[len(s)-1]
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
	if w.Params.TxnSize != def.Params.TxnSize {
		fmt.Fprintf(&b, "/txn-size=%d", w.Params.TxnSize)
	}
	if w.Params.ValueSize != def.Params.ValueSize {
		fmt.Fprintf(&b, "/value-size=%v", w.Params.ValueSize)
	}
	if w.Params.KeyType != def.Params.KeyType {
		fmt.Fprintf(&b, "/key-type=%s", w.Params.KeyType)
	}
	return b.String()
}

// HasAudits reports whether an auditor runs beside the workload's goroutines.
func (w Workload) HasAudits() bool {
	switch w.kind {
	case transfer, freeBatch, longReader, overwrite:
		return true
	}
	return false
}

// ReportsMemory reports whether the workload's measurements have a [Memory].
func (w Workload) ReportsMemory() bool { return w.kind == longReader || w.kind == overwrite }

// keyCount returns the number of keys the map holds for a number of goroutines.
func (w Workload) keyCount(threads int) int {
	switch w.kind {
	case disjoint, disjointBatch:
		return threads
	case freeBatch:
		return threads * w.batches() * w.Params.TxnSize
	}
	return w.Params.Keys
}

// batches returns how many batches of keys a goroutine of free-batch has.
func (w Workload) batches() int { return max(w.Params.Keys/w.Params.TxnSize, 1) }

// valueSize returns the size of the values.
func (w Workload) valueSize() ValueSize {
	if w.Params.ValueSize == (ValueSize{}) {
		return words
	}
	return w.Params.ValueSize
}

// keyType returns the type of the keys.
func (w Workload) keyType() KeyType {
	if w.Params.KeyType == "" {
		return StringKeys
	}
	return w.Params.KeyType
}
