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
	for _, p := range st.parts {
		p.unpin()
	}
	for _, p := range st.parts {
		p.dropPinned()
	}
}

// unpin unpins the keys that are pinned in this map, once. It calls no function of the user.
func (p *part) unpin() {
	if p.pins != nil && !p.unpinned {
		p.unpinned = true
		p.m.order.unpin(p.pins)
	}
}

// dropPinned drops the keys that unpin has let go of.
func (p *part) dropPinned() {
	for i := range p.pins {
		p.m.dropIfGone(p.pins[i].key())
	}
}

// notePins notes the keys, sorted, that the transaction has pinned in this map.
func (p *part) notePins(keys []*node) {
	p.rare().pins = keys
	p.st.rare().pinned = true
}

// pinNew pins the keys that the transaction is to insert, in an ordered map: before
// anything is installed, since it may take its time.
func (st *txState) pinNew() {
	for _, p := range st.parts {
		if p.m.order != nil && p.hasWritten {
			st.pinInserts()
			return
		}
	}
}

// pinInserts looks for the keys that have no slot, and pins those of one table after the other.
func (st *txState) pinInserts() {
	for i := range st.writes {
		w := &st.writes[i]
		p := st.parts[w.of]
		if p.m.order == nil {
			continue
		}
		if _, head := p.index.again(w.at(), w.hash, w.v.key()); head == nil {
			p.rare().inserts = append(p.inserts, w.v)
		}
	}
	for _, p := range st.parts {
		if len(p.inserts) > 0 {
			p.pinInserts()
		}
	}
}

func (p *part) pinInserts() {
	m, keys := p.m, p.inserts
	sortKeys(keys, m.order.compareNodes)
	for from := 0; from < len(keys); from += pinBatch {
		to := min(from+pinBatch, len(keys))
		m.order.pin(keys[from:to])
		p.notePins(keys[:to])
	}
}

// pinOne is pinNew for a key that has turned out to have no slot.
func (p *part) pinOne(v *node) {
	order := p.m.order
	if _, there := slices.BinarySearchFunc(p.pins, v, order.compareNodes); !there {
		order.pinOne(v)
		p.notePins(append(p.pins, v))
		sortKeys(p.pins, order.compareNodes)
	}
}
