//go:build mvcccheck

package epoch_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A thread is one line of calls whose steps are separated by the yield points
// it passes, and by calls of its argument.
type thread struct {
	name string
	run  func(step func(string))
}

// explore runs every interleaving of the steps of the threads that build
// returns, each from a fresh start, and calls check after each. It returns the
// number of interleavings.
//
// Threads run as coroutines: exactly one moves at a time, so a schedule is a
// list of choices, and all of them are enumerated depth first.
func explore(
	t *testing.T, build func() (threads []thread, check func(schedule string)),
) (runs int) {
	t.Helper()
	var current func(string) // the yield of the thread that moves
	defer hooks.Set(func(p hooks.Point) {
		if current != nil {
			current(p.String())
		}
	})()
	return search(t, &current, 1000, build)
}

// exploreSteps is explore with a step before every access to a shared word, and with
// up to so many switches away from a thread that could go on.
func exploreSteps(
	t *testing.T, switches int, build func() (threads []thread, check func(schedule string)),
) (runs int) {
	t.Helper()
	var current func(string)
	defer hooks.Accesses(func(unsafe.Pointer) {
		if current != nil {
			current(".")
		}
	})()
	return search(t, &current, switches, build)
}

// search runs the schedules for the functions above.
func search(
	t *testing.T, current *func(string), switches int, build func() (threads []thread,
		check func(schedule string)),
) (runs int) {
	t.Helper()

	var choices, width []int
	for {
		*current = nil
		threads, check := build()
		var trace []string
		next := make([]func() (string, bool), len(threads))
		stop := make([]func(), len(threads))
		yields := make([]func(string), len(threads))
		for i, th := range threads {
			next[i], stop[i] = iter.Pull(func(yield func(string) bool) {
				yields[i] = func(at string) { yield(at) }
				*current = yields[i]
				th.run(yields[i])
			})
		}
		ready := make([]int, len(threads))
		for i := range ready {
			ready[i] = i
		}
		last, left := -1, switches
		for depth := 0; len(ready) > 0; depth++ {
			// The thread that moved last comes first, if it can go on: all
			// others are switches.
			if at := slices.Index(ready, last); at >= 0 {
				ready = slices.Insert(slices.Delete(ready, at, at+1), 0, last)
			}
			if depth == len(choices) {
				n := len(ready)
				if left == 0 && ready[0] == last {
					n = 1
				}
				choices, width = append(choices, 0), append(width, n)
			}
			i := ready[choices[depth]]
			if last == ready[0] && i != last {
				left--
			}
			last = i
			*current = yields[i]
			at, more := next[i]()
			*current = nil
			if !more {
				at = "done"
				ready = slices.Delete(ready, choices[depth], choices[depth]+1)
			}
			trace = append(trace, threads[i].name+":"+at)
			require.Less(t, depth, 1000, "a thread does not end: %v", trace)
		}
		for i := range stop {
			stop[i]()
		}
		check(strings.Join(trace, " "))
		runs++

		// The next schedule: advance the last choice that can be advanced.
		for len(choices) > 0 && choices[len(choices)-1]+1 == width[len(width)-1] {
			choices, width = choices[:len(choices)-1], width[:len(width)-1]
		}
		if len(choices) == 0 {
			return runs
		}
		choices[len(choices)-1]++
	}
}

// view is the result of one refresh.
type view struct {
	bound epoch.Epoch
	live  []epoch.Epoch
}

func (v view) covers(at epoch.Epoch) bool { return at >= v.bound || slices.Contains(v.live, at) }

func refresh(s *epoch.Slots, views *[]view) func(func(string)) {
	return func(func(string)) {
		m := s.Announce()
		*views = append(*views, view{m, liveEpochs(s, m)})
	}
}

func commits(s *epoch.Slots, n int) func(func(string)) {
	return func(step func(string)) {
		for i := range n {
			if i > 0 {
				step("drawn")
			}
			s.Next()
		}
	}
}

// A live read epoch is in the view or at least its bound, in every interleaving
// of one begin with commits and two refreshes.
func TestBeginAgainstRefresh(t *testing.T) {
	for _, refreshes := range []int{1, 2} {
		t.Run(fmt.Sprint("refreshes=", refreshes), func(t *testing.T) {
			if stage.Race && refreshes > 1 {
				t.Skip("one thread moves at a time: the race detector would only be slow")
			}
			runs := explore(t, func() ([]thread, func(string)) {
				s := epoch.NewSlots()
				slot := s.Acquire()
				var at epoch.Epoch
				var views []view
				threads := []thread{
					{"reader", func(func(string)) { at = s.Begin(slot, 0) }},
					{"writer", commits(s, 2)},
					{"refresh", func(step func(string)) {
						for i := range refreshes {
							if i > 0 {
								step("again")
							}
							refresh(s, &views)(step)
						}
					}},
				}
				return threads, func(schedule string) {
					require.Len(t, views, refreshes)
					require.Equal(t, at, slot.Epoch(), schedule)
					for _, v := range views {
						require.True(t, v.covers(at), "reader at %d, view %v: %s", at, v, schedule)
					}
					// Later refreshes see it too.
					require.True(t, view{s.Announce(), liveEpochs(s, s.Now())}.covers(at), schedule)
				}
			})
			require.Greater(t, runs, 500)
		})
	}
}
