//go:build mvcccheck

package mvcc

import "github.com/mvccmap/mvccmap/internal/debug/hooks"

// resize moves the keys to a table of so many times as many buckets, and at least two.
func (w *world) resize(times, of int) {
	x := w.maps[0].index
	x.ResizeTo(max(2, x.Size()*times/of))
}

// atMove stops one that moves buckets before its next step: its effect on cells is announced
// nowhere else.
func (s *scheduler) atMove(p hooks.Point) {
	switch p {
	case hooks.CellFilled, hooks.CellsMoved, hooks.BucketMoved, hooks.TableReplaced:
		if s.Owns() {
			s.moves.Look()
			s.stop(move, noObject)
		}
	}
}
