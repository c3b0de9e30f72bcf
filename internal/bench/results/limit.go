package results

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
)

// A Limit is a demand on a figure, such as response-p99-ns < 1 ms.
type Limit struct {
	Unit  string // of the figure, as [Metrics] has it
	Op    string // <, <=, > or >=
	Value float64
}

// suffixes are the ends of units that may be left out, since the value says it.
var suffixes = []string{"", "-ns", "-%", "-B"}

// ErrLimit is wrapped by the errors of [ParseLimit]; their texts say more.
var ErrLimit = errors.New("expected a limit such as response-p99<1ms, achieved>=99 or ops/s>1.5M")

// ParseLimit reads a limit. It names a metric, with or without the unit at the end of the name;
// number reads values that are no times.
func ParseLimit(text string, number func(string) (float64, error)) (Limit, error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return Limit{}, fmt.Errorf("%w, not %q", ErrLimit, text)
	}
	l := Limit{Op: text[at : at+1]}
	value := text[at+1:]
	if rest, ok := strings.CutPrefix(value, "="); ok {
		l.Op, value = l.Op+"=", rest
	}
	name := strings.TrimSpace(text[:at])
	for _, suffix := range suffixes {
		if _, ok := MetricByUnit(name + suffix); ok && l.Unit == "" {
			l.Unit = name + suffix
		}
	}
	if l.Unit == "" {
		var known []string
		for _, m := range Metrics() {
			known = append(known, m.Unit)
		}
		return Limit{}, fmt.Errorf("unknown metric %q; expected one of %s", name,
			strings.Join(known, ", "))
	}
	value = strings.TrimSpace(value)
	var err error
	d, isTime := time.ParseDuration(value)
	switch {
	case strings.HasSuffix(l.Unit, "-ns") && isTime == nil:
		l.Value = float64(d)
	default:
		plain := strings.TrimSuffix(value, "%")
		if strings.Contains(l.Unit, "B") {
			plain = strings.TrimSuffix(plain, "B")
		}
		l.Value, err = number(strings.TrimSpace(plain))
	}
	if err != nil || !(l.Value >= 0) {
		return Limit{}, fmt.Errorf("%w, not %q: the value of %s", ErrLimit, text, l.Unit)
	}
	return l, nil
}

// Holds reports whether v keeps l.
func (l Limit) Holds(v float64) bool {
	c := cmp.Compare(v, l.Value)
	switch l.Op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// Paced reports whether l is of a figure that only operations at a given rate have.
func (l Limit) Paced() bool {
	return strings.HasPrefix(l.Unit, ResponsePrefix) || l.Unit == achieved || l.Unit == "backlog"
}

// Show returns a figure of l for people.
func (l Limit) Show(v float64) string {
	return shown(l.Unit, v, func(v float64) string {
		if m, ok := MetricByUnit(l.Unit); ok && v < 1000 {
			return m.Format(v)
		}
		return humanize.Number(v)
	})
}

func (l Limit) String() string { return l.Unit + " " + l.Op + " " + l.Show(l.Value) }

// KeptUp returns the limit that an open loop keeps if it is not saturated.
func KeptUp() Limit { return Limit{achieved, ">=", 99} }

// A Check is the outcome of a limit in a cell.
type Check struct {
	Limit
	Of     string  // the cell
	Median float64 // of its samples
	Known  bool    // all samples have the figure
	Kept   bool    // the median keeps the limit
}

// Check checks the median of the samples of a cell against limits.
func (c *Cell) Check(limits []Limit) []Check {
	var list []Check
	for _, l := range limits {
		k := Check{Limit: l, Of: c.Samples[0].Name(1)}
		if v := c.Values(l.Unit); len(v) == len(c.Samples) {
			k.Known, k.Median = true, Median(v)
			k.Kept = l.Holds(k.Median)
		}
		list = append(list, k)
	}
	return list
}

// String says which value does not keep the limit, or that this cannot be told.
func (k Check) String() string {
	if !k.Known {
		return fmt.Sprintf("%s: cannot tell of %s: too few operations for it, or the figure is not "+
			"measured there", k.Limit, k.Of)
	}
	return fmt.Sprintf("%s: missed by %s: %s", k.Limit, k.Of, k.Show(k.Median))
}

// A FoundRate is the outcome of a search for the highest rate at which limits are kept.
type FoundRate struct {
	Of      string    `json:"of"`                // the combination
	Limits  []string  `json:"limits"`            // that were to be kept
	Rate    float64   `json:"rate,omitempty"`    // operations per second; 0 if none was found
	Above   float64   `json:"above,omitempty"`   // the lowest rate that was tried and does not do
	Samples int       `json:"samples,omitempty"` // that confirm the rate
	Why     string    `json:"why,omitempty"`     // none was found
	Tries   []RateTry `json:"tries"`             // in the order in which they were made
}

// A RateTry is one try of a search.
type RateTry struct {
	Rate float64 `json:"rate"`
	Kept bool    `json:"kept"`
	What string  `json:"what"` // the measured value
}

// String describes the outcome.
func (f FoundRate) String() string {
	limits := strings.Join(f.Limits, ", ")
	if f.Rate == 0 {
		return fmt.Sprintf("no rate found at which %s keeps %s: %s (%d tries)", f.Of, limits, f.Why,
			len(f.Tries))
	}
	above := ""
	if f.Above > 0 {
		above = fmt.Sprintf("; %s do not", humanize.Number(f.Above))
	}
	return fmt.Sprintf("highest rate at which %s keeps %s: %s operations per second, confirmed by %d "+
		"samples%s (%d tries)", f.Of, limits, humanize.Number(f.Rate), f.Samples, above, len(f.Tries))
}
