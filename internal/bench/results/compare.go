package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/perf/benchunit"
)

// Options say how to compare.
type Options struct {
	Alpha float64  // the level of significance, such as 0.05
	Units []string // those to compare, as printed in results or as benchstat has them; empty for all
	Force bool     // compare instrumented results with others, too
	// Turns says that the samples were taken in turns: of each benchmark the first of one side
	// beside the first of the other, and so on. They are compared pair by pair then, by Wilcoxon's
	// signed-rank test, and a change of the machine during both samples of a pair does not count.
	Turns bool
}

// A Comparison has the changes from one set of results to another, by the statistics of
// benchstat: medians, their confidence intervals, and the Mann-Whitney U test. Whether a change
// is significant takes into account how many benchmarks are compared in its unit (Holm, A simple
// sequentially rejective multiple test procedure, 1979).
type Comparison struct {
	Old      string   `json:"old"`
	New      string   `json:"new"`
	Alpha    float64  `json:"alpha"`
	Turns    bool     `json:"turns,omitempty"` // the samples were taken in turns, and compared so
	Tables   []Table  `json:"tables"`
	OnlyOld  []string `json:"only_old,omitempty"` // benchmarks that the other side does not have
	OnlyNew  []string `json:"only_new,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Doubts are reasons why results may be missing: a side that did not come to its end, or does
	// not say that it did, or lacks some of its lines. They are among the warnings, too.
	Doubts []string `json:"doubts,omitempty"`
	// NoisyOld and NoisyNew are how many samples are noisy on each side; a warning says so, too.
	NoisyOld int `json:"noisy_old,omitempty"`
	NoisyNew int `json:"noisy_new,omitempty"`
	// Gate says whether something has become worse, if that was asked for.
	Gate *Judgement `json:"gate,omitempty"`
	// Verdict says which way the comparison went, if that was asked for.
	Verdict *Verdict `json:"verdict,omitempty"`

	onlyOldUnits []string
}

// Errors of [Compare]; their texts say more.
var (
	ErrInstrumented = errors.New("only one of the runs is instrumented, or in another way")
	ErrNothing      = errors.New("the results have nothing in common")
	ErrUnit         = errors.New("unknown unit")
)

// Compare compares two sets of results.
func Compare(before, after *Source, o Options) (*Comparison, error) {
	c := &Comparison{Old: before.Label, New: after.Label, Alpha: o.Alpha, Turns: o.Turns}
	if before.Instrumented != after.Instrumented {
		text := fmt.Sprintf("%s is %s, %s is %s", before.Label, instrumentation(before), after.Label,
			instrumentation(after))
		if !o.Force {
			return nil, fmt.Errorf("%w: %s", ErrInstrumented, text)
		}
		c.Warnings = append(c.Warnings, text+": the difference may be the instruments'")
	}
	c.Warnings = append(c.Warnings, differences(before, after)...)
	c.Warnings = append(append(c.Warnings, before.Warnings...), after.Warnings...)

	if before.Noisy+after.Noisy > 0 {
		c.NoisyOld, c.NoisyNew = before.Noisy, after.Noisy
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("noisy samples: %d of %d in %s, %d of %d in %s; a difference may be the machine's",
				before.Noisy, len(before.Results), before.Label, after.Noisy, len(after.Results), after.Label))
	}
	c.Doubts = append(slices.Clone(before.Doubts), after.Doubts...)

	x, y := collect(before, nil), collect(after, nil)
	if across := differingLabels(x.names, y.names); len(across) > 0 {
		for _, l := range across {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s in %s, %s in %s: that is what is compared",
				l.key, cmp.Or(l.old, none), before.Label, cmp.Or(l.new, none), after.Label))
		}
		x, y = collect(before, across), collect(after, across)
	}
	c.OnlyOld, c.OnlyNew = onlyIn(x.names, y.names), onlyIn(y.names, x.names)
	if len(c.OnlyOld) == len(x.names) {
		return nil, fmt.Errorf("%w: %s has %s, %s has %s", ErrNothing, before.Label,
			joinFew(x.names), after.Label, joinFew(y.names))
	}
	c.onlyOldUnits = onlyIn(x.units, y.units)
	units, err := wanted(o.Units, x.units, y.units)
	if err != nil {
		return nil, err
	}
	meta := maps.Clone(before.Units)
	maps.Copy(meta, after.Units)
	few, all, most := 0, 0, 1
	for _, unit := range units {
		var pairs []pair
		for _, name := range x.names {
			pairs = append(pairs, pairOf(name, x.values[name][unit], y.values[name][unit], o.Turns))
		}
		t := tableOf(unit, meta.GetBetter(unit), meta.GetAssumption(unit), o.Alpha, pairs)
		if len(t.Rows) > 0 {
			c.Tables = append(c.Tables, t)
		}
		all, most = all+len(t.Rows), max(most, len(t.Rows))
		for i := range t.Rows {
			if t.Rows[i].Undecidable {
				few++
			}
		}
	}
	if len(c.Tables) == 0 {
		return nil, fmt.Errorf("%w: no benchmark has figures of %s on both sides", ErrNothing,
			strings.Join(units, ", "))
	}
	if few > 0 {
		enough := SamplesFor
		if o.Turns {
			enough = PairsFor
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d comparisons have too few samples for "+
			"any difference to be significant; %d on each side are enough", few, all,
			enough(o.Alpha/float64(most))))
	}
	return c, nil
}

// onlyIn returns those of names that are not among others.
func onlyIn(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(others, name)
	})
}

func instrumentation(s *Source) string {
	if s.Instrumented == "" {
		return "plain"
	}
	return "instrumented (" + s.Instrumented + ")"
}

func joinFew(names []string) string {
	const few = 2
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// collected are the figures of a [Source] by benchmark and unit.
type collected struct {
	names, units []string // in the order in which they first occur
	values       map[string]map[string]figuresOf
}

// figuresOf are the figures of one benchmark in one unit, and which of its results have them.
type figuresOf struct {
	values []float64
	at     []int
}

// pairOf returns the figures of both sides. If the samples were taken in turns it leaves out
// samples without a figure beside them.
func pairOf(name string, x, y figuresOf, turns bool) pair {
	p := pair{name, x.values, y.values, turns}
	if !turns || slices.Equal(x.at, y.at) {
		return p
	}
	p.before, p.after = nil, nil
	for i, at := range x.at {
		if k := slices.Index(y.at, at); k >= 0 {
			p.before, p.after = append(p.before, x.values[i]), append(p.after, y.values[k])
		}
	}
	return p
}

// collect collects the figures of s, by names without some labels.
func collect(s *Source, but []label) *collected {
	c := &collected{values: map[string]map[string]figuresOf{}}
	count := map[string]int{}
	severalPkgs := strings.Contains(s.config("pkg"), ", ")
	for _, r := range s.Results {
		name := dropLabels(but, r.Name.String())
		if severalPkgs {
			name = r.GetConfig("pkg") + "." + name
		}
		if c.values[name] == nil {
			c.values[name] = map[string]figuresOf{}
			c.names = append(c.names, name)
		}
		for _, v := range r.Values {
			// The reader leaves the unit of a zero as it was.
			_, unit := benchunit.Tidy(1, v.Unit)
			c.units = appendNew(c.units, unit)
			f := c.values[name][unit]
			f.values, f.at = append(f.values, v.Value), append(f.at, count[name])
			c.values[name][unit] = f
		}
		count[name]++
	}
	return c
}

// wanted returns the units to compare: those that are asked for, or all that both
// sides have.
func wanted(asked, x, y []string) ([]string, error) {
	both := slices.DeleteFunc(slices.Clone(x), func(unit string) bool {
		return !slices.Contains(y, unit)
	})
	var order []string
	if slices.Contains(both, achieved) { // causes come after their results
		order = slices.Clone(pacedHeadline)
	}
	for _, m := range Metrics() {
		_, tidy := benchunit.Tidy(1, m.Unit)
		order = append(order, tidy)
	}
	place := func(unit string) uint { return uint(slices.Index(order, unit)) } // others come last
	slices.SortStableFunc(both, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	if len(asked) == 0 {
		return slices.DeleteFunc(both, OfOperation), nil
	}
	var list []string
	for _, unit := range asked {
		_, tidy := benchunit.Tidy(1, unit)
		if !slices.Contains(both, tidy) {
			return nil, fmt.Errorf("%w %q; both sides have %s", ErrUnit, unit, strings.Join(both, ", "))
		}
		list = appendNew(list, tidy)
	}
	return list, nil
}

// none stands for a circumstance that a run lacks.
const none = "none"

// differences returns how the circumstances of two runs differ, beside the compared
// labels: machine, runtime, and how it was measured.
func differences(before, after *Source) []string {
	var list []string
	add := func(what, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s: %s in %s, %s in %s", what, cmp.Or(x, none), before.Label,
				cmp.Or(y, none), after.Label))
		}
	}
	for _, key := range []string{"goos", "goarch", "cpu"} {
		add(key, before.config(key), after.config(key))
	}
	a, b := before.header, after.header
	if a == nil || b == nil {
		return list
	}
	add("program", a.Program, b.Program)
	add("Go", a.Go, b.Go)
	add("CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs))
	add("GOMAXPROCS", fmt.Sprint(a.GOMAXPROCS), fmt.Sprint(b.GOMAXPROCS))
	names := slices.AppendSeq(slices.Collect(maps.Keys(a.Settings)), maps.Keys(b.Settings))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		add(name, a.Settings[name], b.Settings[name])
	}
	add("length of a sample", length(a), length(b))
	add("warm-up", a.Warmup.String(), b.Warmup.String())
	add("loop", a.Loop, b.Loop)
	add("isolation", strings.Join(a.Isolation, " and "), strings.Join(b.Isolation, " and "))
	if (a.Profiled == "") != (b.Profiled == "") {
		with, how := before.Label, a.Profiled
		if a.Profiled == "" {
			with, how = after.Label, b.Profiled
		}
		list = append(list, fmt.Sprintf("only %s was profiled: %s", with, how))
	}
	return list
}

// length returns the length of a sample in words.
func length(h *Header) string {
	if h.Ops > 0 {
		return fmt.Sprintf("%d operations", h.Ops)
	}
	return h.Duration.String()
}

// A label is a parameter in the names of benchmarks, such as engine=mvcc, with its value on
// either side, "" if the names there do not have it.
type label struct{ key, old, new string }

// differingLabels returns the labels that keep two runs from having a benchmark in common: those
// with one value on each side, and not the same.
func differingLabels(x, y []string) []label {
	if shareName(x, y, nil) {
		return nil
	}
	var list []label
	for _, key := range keys(append(slices.Clone(x), y...)) {
		a, b := values(x, key), values(y, key)
		if len(a) == 1 && len(b) == 1 && a[0] != b[0] {
			list = append(list, label{key, a[0], b[0]})
		}
	}
	if shareName(x, y, list) {
		return list
	}
	return nil
}

// shareName reports whether two runs have a benchmark in common, but for some labels.
func shareName(x, y []string, but []label) bool {
	return slices.ContainsFunc(x, func(name string) bool {
		return slices.ContainsFunc(y, func(other string) bool {
			return dropLabels(but, name) == dropLabels(but, other)
		})
	})
}

// dropLabels returns name without some labels.
func dropLabels(list []label, name string) string {
	if len(list) == 0 {
		return name
	}
	parts := slices.DeleteFunc(strings.Split(name, "/"), func(part string) bool {
		key, _, ok := strings.Cut(part, "=")
		return ok && slices.ContainsFunc(list, func(l label) bool { return l.key == key })
	})
	return strings.Join(parts, "/")
}

// keys returns the keys of all labels of names.
func keys(names []string) (list []string) {
	for _, name := range names {
		for part := range strings.SplitSeq(name, "/") {
			if key, _, ok := strings.Cut(part, "="); ok {
				list = append(list, key)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// values returns the values that a label has in names; "" among them if some lack it.
func values(names []string, key string) (list []string) {
	for _, name := range names {
		_, value, _ := strings.Cut("/"+name, "/"+key+"=")
		value, _, _ = strings.Cut(value, "/")
		list = appendNew(list, value)
	}
	return list
}
