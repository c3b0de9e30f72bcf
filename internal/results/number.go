package results

import (
	"fmt"
	"time"
)

// Short writes a number with three significant digits, a large one with a prefix: in at most five
// characters, as in "12.3k".
func Short(v float64) string {
	for _, u := range []struct {
		factor float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.factor*0.9995 {
			return three(v/u.factor) + u.prefix
		}
	}
	return three(v)
}

// ShortTime writes a time with three significant digits, as in "1.50 µs".
func ShortTime(d time.Duration) string {
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
