package journey

import (
	linked "container/list"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/bench"
)

// held is a thing that transactions hold: it counts the holders.
type held = atomic.Int64

// A holder is a way to keep the few things that a read transaction holds, and must give
// back at its end.
type holder struct {
	name string
	doc  string // without the full stop
	hold func(things []*held)
}

// holders are the ways of the post on read transactions of RavenDB, in its order.
var holders = []holder{
	{"set", "a map whose keys they are", func(things []*held) {
		set := map[*held]struct{}{}
		for _, h := range things {
			h.Add(1)
			set[h] = struct{}{}
		}
		for h := range set {
			h.Add(-1)
		}
		kept = set
	}},
	{"slice", "a slice that grows", func(things []*held) { inSlice(nil, things) }},
	{"slice-2", "a slice with room for two from the beginning", func(things []*held) {
		inSlice(make([]*held, 0, 2), things)
	}},
	{"linked", "a linked list", func(things []*held) {
		l := linked.New()
		for _, h := range things {
			h.Add(1)
			l.PushBack(h)
		}
		for e := l.Front(); e != nil; e = e.Next() {
			e.Value.(*held).Add(-1)
		}
		kept = l
	}},
}

func inSlice(list, things []*held) {
	for _, h := range things {
		h.Add(1)
		list = append(list, h)
	}
	for _, h := range list {
		h.Add(-1)
	}
	kept = list
}

// kept makes what a transaction holds escape, as it does when a transaction is passed on.
var kept any

// Held is how many transactions hold things in one Begin of an engine of [Holders]: so many that
// what the harness takes is nothing.
const Held = 1000

// Holders returns engines for the workload begin. Each keeps what a transaction holds, two
// things, in its own way.
func Holders() (list []bench.EngineSpec) {
	for _, h := range holders {
		spec := Engine(h.name, h.doc, Config{Tracker: Slots, Chain: List})
		list = append(list, spec.Wrapped(func(s bench.Session[uint64]) bench.Session[uint64] {
			return &holding{s, h, []*held{new(held), new(held)}}
		}))
	}
	return list
}

type holding struct {
	bench.Session[uint64]
	holder
	things []*held
}

// Begin implements [bench.Beginner].
func (s *holding) Begin() error {
	for range Held {
		s.hold(s.things)
	}
	runtime.KeepAlive(kept)
	for _, t := range s.things {
		if n := t.Load(); n != 0 {
			return &bench.Violation{Detail: fmt.Sprintf(
				"in %s: %d transactions have not given back what they held", s.doc, n)}
		}
	}
	return nil
}
