package hooks

// An Access says what a step does to shared memory: what a scheduler must know
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
