package record

import "fmt"

// A word is a state of a version or of a record.
type word struct {
	tag   tag
	e     uint8 // epoch or floor
	check bool  // announced, tentative: validates
}

type tag uint8

const (
	private tag = iota
	indirect
	active
	announced
	tentative
	committed
	aborted
)

// decided is an announced word after its decision at epoch e.
func (w word) decided(e uint8) word {
	if w.check {
		return word{tentative, e, true}
	}
	return word{tag: committed, e: e}
}

func (w word) seenAt(s uint8) bool { return w.tag == committed && w.e <= s }

// String shows the tag's first letters.
func (w word) String() string {
	return fmt.Sprint("-  indactanntencomabo"[3*w.tag:3*w.tag+3], w.e)
}
