package mvcc

import (
	"slices"

	"github.com/mvccmap/mvccmap/internal/favour"
)

// insertInOrder is cover and publish for a key that has no slot, in an ordered map: the key is
// pinned meanwhile. It ends claim.
func (m *core) insertInOrder(
	p place, h uint64, v *node, s *schema, claim *favour.Claim,
) (_ place, inserted bool) {
	m.order.pinOne(v)
	done := false
	defer func() {
		m.order.unpinOne(v)
		if done {
			m.dropIfGone(v.key())
		} else {
			claim.End()
			quietly(func() { m.dropIfGone(v.key()) })
		}
	}()
	if p, inserted = m.cover(p, h, nil, nil, v, s); inserted {
		claim.End()
		m.publish(p, h, nil, v)
	}
	done = true
	return p, inserted
}

// unpinAll lets go of the keys that the transaction has pinned, in all maps, and drops those
// that have no slot.
func (st *txState) unpinAll() {
	st.unpin()
	for _, p := range st.more {
		p.unpin()
	}
	st.dropPinned()
	for _, p := range st.more {
		p.dropPinned()
	}
}

// unpin unpins the keys that are pinned in this map, once. It calls no function of the user.
func (st *txState) unpin() {
	if st.pins != nil && !st.unpinned {
		st.unpinned = true
		st.m.order.unpin(st.pins)
	}
}

// dropPinned drops the keys that unpin has let go of.
func (st *txState) dropPinned() {
	for i := range st.pins {
		st.m.dropIfGone(st.pins[i].key())
	}
}

// notePins notes the keys, sorted, that the transaction has pinned in this map.
func (st *txState) notePins(keys []*node) {
	st.rare().pins = keys
	if st.up != nil {
		st.up.rare().pinned = true
	} else {
		st.pinned = true
	}
}

// pinNew pins the keys that the transaction is to insert, in an ordered map: before
// anything is installed, since it may take its time.
func (st *txState) pinNew() {
	if st.m.order != nil {
		st.pinInserts()
	}
}

func (st *txState) pinInserts() {
	m := st.m
	var keys []*node
	for i := range st.writes {
		w := &st.writes[i]
		if _, head := m.index.again(w.at, w.hash, w.v.key()); head == nil {
			keys = append(keys, w.v)
		}
	}
	sortKeys(keys, m.order.compareNodes)
	for from := 0; from < len(keys); from += pinBatch {
		to := min(from+pinBatch, len(keys))
		m.order.pin(keys[from:to])
		st.notePins(keys[:to])
	}
}

// pinOne is pinNew for a key that has turned out to have no slot.
func (st *txState) pinOne(v *node) {
	order := st.m.order
	if _, there := slices.BinarySearchFunc(st.pins, v, order.compareNodes); !there {
		order.pinOne(v)
		st.notePins(append(st.pins, v))
		sortKeys(st.pins, order.compareNodes)
	}
}
