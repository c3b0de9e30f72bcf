package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// none stands for a circumstance that a run lacks.
const none = "none"

// differences returns how the circumstances of two runs differ, apart from what is
// compared: machine, runtime, and how it was measured.
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
