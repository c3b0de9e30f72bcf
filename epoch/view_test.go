package epoch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// A view stays as it was made, whatever is looked at afterwards with the same scratch.
func TestViewStaysAsItWas(t *testing.T) {
	s := epoch.NewSlots()
	var first, second epoch.View
	var scratch, want []epoch.Epoch
	var slots []*epoch.Slot
	for range 100 {
		slot, at := begin(s, 0)
		slots, want = append(slots, slot), append(want, at)
		s.Next()
	}
	_, scratch = s.Look(&first, s.Announce(), scratch)
	require.Equal(t, want, first.Live())
	for _, slot := range slots {
		endTransaction(t, slot, true)
	}
	begin(s, 0)
	s.Next()
	s.Look(&second, s.Announce(), scratch)
	require.Len(t, second.Live(), 1)
	require.Equal(t, want, first.Live())
}

// A transaction that was not traced has no trace, although one before it in its slot
// was.
func TestTraceIsOfOneTransaction(t *testing.T) {
	s := epoch.NewSlots()
	slot, _ := begin(s, 0)
	slot.Trace(slot.Gen(), 0)
	endTransaction(t, slot, true)
	s.Begin(slot, 0)
	pin, ok := s.Round(time.Second, epoch.Limits{})
	require.True(t, ok)
	require.Empty(t, pin.Began())
	slot.Trace(slot.Gen(), 0)
	require.NotEmpty(t, pin.Began())
	endTransaction(t, slot, true)
}
