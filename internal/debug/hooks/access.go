package hooks

// An Access describes the effect of a step on shared memory: a scheduler must know it
// to tell whether two steps commute.
type Access uint8

const (
	// Read changes nothing.
	Read Access = iota
	// Write may change the object.
	Write
	// Walk reads all of the index, or a part of it that is not known.
	Walk
)
