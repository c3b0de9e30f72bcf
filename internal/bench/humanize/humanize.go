// Package humanize writes numbers, times and names of functions for people, in few characters.
package humanize

import (
	"fmt"
	"strings"
	"time"
)

// Number writes v with three significant digits, with a prefix if it is large: in at most five
// characters, as in "12.3k".
func Number(v float64) string {
	for _, u := range []struct {
		factor float64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.factor*0.9995 {
			return three(v/u.factor) + u.prefix
		}
	}
	return three(v)
}

// Count writes a count as [Number] does, but exactly below a thousand.
func Count(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return Number(float64(n))
}

// Percent writes a share, 1 for all of it, in whole percents.
func Percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// Bytes writes a size with three significant digits, as in "12.3 KB"; a KB is 1000 bytes.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	text := Number(float64(n))
	last := len(text) - 1
	return text[:last] + " " + strings.ToUpper(text[last:]) + "B"
}

// Time writes d with three significant digits, as in "1.50 µs"; from 100 seconds on as in "1m40s".
func Time(d time.Duration) string {
	if d >= 99_950*time.Millisecond {
		return d.Round(time.Second).String()
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, " s"}, {time.Millisecond, " ms"}, {time.Microsecond, " µs"}} {
		if v := float64(d) / float64(u.unit); v >= 0.9995 {
			return three(v) + u.name
		}
	}
	return fmt.Sprintf("%d ns", d)
}

// three writes v with three significant digits.
func three(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Func returns a function's name without the folders of its package and without type arguments.
func Func(name string) string {
	head, tail := name, ""
	if i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); 0 <= i && i < j {
		head, tail = name[:i], "[…]"+name[j+1:]
	}
	return head[strings.LastIndexByte(head, '/')+1:] + tail
}

// Generic returns the name of a function with [...] in place of type arguments. A bracket
// that no name stands before, as in [idle], is not that of arguments.
func Generic(name string) string {
	var short strings.Builder
	depth := 0
	for i, c := range name {
		switch {
		case c == '[' && (depth > 0 || i > 0 && name[i-1] != ' '):
			if depth++; depth == 1 {
				short.WriteString("[...]")
			}
		case c == ']' && depth > 0:
			depth--
		case depth == 0:
			short.WriteRune(c)
		}
	}
	if depth > 0 {
		return name
	}
	return short.String()
}
