package results

import "time"

// MaxIntervals bounds how many intervals a sample has.
const MaxIntervals = 120

// An Interval is what a sample did in a part of its time.
type Interval struct {
	// End is when it ended, from the beginning of the sample. It began at the End before.
	End    time.Duration `json:"end_ns"`
	Ops    uint64        `json:"ops"`
	Aborts uint64        `json:"aborts,omitempty"`
	Errors uint64        `json:"errors,omitempty"`

	// Times of the operations of the interval, from when they were due if there was a rate: those
	// that were timed, and that ten exceeded. 0 if they are not known.
	P50 int64 `json:"p50_ns,omitempty"`
	P90 int64 `json:"p90_ns,omitempty"`
	P99 int64 `json:"p99_ns,omitempty"`
	Max int64 `json:"max_ns,omitempty"`
}

// Intervals are those of a sample, in order.
type Intervals []Interval

// Add adds the next one. Above [MaxIntervals] each two become one.
func (list Intervals) Add(i Interval) Intervals {
	if list = append(list, i); len(list) <= MaxIntervals {
		return list
	}
	half := list[:0]
	for ; len(list) > 1; list = list[2:] {
		half = append(half, list[0].and(list[1]))
	}
	return append(half, list...)
}

// End ends the list: a last one that is shorter than half of the one before becomes part of it.
func (list Intervals) End() Intervals {
	n := len(list)
	if n < 3 || list[n-1].End-list[n-2].End >= (list[n-2].End-list[n-3].End)/2 {
		return list
	}
	return append(list[:n-2:n-2], list[n-2].and(list[n-1]))
}

// and returns two that follow each other as one. Its times are the longer ones: those of both are
// not longer.
func (i Interval) and(next Interval) Interval {
	return Interval{
		End: next.End, Ops: i.Ops + next.Ops, Aborts: i.Aborts + next.Aborts,
		Errors: i.Errors + next.Errors, P50: max(i.P50, next.P50), P90: max(i.P90, next.P90),
		P99: max(i.P99, next.P99), Max: max(i.Max, next.Max),
	}
}

// inOrder reports whether time goes on.
func (list Intervals) inOrder() bool {
	at := time.Duration(0)
	for _, i := range list {
		if i.End <= at {
			return false
		}
		at = i.End
	}
	return true
}
