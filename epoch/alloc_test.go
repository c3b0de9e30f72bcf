//go:build !race

package epoch_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// Transactions in steady state allocate nothing: neither to take states out of the pool, also where
// these spill over, and give them back, nor to begin and end. Nor do views and rounds.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := epoch.NewSlots()
	type state struct{ slot *epoch.Slot }
	var p epoch.Pool[state]
	held := make([]*state, 4*epoch.PoolLocal)
	for i := range held {
		held[i] = &state{s.Acquire()}
	}
	require.Zero(t, testing.AllocsPerRun(200, func() {
		for _, st := range held {
			p.Put(st)
		}
		for i := range held {
			held[i] = p.Get()
			s.Begin(held[i].slot, 0)
			s.Next()
			held[i].slot.End(held[i].slot.Gen())
		}
	}))
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
