//go:build !race

package epoch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// A transaction in steady state allocates nothing: neither to take a state out
// of the pool and give it back, nor to begin and end.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	s := epoch.NewSlots()
	type state struct {
		slot *epoch.Slot
		_    [64]byte
	}
	var p epoch.Pool[state]
	const open = 4 * epoch.PoolLocal // spills and refills too
	var held [open]*state
	for i := range held {
		held[i] = &state{slot: s.Acquire()}
	}
	for range 2 {
		for i := range held {
			p.Put(held[i])
		}
		for i := range held {
			if held[i] = p.Get(); held[i] == nil {
				held[i] = &state{slot: s.Acquire()} // at home in another shard
			}
		}
	}
	for i := range held {
		p.Put(held[i])
	}

	one := testing.AllocsPerRun(1000, func() {
		st := p.Get()
		s.Begin(st.slot, 0)
		s.Next()
		if !st.slot.End(st.slot.Gen()) {
			panic("not ended")
		}
		p.Put(st)
	})
	require.Zero(t, one)
	most := 0
	spill := testing.AllocsPerRun(200, func() { // on one P, after a warm-up
		var taken [open]*state
		n := 0
		for n < open {
			if taken[n] = p.Get(); taken[n] == nil {
				break // the rest is at home in another shard
			}
			n++
		}
		for _, st := range taken[:n] {
			p.Put(st)
		}
		most = max(most, n)
	})
	require.Greater(t, most, 2*epoch.PoolLocal)
	require.Zero(t, spill)
	if invariant.Enabled {
		return // the checks allocate
	}

	var v epoch.View
	buf := make([]epoch.Epoch, 0, open)
	held[0].slot.End(held[0].slot.Gen())
	for i := range 3 {
		s.Begin(held[i].slot, 0)
		s.Next()
	}
	refresh := testing.AllocsPerRun(100, func() {
		_, buf = s.Look(&v, s.Announce(), buf)
		s.Census()
	})
	require.Zero(t, refresh)
	rounds(s, 3)
	round := testing.AllocsPerRun(100, func() { s.Round(time.Hour, epoch.Limits{Warn: time.Second}) })
	require.Zero(t, round)
}
