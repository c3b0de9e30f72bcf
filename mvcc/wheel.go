package mvcc

import "math/bits"

// A wheel gives things back when their time has come, in any order; a thing may be added after its
// time. Times are in milliseconds. The cost of a thing does not depend on their number: a
// hierarchical timing wheel (Varghese & Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987,
// section 6.2). The zero wheel stands at the time 0.
//
// A thing that is due at t stands on the level of the highest digit, of six bits, in which t
// differs from now, in the list of t's digit. When now gets to this digit, the things in the list
// are ready, or go to a lower level.
type wheel[T any] struct {
	now    int64
	levels [(63 + digit - 1) / digit][1 << digit][]timed[T]
	ready  []timed[T] // whose time has come
	n      int        // how many there are in all
}

type timed[T any] struct {
	at   int64
	what T
}

const digit = 6

func (w *wheel[T]) add(at int64, what T) {
	w.n++
	w.place(timed[T]{at, what})
}

func (w *wheel[T]) place(one timed[T]) {
	list := &w.ready
	if one.at > w.now {
		level := (bits.Len64(uint64(one.at^w.now)) - 1) / digit
		list = &w.levels[level][one.at>>(level*digit)&(1<<digit-1)]
	}
	*list = append(*list, one)
}

// advance moves the time on.
func (w *wheel[T]) advance(now int64) {
	was := w.now
	w.now = max(w.now, now)
	for level := range w.levels {
		from, to := was>>(level*digit), w.now>>(level*digit)
		if from == to {
			return
		}
		// All that stands here differs from was in this digit, and in none above.
		first := from &^ (1<<digit - 1)
		for i := from - first + 1; i <= min(to-first, 1<<digit-1); i++ {
			w.replace(&w.levels[level][i])
		}
	}
}

// replace places the things of a list anew.
func (w *wheel[T]) replace(at *[]timed[T]) {
	list := *at
	*at = nil
	for _, one := range list {
		w.place(one)
	}
}

// next returns a time up to which nothing is due, except for the ready things; ok is false if there
// is nothing at all.
func (w *wheel[T]) next() (at int64, ok bool) {
	if len(w.ready) > 0 {
		return w.now, true
	}
	for level := range w.levels {
		from := w.now >> (level * digit)
		first := from &^ (1<<digit - 1)
		for i := from - first + 1; i < 1<<digit; i++ {
			if len(w.levels[level][i]) > 0 {
				return (first + i) << (level * digit), true
			}
		}
	}
	return 0, false
}

// take returns up to n things whose time has come, the longest ready ones first.
func (w *wheel[T]) take(n int) (list []timed[T]) {
	n = min(n, len(w.ready))
	if list, w.ready = w.ready[:n:n], w.ready[n:]; len(w.ready) == 0 {
		w.ready = nil
	}
	w.n -= n
	return list
}

// reset empties the wheel, sets its time, and returns the things that were in it.
func (w *wheel[T]) reset(now int64) (list []timed[T]) {
	list = w.ready
	for level := range w.levels {
		for _, due := range w.levels[level] {
			list = append(list, due...)
		}
	}
	*w = wheel[T]{now: now}
	return list
}
