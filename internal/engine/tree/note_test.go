package tree

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A note says the same until a key comes into the leaf, a head changes, one is removed, or the leaf
// is replaced.
func TestNote(t *testing.T) {
	const n = 10
	changes := map[string]func(tr *Tree, heads []*Head){
		"nothing": func(*Tree, []*Head) {},
		"overwrite": func(tr *Tree, heads []*Head) {
			at, h := tr.Find(tr.key(heads[3]))
			require.True(t, at.Cell().CompareAndSwap(h, (&item[int]{key: 3, value: 1}).asHead()))
		},
		"overwrite of two": func(tr *Tree, heads []*Head) { // with each other's addresses apart
			for _, k := range []int{3, 4} {
				at, h := tr.Find(tr.key(heads[k]))
				require.True(t, at.Cell().CompareAndSwap(h, heads[7-k]))
			}
		},
		"insert": func(tr *Tree, _ []*Head) { tr.Insert((&item[int]{key: n}).asHead(), Gate{}) },
		"early": func(tr *Tree, _ []*Head) { // which the cursor does not meet any more
			tr.Insert((&item[int]{key: n}).asHead(), Gate{})
		},
		"remove": func(tr *Tree, heads []*Head) { tr.Remove(Place{}, heads[5]) },
		"replace": func(tr *Tree, heads []*Head) {
			for range 3 {
				tr.Tidy(tr.key(heads[5]))
			}
		},
		"elsewhere": func(tr *Tree, _ []*Head) {
			for k := range 500 {
				tr.Insert((&item[int]{key: 1000 + k}).asHead(), Gate{})
			}
		},
	}
	for name, change := range changes {
		tr := newTree[int](natural[int]())
		for k := range 200 { // so that there are more leaves
			tr.Insert((&item[int]{key: 100 + k}).asHead(), Gate{})
		}
		for k := range 100 {
			_, h := tr.Find(unsafe.Pointer(&[]int{100 + k}[0]))
			tr.Remove(Place{}, h)
		}
		var heads []*Head
		for k := range n {
			heads = append(heads, (&item[int]{key: k}).asHead())
			tr.Insert(heads[k], Gate{})
		}
		to := n - 1
		c := tr.Scan(Span{High: unsafe.Pointer(&to)}, false)
		var notes []Note
		for c.Next() {
			if name == "early" {
				change(tr, heads)
			}
			notes = append(notes, c.Note())
			for h, at := c.Head(); h != nil; h, at = c.Head() {
				notes[len(notes)-1].Add(at, h)
			}
		}
		if name != "early" {
			change(tr, heads)
		}
		same := true
		for i := range notes {
			same = same && notes[i].Same()
		}
		require.Equal(t, name == "nothing" || name == "elsewhere", same, name)
	}
}

// A head that a note has not met is not in it: another one may be at its address later.
func TestNoteOfWhatIsNotMet(t *testing.T) {
	tr := newTree[int](natural[int]())
	pending, base := (&item[int]{key: 1}).asHead(), (&item[int]{key: 1}).asHead()
	at, _ := tr.Insert(pending, Gate{})
	c := tr.Scan(Span{}, false)
	c.Next()
	n := c.Note()
	at.Cell().Store(base) // the pending one is withdrawn
	h, met := c.Head()
	require.Same(t, base, h)
	n.Add(met, h)
	at.Cell().Store(pending) // another version at the same address
	require.False(t, n.Same())
	at.Cell().Store(base)
	require.True(t, n.Same())
}

// A key that was removed has another place when it comes again, and is removed by the one that it
// had.
func TestRemoveByAPlaceOfBefore(t *testing.T) {
	tr := newTree[int](natural[int]())
	first, again := (&item[int]{key: 1}).asHead(), (&item[int]{key: 1}).asHead()
	at, _ := tr.Insert(first, Gate{})
	tr.Insert((&item[int]{key: 2}).asHead(), Gate{})
	removed, _ := tr.Remove(at, first)
	require.True(t, removed)
	tr.Insert(again, Gate{})
	removed, _ = tr.Remove(at, first)
	require.False(t, removed)
	removed, _ = tr.Remove(at, again)
	require.True(t, removed)
}
