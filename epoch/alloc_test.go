//go:build !race

package epoch_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
)

// Transactions in steady state allocate nothing: neither to take states out of the pool, also where
// these spill over, and give them back, nor to begin and end. Nor do views and rounds.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := epoch.NewSlots()
	type state struct{ slot *epoch.Slot }
	var p epoch.Pool[state]
	held := make([]*state, 4*epoch.PoolLocal)
	for range held {
		p.Put(&state{s.Acquire()})
	}
	most := 0
	require.Zero(t, testing.AllocsPerRun(200, func() {
		n := 0
		for st := p.Get(); st != nil; st = p.Get() { // the rest may be at home in another shard
			s.Begin(st.slot, 0)
			s.Next()
			st.slot.End(st.slot.Gen())
			held[n] = st
			n++
		}
		for _, st := range held[:n] {
			p.Put(st)
		}
		most = max(most, n)
	}))
	require.Greater(t, most, 2*epoch.PoolLocal)
	if invariant.Enabled {
		return // the checks allocate
	}

	var v epoch.View
	buf := make([]epoch.Epoch, 0, len(held))
	for i := range 3 {
		s.Begin(held[i].slot, 0)
		s.Next()
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, buf = s.Look(&v, s.Announce(), buf)
		s.Census()
	}))
	rounds(s, 3)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Round(time.Hour, epoch.Limits{Warn: time.Second})
	}))
}
