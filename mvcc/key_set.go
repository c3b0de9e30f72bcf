package mvcc

import (
	"slices"
	"unsafe"
)

// A keySet is a set of keys, which are given by where they are, and kept there.
type keySet struct {
	by   map[uint64]unsafe.Pointer // by their hashes
	more []unsafe.Pointer          // whose hashes others had before
}

// add adds the key at key, and reports whether it was not there.
func (s *keySet) add(h *hasher, key unsafe.Pointer) bool {
	hash := h.sum(key)
	first, taken := s.by[hash]
	switch {
	case !taken && s.amongMore(h, key) < 0:
		if s.by == nil {
			s.by = map[uint64]unsafe.Pointer{}
		}
		s.by[hash] = key
		return true
	case !taken || h.equal(first, key) || s.amongMore(h, key) >= 0:
		return false
	}
	s.more = append(s.more, key)
	return true
}

// remove takes the key out that is equal to that at key.
func (s *keySet) remove(h *hasher, key unsafe.Pointer) {
	hash := h.sum(key)
	if first, there := s.by[hash]; there && h.equal(first, key) {
		delete(s.by, hash)
	} else if i := s.amongMore(h, key); i >= 0 {
		s.more = slices.Delete(s.more, i, i+1)
	}
}

func (s *keySet) amongMore(h *hasher, key unsafe.Pointer) int {
	return slices.IndexFunc(s.more, func(o unsafe.Pointer) bool { return h.equal(o, key) })
}
