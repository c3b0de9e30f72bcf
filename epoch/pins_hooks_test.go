//go:build mvcccheck

package epoch

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A transaction that begins and ends between the two loads of a scan does not make an
// idle slot seem live, as of an epoch that is long over, nor the next transaction
// in it seem old.
func TestScanOfSlotInUse(t *testing.T) {
	s := NewSlots()
	slot := s.Acquire()
	s.Begin(slot, 0)
	slot.End(slot.Gen())
	s.Next()
	armed := false
	remove := hooks.Accesses(func(p unsafe.Pointer) {
		if armed && p == unsafe.Pointer(&slot.gen) {
			armed = false
			s.Begin(slot, 0)
			slot.End(slot.Gen())
		}
	})
	defer remove()
	armed = true
	_, ok := s.Round(time.Second, Limits{})
	require.False(t, ok, "an idle slot is a pin")
	m := s.Announce()
	armed = true
	var v View
	s.Look(&v, m, nil)
	require.Empty(t, v.Live())
	require.False(t, armed)
	armed = true
	live, _, _ := s.Census()
	require.Zero(t, live)
	armed = false
	s.Begin(slot, 0)
	s.Next()
	pin, ok := s.Round(time.Hour, Limits{})
	require.True(t, ok)
	require.Equal(t, time.Hour, pin.Since)
}
