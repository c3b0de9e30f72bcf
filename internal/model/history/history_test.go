package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/mvccmap/mvccmap/internal/model/history"
)

// event reads and writes keys 0 and 1; Unread means no access.
func event(rx, ry, wx, wy Value, after uint16) Event {
	e := Event{Name: "e", Reads: NoAccess, Writes: NoAccess, After: after}
	e.Reads[0], e.Reads[1], e.Writes[0], e.Writes[1] = rx, ry, wx, wy
	return e
}

const u = Unread

func TestOrder(t *testing.T) {
	split := func(h History) History { // event 1 writes what event 0 has snapshotted
		h.Events[1].Base = 1
		return h
	}
	for _, c := range []struct {
		name string
		h    History
		ok   bool
	}{
		{"empty", History{}, true},
		{"read of the initial value before the write", History{Events: []Event{
			event(u, u, 1, u, 0), event(Absent, u, u, u, 0)}}, true},
		{"stale read after the write has returned", History{Events: []Event{
			event(u, u, 1, u, 0), event(Absent, u, u, u, 1)}}, false},
		{"torn read", History{Events: []Event{
			event(u, u, 1, 2, 0), event(1, Absent, u, u, 0)}}, false},
		{"write skew", History{Events: []Event{
			event(Absent, Absent, 1, u, 0), event(Absent, Absent, u, 2, 0)}}, false},
		{"write skew at snapshot level", History{Events: []Event{
			event(Absent, Absent, u, u, 0), {Reads: NoAccess, Writes: [MaxKeys]Value{1, u, u, u}, After: 1, Base: 1},
			event(Absent, Absent, u, u, 0), {Reads: NoAccess, Writes: [MaxKeys]Value{u, 2, u, u}, After: 4, Base: 3}}}, true},
		{"lost update at snapshot level", History{Events: []Event{
			event(Absent, u, u, u, 0), {Reads: NoAccess, Writes: [MaxKeys]Value{1, u, u, u}, After: 1, Base: 1},
			event(Absent, u, u, u, 0), {Reads: NoAccess, Writes: [MaxKeys]Value{2, u, u, u}, After: 4, Base: 3}}}, false},
		{"blind overwrite after a snapshot is fine", split(History{Events: []Event{
			event(Absent, u, u, u, 0), event(u, u, 1, u, 1), event(u, u, u, 3, 0)}}), true},
		{"two readers see two writes in opposite orders", History{Events: []Event{
			event(u, u, 1, u, 0), event(u, u, u, 2, 0), event(1, Absent, u, u, 0), event(Absent, 2, u, u, 0)}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			order, ok := c.h.Order()
			require.Equal(t, c.ok, ok, c.h.String())
			if ok {
				require.Len(t, order, len(c.h.Events))
			}
		})
	}
}
