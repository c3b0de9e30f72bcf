package results

import (
	"slices"
	"strings"
)

// A label is a parameter in the names of benchmarks, such as engine=mvcc, with its value on
// either side, "" if the names there do not have it.
type label struct{ key, old, new string }

// apart returns the labels that keep two runs from having a benchmark in common: those with one
// value on each side, and not the same.
func apart(x, y []string) []label {
	if common(x, y, nil) {
		return nil
	}
	var list []label
	for _, key := range keys(append(slices.Clone(x), y...)) {
		a, b := values(x, key), values(y, key)
		if len(a) == 1 && len(b) == 1 && a[0] != b[0] {
			list = append(list, label{key, a[0], b[0]})
		}
	}
	if common(x, y, list) {
		return list
	}
	return nil
}

// common reports whether two runs have a benchmark in common, but for some labels.
func common(x, y []string, but []label) bool {
	return slices.ContainsFunc(x, func(name string) bool {
		return slices.ContainsFunc(y, func(other string) bool {
			return without(but, name) == without(but, other)
		})
	})
}

// without returns name without some labels.
func without(list []label, name string) string {
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
