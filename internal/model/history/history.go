// Package history decides whether what transactions and one-key operations have
// returned can be explained by running them one after another.
//
// A [History] holds events. A serializable transaction, a read-only transaction
// or a one-key operation is one event: all its reads and writes happen at one
// point between its invocation and its response. A transaction at snapshot
// level that has read something is two, its reads and later its writes, with
// nobody else writing the same keys in between (first committer wins). The
// history is explained if the events can be put in a total order that respects
// real time, in which every read returns the latest value written before it:
// strict serializability, and for the two-event transactions strong snapshot
// isolation.
package history

import (
	"fmt"
	"strings"
)

// Limits of a history.
const (
	MaxKeys   = 4
	MaxEvents = 16
)

// Event is what happens at one point of the total order. Reads are made before
// the event's own writes.
type Event struct {
	Name   string
	Reads  [MaxKeys]Value // Unread where the event does not read
	Writes [MaxKeys]Value // Unread where the event does not write
	After  uint16         // bit j set: event j precedes this one in real time
	Base   int            // 1 + the event that took this one's snapshot, or 0
}

// Value identifies a write, or absence. Writes of present values must differ.
type Value int8

// The two values that stand for no write.
const (
	Unread Value = -1 // no access
	Absent Value = 0  // the key is not there
)

// NoAccess has Unread for every key.
var NoAccess = [MaxKeys]Value{Unread, Unread, Unread, Unread}

// History is a set of events and the values from which they start.
type History struct {
	Initial [MaxKeys]Value
	Events  []Event
}

// Order returns an order of the events that explains the history, and whether
// there is one. The search is exponential in the number of events.
func (h *History) Order() ([]int, bool) {
	if len(h.Events) > MaxEvents {
		panic("history: too many events")
	}
	s := searcher{h: h}
	if !s.place(0, h.Initial) {
		return nil, false
	}
	return s.order, true
}

type searcher struct {
	h     *History
	order []int
	snaps [MaxEvents][MaxKeys]Value // the store when event i took its snapshot
}

// place puts the events that are not in the set done after those that are,
// which have left store behind.
func (s *searcher) place(done uint16, store [MaxKeys]Value) bool {
	if len(s.order) == len(s.h.Events) {
		return true
	}
	for i := range s.h.Events {
		e := &s.h.Events[i]
		if done>>i&1 != 0 || e.After&^done != 0 || !s.legal(e, &store) {
			continue
		}
		next := store
		for k, w := range e.Writes {
			if w != Unread {
				next[k] = w
			}
		}
		s.snaps[i] = store
		s.order = append(s.order, i)
		if s.place(done|1<<i, next) {
			return true
		}
		s.order = s.order[:len(s.order)-1]
	}
	return false
}

// legal reports whether e may happen when store holds the latest values.
func (s *searcher) legal(e *Event, store *[MaxKeys]Value) bool {
	for k := range store {
		if e.Reads[k] != Unread && e.Reads[k] != store[k] {
			return false
		}
		if e.Base > 0 && e.Writes[k] != Unread && s.snaps[e.Base-1][k] != store[k] {
			return false // somebody has written the key since the snapshot
		}
	}
	return true
}

// String lists the events with what they read, wrote and must follow.
func (h *History) String() string {
	var parts []string
	for _, e := range h.Events {
		var b strings.Builder
		b.WriteString(e.Name)
		for k := range MaxKeys {
			if e.Reads[k] != Unread {
				fmt.Fprintf(&b, " %c=%s", "xyzw"[k], h.name(e.Reads[k]))
			}
			if e.Writes[k] != Unread {
				fmt.Fprintf(&b, " %c:=%s", "xyzw"[k], h.name(e.Writes[k]))
			}
		}
		for j := range h.Events {
			if e.After>>j&1 != 0 {
				fmt.Fprintf(&b, " after %s", h.Events[j].Name)
			}
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "; ")
}

func (h *History) name(v Value) string {
	if v == Absent {
		return "absent"
	}
	return fmt.Sprint(int8(v))
}
