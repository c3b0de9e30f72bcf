package results

import (
	"maps"
	"slices"
	"strings"
)

// A label is a parameter in the names of benchmarks, such as engine=mvcc, with its value on
// either side, "" if the names there do not have it.
type label struct{ key, old, new string }

// apart returns the labels that keep two runs from having a benchmark in common: those with one
// value on each side, and not the same.
func apart(x, y []string) []label {
	if slices.ContainsFunc(x, func(name string) bool { return slices.Contains(y, name) }) {
		return nil
	}
	olds, news := values(x), values(y)
	var list []label
	for _, key := range slices.Sorted(maps.Keys(union(olds, news))) {
		a, b := olds[key], news[key]
		if len(a) == 0 {
			a = []string{""}
		}
		if len(b) == 0 {
			b = []string{""}
		}
		if len(a) == 1 && len(b) == 1 && a[0] != b[0] {
			list = append(list, label{key, a[0], b[0]})
		}
	}
	for _, name := range x {
		if slices.ContainsFunc(y, func(other string) bool {
			return without(list, name) == without(list, other)
		}) {
			return list
		}
	}
	return nil
}

// without returns name without some labels.
func without(list []label, name string) string {
	parts := slices.DeleteFunc(strings.Split(name, "/"), func(part string) bool {
		key, _, ok := strings.Cut(part, "=")
		return ok && slices.ContainsFunc(list, func(l label) bool { return l.key == key })
	})
	return strings.Join(parts, "/")
}

// values returns the values of each label of names; "" among them if some names lack it.
func values(names []string) map[string][]string {
	list := map[string][]string{}
	count := map[string]int{}
	for _, name := range names {
		for part := range strings.SplitSeq(name, "/") {
			if key, value, ok := strings.Cut(part, "="); ok {
				count[key]++
				if !slices.Contains(list[key], value) {
					list[key] = append(list[key], value)
				}
			}
		}
	}
	for key, n := range count {
		if n < len(names) {
			list[key] = append(list[key], "")
		}
	}
	return list
}

func union(a, b map[string][]string) map[string][]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// drop takes labels out of the names.
func (c *collected) drop(list []label) {
	values := map[string]map[string][]float64{}
	for i, name := range c.names {
		short := without(list, name)
		values[short] = c.values[name]
		c.names[i] = short
	}
	c.values = values
}
