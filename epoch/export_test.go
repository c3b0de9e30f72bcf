package epoch

import "unsafe"

// Sizes for the tests.
const (
	PoolLocal = poolLocal
	GroupSize = groupSize
)

// SlotSize is the memory of a slot.
const SlotSize = unsafe.Sizeof(Slot{})

// Groups returns how many groups of slots the directory has.
func (s *Slots) Groups() int { return len(*s.dir.Load()) }

// Pins returns how many promoted transactions are noted, including those that have ended.
func (s *Slots) Pins() int { return len(s.pins.list) }
