//go:build mvcccheck

package tree

import (
	"testing"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// What is removed while cells move is counted, and no visit is lost that was asked for before and
// is made then.
func TestWhileCellsMove(t *testing.T) {
	for n, reached := 1, true; reached; n++ {
		reached = false
		w := newWorld(someInts)
		k := w.know(t, 180)
		k.every(func(i int) {
			if k.heads[i] != nil {
				k.ask(i, Place{})
			}
		})
		var s stopper
		s.at(n, func() {
			reached = true
			for l := w.take(); l != nil; l = w.take() {
				w.visit(l, w.note)
			}
			k.tidy = false
			k.removeAll(func(i int) bool { return i%3 != 0 })
		})
		remove := hooks.Set(func(p hooks.Point) {
			if p == hooks.CellFilled || p == hooks.CellsMoved {
				s.step()
			}
		})
		k.insert(31)
		remove()
		w.checkAll(t, k.heads)
		w.checkVisits(k)
	}
}
