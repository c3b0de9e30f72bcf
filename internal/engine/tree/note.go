package tree

import "unsafe"

// A Note has the keys and heads that a cursor has met in a leaf. By a note a transaction finds out
// later, without loading a version, that no key has come into the leaf and no head that the cursor
// has met has changed. A note does not keep the heads. Its owner must see to it that they exist for
// as long as the note is used: then the same address is the same head. Versions that a live
// transaction sees do exist for so long.
type Note struct {
	l    *Leaf
	sum  uint64
	met  uint32 // a bit for each entry whose head is in sum
	used uint8
}

// Note returns a note of the leaf that Next has gone on to. It has the keys that Head will go
// along, and no keys that have come since.
func (c *Cursor) Note() Note { return Note{l: c.l, used: uint8(c.w.usedCount())} }

// Of reports whether the note is of the same leaf as o, with the same keys.
func (n *Note) Of(o *Note) bool { return n.l == o.l && n.used == o.used }

// Add adds the head h that Head has returned with a place.
func (n *Note) Add(at Place, h *Head) {
	if bit := uint32(1) << at.I; n.met&bit == 0 {
		n.met |= bit
		n.sum += address(h) * factors[at.I]
	}
}

// Same reports whether the leaf is as it was: it is not dead, has the same keys, and the keys that
// were met have the same heads. It notices every writer that had put its head there before the
// call.
func (n *Note) Same() bool {
	// A writer that found a key's cell elsewhere had found the cell here marked. One that inserted
	// into the replacement had found the leaf dead.
	sum := uint64(0)
	for m := n.met; m != 0; m &= m - 1 {
		i := lowest(m)
		sum += address(n.l.rawLoad(i)) * factors[i]
	}
	w := n.l.load()
	return sum == n.sum && !w.isDead() && w.usedCount() == int(n.used)
}

func address(h *Head) uint64 { return uint64(uintptr(unsafe.Pointer(h))) }

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
