package explore

import "hash/maphash"

// chunk is the number of states allocated together. Chunks never move, so a
// pointer to a state stays valid while the table grows.
const chunk = 1 << 14

// table is a set of states that numbers them in order of arrival, from 0.
type table[S comparable] struct {
	seed   maphash.Seed
	chunks [][]S
	hashes []uint32 // hashes[id], to rehash without touching the states
	slots  []uint64 // open addressing: hash<<32 | id+1, or 0
}

// len returns the number of states in the set.
func (t *table[S]) len() int { return len(t.hashes) }

// placeOf returns state id, which must not be modified.
func (t *table[S]) placeOf(id uint32) *S { return &t.chunks[id/chunk][id%chunk] }

// add returns the number of state s and whether it is new. It copies s.
func (t *table[S]) add(s *S) (id uint32, fresh bool) {
	if 4*t.len() >= 3*len(t.slots) {
		t.enlarge()
	}
	h := uint32(maphash.Comparable(t.seed, *s) >> 16)
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for ; t.slots[i] != 0; i = (i + 1) & mask {
		if uint32(t.slots[i]>>32) == h {
			if id := uint32(t.slots[i]) - 1; *t.placeOf(id) == *s {
				return id, false
			}
		}
	}
	id = uint32(t.len())
	if id%chunk == 0 {
		t.chunks = append(t.chunks, make([]S, chunk))
	}
	*t.placeOf(id) = *s
	t.hashes = append(t.hashes, h)
	t.slots[i] = uint64(h)<<32 | uint64(id+1)
	return id, true
}

// enlarge doubles the number of slots.
func (t *table[S]) enlarge() {
	n := 2 * len(t.slots)
	if n == 0 {
		t.seed = maphash.MakeSeed()
		n = 1 << 10
	}
	t.slots = make([]uint64, n)
	mask := uint32(n - 1)
	for id, h := range t.hashes {
		i := h & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint64(h)<<32 | uint64(id+1)
	}
}
