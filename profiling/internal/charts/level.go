package charts

import (
	"math"
	"slices"
	"time"
)

// Spans that are known in full.
const (
	Fine   = 10 * time.Minute // a value for each second
	Coarse = 2 * time.Hour    // for each quarter of a minute
	Day    = 24 * time.Hour   // for each three minutes
)

// A level has the values of the charts over some span, one row for several readings of the
// sources. The memory of all levels does not grow with time: 12 KB for each series.
type level struct {
	every int         // readings for each row
	seq   int         // of the newest row, from 1
	at    []time.Time // of the rows, a ring
	rows  [][]float64 // the values of each row, a ring

	n      int       // readings since the newest row
	sums   []float64 // of their values, or the largest
	counts []int     // how many had a value
}

func newLevels() []*level {
	var list []*level
	for _, l := range []struct{ span, step time.Duration }{
		{Fine, Interval}, {Coarse, 15 * time.Second}, {Day, 3 * time.Minute},
	} {
		n := int(l.span / l.step)
		list = append(list, &level{
			every: int(l.step / Interval), at: make([]time.Time, n), rows: make([][]float64, n),
		})
	}
	return list
}

// step is the time between two rows.
func (l *level) step() time.Duration { return time.Duration(l.every) * Interval }

// holds reports whether l has all that is known of the last span.
func (l *level) holds(span time.Duration) bool {
	return l.seq <= len(l.rows) || span <= time.Duration(len(l.rows))*l.step()
}

// add takes the values of one reading.
func (l *level) add(now time.Time, row []float64, series []Series) {
	for i, v := range row {
		if i == len(l.sums) {
			l.sums, l.counts = append(l.sums, 0), append(l.counts, 0)
		}
		switch {
		case math.IsNaN(v):
			continue
		case !series[i].Largest:
			l.sums[i] += v
		case l.counts[i] == 0 || v > l.sums[i]:
			l.sums[i] = v
		}
		l.counts[i]++
	}
	if l.n++; l.n < l.every {
		return
	}
	at := l.seq % len(l.rows)
	out := slices.Grow(l.rows[at][:0], len(row))
	for i, sum := range l.sums {
		switch {
		case l.counts[i] == 0:
			sum = math.NaN()
		case !series[i].Largest:
			sum /= float64(l.counts[i])
		}
		out = append(out, sum)
	}
	l.at[at], l.rows[at] = now, out
	clear(l.sums)
	clear(l.counts)
	l.n = 0
	l.seq++
}
