package tree

import "unsafe"

// A Note is what a leaf said when a cursor came to it: so a transaction that has gone along it
// finds out later, without a look at a version, that no key has come into it and no head has
// changed. It does not keep the heads: who takes a note must see to it that those which it has met
// are there for as long as the note is used, as versions are that a live transaction sees. Then the
// same address is the same head.
type Note struct {
	l    *Leaf
	sum  uint64
	used int
}

// Note returns a note of the leaf that Next has gone on to, taken before Head is called. It has the
// keys that Head will go along, and not those that have come since.
func (c *Cursor) Note() Note { return Note{c.l, c.l.sum(c.w.used()), c.w.used()} }

// Same reports whether the leaf is as it was: it is not dead, has the same keys, and they have the
// same heads. That is true at the moment of the call for a writer that had put its head there
// before it.
func (n *Note) Same() bool {
	w := n.l.load()
	return !w.dead() && w.used() == n.used && n.l.sum(n.used) == n.sum
}

// sum returns a number that is another one if one of the first slots changes: a mark changes it
// too.
func (l *Leaf) sum(used int) (sum uint64) {
	for i, factor := range factors[:used] {
		sum += uint64(uintptr(unsafe.Pointer(l.rawLoad(i)))) * factor
	}
	return sum
}

// factors are odd numbers without a pattern: addresses have one, and sums must not cancel out.
var factors = func() (f [Cap]uint64) {
	x := uint64(0)
	for i := range f { // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		f[i] = z ^ z>>31 | 1
	}
	return f
}()
