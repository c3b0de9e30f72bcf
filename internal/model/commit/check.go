package commit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mvccmap/mvccmap/internal/model/history"
)

// Invariant checks that chains are strictly descending and that only a head
// may be undecided or aborted (I5), and that reads are repeatable.
func (m *Model) Invariant(s *state) error {
	if s.unrepeatable {
		return errors.New("a transaction has read a key twice, with different results")
	}
	for e := uint8(1); e <= s.entries; e++ {
		h := s.head[e]
		if h == dead {
			continue
		}
		last := uint8(255)
		for v := h; v != 0; v = s.next[v] {
			w := m.word(s, v)
			if w.kind() != committed {
				if v != h {
					return fmt.Errorf("%s is %v below the head", m.versions[v].name, w)
				}
				continue
			}
			if w.epoch() >= last {
				return fmt.Errorf("%s (epoch %d) is not below epoch %d", m.versions[v].name, w.epoch(), last)
			}
			last = w.epoch()
		}
	}
	return nil
}

// outcome is all that the verdict on a final state depends on.
type outcome struct {
	ok     uint8
	before [maxOps]uint8
	result [maxOps][maxKeys]uint8
	final  [maxKeys]uint8
}

// Final checks that what the operations have returned, and what the map holds
// in the end, can be explained by an order of the operations.
func (m *Model) Final(s *state) error {
	o := outcome{ok: s.ok, before: s.before, result: s.result}
	for k := range m.keys {
		o.final[k] = m.newest(s, Key(k))
	}
	for i := range m.Procs {
		if p := s.proc[i]; p.live || p.b != 0 || p.marks != 0 || p.h != 0 || p.n != 0 || p.w != 0 || p.d != 0 || p.t != 0 || p.e != 0 {
			return fmt.Errorf("process %d has left registers behind: %+v", i+1, p)
		}
	}
	err, known := m.verdicts[o]
	if !known {
		h := m.history(&o)
		if _, ok := h.Order(); !ok {
			err = fmt.Errorf("no order explains: %v", &h)
		}
		m.verdicts[o] = err
	}
	return err
}

// newest returns the newest committed version of k, or 0.
func (m *Model) newest(s *state, k Key) uint8 {
	e := s.index[k]
	if e == 0 || s.head[e] == dead {
		return 0
	}
	v := s.head[e]
	if v != 0 && m.word(s, v).kind() != committed {
		v = s.next[v]
	}
	return v
}

// value returns what a reader of version v gets.
func (m *Model) value(v uint8) history.Value {
	switch x := &m.versions[v]; {
	case v == 0 || x.tomb:
		return history.Absent
	case x.op < 0:
		return history.Value(1 + x.key)
	default:
		return history.Value(10 + x.op)
	}
}

// history builds the history of the operations that have succeeded, followed
// by one that reads every key.
func (m *Model) history(o *outcome) history.History {
	var h history.History
	for k := range m.keys {
		h.Initial[k] = history.Value(1 + k)
	}
	for _, k := range slices.Concat(m.Deleted, m.Absent) {
		h.Initial[k] = history.Absent
	}
	var events [maxOps]uint16 // the events of an operation
	add := func(e history.Event) uint16 {
		h.Events = append(h.Events, e)
		return 1 << (len(h.Events) - 1)
	}
	for id, op := range m.ops {
		if o.ok>>id&1 == 0 {
			continue
		}
		e := history.Event{Name: m.opNames[id], Reads: history.NoAccess, Writes: history.NoAccess}
		for _, k := range op.Reads {
			e.Reads[k] = m.value(o.result[id][k])
		}
		writes := op.Writes
		if op.Kind == SwapKind || op.Kind == LoadOrStoreKind {
			k := op.Writes[0]
			e.Reads[k] = m.value(o.result[id][k])
			if op.Kind == LoadOrStoreKind && e.Reads[k] != history.Absent {
				writes = nil
			}
		}
		if op.Level == Snapshot && len(op.Reads) > 0 && len(op.Writes) > 0 {
			events[id] = add(e)
			e.Name += " (writes)"
			e.Reads = history.NoAccess
			e.Base = len(h.Events)
			e.After = events[id]
		}
		for _, k := range writes {
			e.Writes[k] = history.Value(10 + id)
			if op.Kind == DeleteKind {
				e.Writes[k] = history.Absent
			}
		}
		events[id] |= add(e)
	}
	for id := range m.ops {
		for prev := range m.ops {
			if o.before[id]>>prev&1 == 0 {
				continue
			}
			for i := range h.Events {
				if events[id]>>i&1 != 0 {
					h.Events[i].After |= events[prev]
				}
			}
		}
	}
	last := history.Event{Name: "in the end", Reads: history.NoAccess, Writes: history.NoAccess}
	last.After = 1<<len(h.Events) - 1
	for k := range m.keys {
		last.Reads[k] = m.value(o.final[k])
	}
	add(last)
	return h
}
