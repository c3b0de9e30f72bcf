package hist

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// WritePercentiles writes the percentiles from 0 to 100 % as HdrHistogram prints them, for its
// plotter, with so many lines for each halving of the distance to 100 %.
func (h *Hist) WritePercentiles(w io.Writer, ticksPerHalf int) error {
	var b strings.Builder
	b.WriteString(" Value\tPercentile\tTotalCount\t1/(1-Percentile)\n\n")
	var seen, value uint64
	line := func(percent float64) {
		inverse := fmt.Sprintf("%12.2f", 1/(1-percent/100))
		if percent == 100 {
			inverse = fmt.Sprintf("%12s", "inf")
		}
		fmt.Fprintf(&b, "%12.3f %12f %12d %s\n", float64(value), percent/100, seen, inverse)
	}
	next, squares, mean := 0.0, 0.0, h.Mean()
	for i, c := range &h.counts {
		if c == 0 {
			continue
		}
		seen, value = seen+c, min(upper(i), h.max)
		for percent := 100 * float64(seen) / float64(h.n); next <= percent; {
			line(next)
			if seen == h.n {
				break
			}
			half := math.Exp2(math.Trunc(math.Log2(100/(100-next))) + 1)
			next += 100 / (float64(ticksPerHalf) * half)
		}
		off := float64(min(middle(i), h.max)) - mean
		squares += off * off * float64(c)
	}
	line(100)
	fmt.Fprintf(&b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean,
		math.Sqrt(squares/float64(h.n)))
	fmt.Fprintf(&b, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.max), h.n)
	fmt.Fprintf(&b, "#[Buckets = %12d, SubBuckets     = %12d]\n", buckets/sub-1, 2*sub)
	_, err := io.WriteString(w, b.String())
	return err
}
