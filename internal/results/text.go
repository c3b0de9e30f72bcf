package results

import (
	"maps"
	"slices"
	"strings"
)

// oneLine makes text fit into one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// settingNames returns the names in a map, in order.
func settingNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
