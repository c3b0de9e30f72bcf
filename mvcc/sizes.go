package mvcc

// mapSizes are what is known of each map.
type mapSizes struct {
	keys, entries     int
	index, perVersion uint64 // bytes of the index, and of a version
	conflicts         [ConflictWrite + 1]uint64
}

func (c *chains) sizes() (s mapSizes) {
	s.perVersion = c.perVersion
	s.keys = int(max(c.counters.keys.Value(), 0))
	for kind := range s.conflicts {
		s.conflicts[kind] = c.counters.conflicts[kind].Load()
	}
	if c.index != nil {
		s.entries, s.index = int(max(c.index.entries.Value(), 0)), c.index.bytes()
	}
	return s
}

// cellBytes is what a slot takes with the state that owns it, and with what the runtime
// notes to notice that the state has become unreachable.
const cellBytes = 240

// allocated returns about what the allocator takes for an object of size n: the
// size classes of Go are 8, 16, 24, 32, then 16 apart up to 128, and above that
// about an eighth apart.
func allocated(n uintptr) uint64 {
	step := uintptr(8)
	switch {
	case n > 128:
		for step = 16; step*8 < n; step *= 2 {
		}
	case n > 32:
		step = 16
	}
	return uint64((n + step - 1) / step * step)
}
