package epoch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// liveEpochs returns the live epochs below m as a scan finds them.
func liveEpochs(s *epoch.Slots, m epoch.Epoch) []epoch.Epoch {
	var v epoch.View
	s.Look(&v, m, nil)
	return v.Live()
}

// rounds does n rounds, one in a second, without limits.
func rounds(s *epoch.Slots, n int) {
	for i := range n {
		s.Round(time.Duration(i)*time.Second, epoch.Limits{})
	}
}

// begin acquires a slot and begins a transaction in it.
func begin(s *epoch.Slots, writer uint64) (slot *epoch.Slot, at epoch.Epoch) {
	slot = s.Acquire()
	return slot, s.Begin(slot, writer)
}

// endTransaction ends the transaction of slot, whose owner keeps the slot or not.
func endTransaction(t *testing.T, slot *epoch.Slot, keeps bool) {
	t.Helper()
	gen := slot.Gen()
	require.True(t, slot.End(gen))
	require.Equal(t, keeps, slot.Keep(gen))
}
