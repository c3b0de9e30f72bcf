package tree

import (
	"bytes"
	"fmt"
	"slices"
	"unsafe"
)

// planSplit decides whether the one leaf of f becomes two, and where: at a key above low and below
// high, the ends of the leaf. last says that keys seem to come in order. It reads keys, and may call
// compare, so nothing is locked. The decision holds while the leaf has the same word, see T3, T4.
//
// The keys of some entries may have changed: a program has made strings of a buffer, and
// overwritten the buffer. Such keys must not lead others astray. So the sep of a node is always in
// its range; and a text goes to the side where its slice, a copy, will be looked for.
func (f *filling) planSplit(last bool, low, high separator) {
	f.sep.inf = true
	if f.n <= fullEnough {
		return
	}
	var by [Cap + 1]uint64
	for j := range f.n {
		by[j] = f.slice(j)
	}
	t, first := f.tree, f.n/2
	if last {
		first = f.n - 1
	}
	for try := range f.n {
		at := (first + try) % f.n
		if at == 0 {
			continue
		}
		s := f.sepAt(at, &by, low)
		if !low.inf && t.compare(low, s) >= 0 || !high.inf && t.compare(s, high) >= 0 {
			continue
		}
		if n := f.allot(at, s, &by); n > 0 && n < f.n {
			f.sep = s
			return
		}
	}
	panic(fmt.Sprintf("mvcc: the keys beside %v have changed since they were stored, or compare is no order",
		t.Name(t.key(f.all[first].head))))
}

// moves reports whether the leaf is being replaced: some heads are the mark, then.
func (f *filling) moves() bool {
	return slices.ContainsFunc(f.all[:f.n], func(e entry) bool { return e.head == f.tree.Moved })
}

// slice returns the slice of entry j, as it is in the leaf, or as it would be.
func (f *filling) slice(j int) uint64 {
	e, l := f.all[j], f.from[0].l
	if e.from == fresh {
		return f.tree.order.slice(f.tree.key(e.head), l.skippedBits())
	}
	return l.slices[e.from&31].Load()
}

// sepAt returns a place between entries at-1 and at: the key of entry at; or, for a text, as much
// of it as its slice says, so that it is not read.
func (f *filling) sepAt(at int, by *[Cap + 1]uint64, low separator) separator {
	t, h := f.tree, f.all[at].head
	switch {
	case t.order.exact():
		return separator{s: by[at]}
	case t.order.kind == kindText && by[at-1] < by[at]:
		text := ""
		if !low.inf {
			text = *(*string)(low.key)
		}
		text = textAt(text, f.from[0].l.skippedBits(), by[at])
		return separator{key: unsafe.Pointer(&text)}
	}
	return separator{key: t.Own(t.key(h))} // a copy: the key of h would keep a chain
}

// textAt returns the least text that has the first skip bits of low, and then those of slice.
func textAt(low string, skip uint32, slice uint64) string {
	text := make([]byte, skip/8+9)
	copy(text, low[:min(len(low), int(skip/8)+1)])
	end, rest := text[skip/8:], skip%8
	end[0] = end[0]&^(0xff>>rest) | byte(slice>>rest>>56)
	for i := 1; i < len(end); i++ {
		end[i] = byte(slice << (8*uint32(i) - rest) >> 56)
	}
	return string(bytes.TrimRight(text, "\x00"))
}

// allot decides which entries go to the right of s, between entries at-1 and at, and returns their
// number.
func (f *filling) allot(at int, s separator, by *[Cap + 1]uint64) (right int) {
	f.right = 0
	t := f.tree
	text, middle := t.order.kind == kindText, uint64(0)
	if text {
		middle = t.order.slice(s.key, f.from[0].l.skippedBits())
	}
	for j, e := range f.all[:f.n] {
		goes := j >= at
		if text {
			goes = by[j] > middle ||
				by[j] == middle && t.order.callCompare(t.key(e.head), s.key) >= 0
		}
		if goes {
			f.right |= e.rightBit()
			right++
		}
	}
	return right
}
