package journey

import (
	linked "container/list"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// A Holder is a way to keep the few things that a read transaction holds, and must give
// back at its end.
type Holder struct {
	Name string
	Doc  string // without the full stop
	hold func(things []*held)
}

// held is a thing that transactions hold: it counts the holders.
type held struct{ holders atomic.Int64 }

func (h *held) take() *held {
	h.holders.Add(1)
	return h
}

func (h *held) release() { h.holders.Add(-1) }

// Holders are the ways of the post on read transactions of RavenDB, in its order.
func Holders() []Holder {
	return []Holder{
		{"set", "a map whose keys they are", func(things []*held) {
			set := map[*held]struct{}{}
			for _, h := range things {
				set[h.take()] = struct{}{}
			}
			for h := range set {
				h.release()
			}
			kept = set
		}},
		{"slice", "a slice that grows", func(things []*held) {
			var list []*held
			for _, h := range things {
				list = append(list, h.take())
			}
			for _, h := range list {
				h.release()
			}
			kept = list
		}},
		{"slice-2", "a slice with room for two from the beginning", func(things []*held) {
			list := make([]*held, 0, 2)
			for _, h := range things {
				list = append(list, h.take())
			}
			for _, h := range list {
				h.release()
			}
			kept = list
		}},
		{"linked", "a linked list", func(things []*held) {
			l := linked.New()
			for _, h := range things {
				l.PushBack(h.take())
			}
			for e := l.Front(); e != nil; e = e.Next() {
				e.Value.(*held).release()
			}
			kept = l
		}},
	}
}

// kept makes what a transaction holds escape, as it does when a transaction is passed on.
var kept any

// Measure has transactions hold two things each, one after the other, for about d, and
// returns what one takes.
func (h Holder) Measure(d time.Duration) (nanos, bytes, allocs float64, err error) {
	things := []*held{new(held), new(held)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun, n := time.Now(), 0
	for n == 0 || time.Since(begun) < d {
		for range 1000 { // so that reading the clock is nothing
			h.hold(things)
		}
		n += 1000
	}
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	kept = nil
	for _, t := range things {
		if n := t.holders.Load(); n != 0 {
			err = fmt.Errorf("%s: %d transactions have not given back what they held", h.Name, n)
			return 0, 0, 0, err
		}
	}
	per := func(x float64) float64 { return x / float64(n) }
	return per(float64(took)), per(float64(after.TotalAlloc - before.TotalAlloc)),
		per(float64(after.Mallocs - before.Mallocs)), nil
}
