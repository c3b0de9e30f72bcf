package humanize

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Names makes valid UTF-8 of names, as JSON and Prometheus need it. No two names become the same.
// The zero value is ready; its method is of one goroutine at a time.
type Names struct {
	valid map[string]string
	taken map[string]bool
}

// Valid returns name itself if it is UTF-8 and not the result for another name. Otherwise it writes
// bytes that are not UTF-8 as \xff, and adds a number if the result is taken, too. The result for a
// name is the same each time.
func (n *Names) Valid(name string) string {
	if v, ok := n.valid[name]; ok {
		return v
	}
	if n.valid == nil {
		n.valid, n.taken = map[string]string{}, map[string]bool{}
	}
	v := escaped(name)
	for i, base := 2, v; n.taken[v]; i++ {
		v = fmt.Sprintf("%s (%d)", base, i)
	}
	n.valid[name], n.taken[v] = v, true
	return v
}

// escaped returns a name whose bytes that are not UTF-8 are written out.
func escaped(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for rest := name; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		} else {
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}
