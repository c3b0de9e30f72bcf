package tree

// Visits: a leaf has a bit for each cell for which a visit was asked, and one that says that it has
// been handed over for that. The bits move with the cells.

// Ask asks for a visit of cell i. It is one load if the visit is asked for already. list says that
// the leaf is to be handed over, and gone that nothing was asked for: the leaf was replaced.
func (l *Leaf) Ask(i uint8) (list, gone bool) {
	meta := l.meta.Load()
	if meta&(firstVisit<<i|moved) != firstVisit<<i {
		meta = l.meta.Or(firstVisit<<i | listed)
	}
	return meta&(listed|moved) == 0, meta&moved != 0
}

// Asked clears the visits that were asked for in the leaf. It returns a bit for each cell to be
// visited, and puts the heads of these cells into heads: a head finds its key even if the cell
// moves. It returns 0 if the leaf is being replaced: its replacement has these visits.
func (t *Tree) Asked(l *Leaf, heads *[Cap]*Head) (visits uint32) {
	for {
		meta := l.meta.Load()
		if meta&moved != 0 {
			return 0
		}
		visits = uint32(meta & allVisits / firstVisit)
		for m := visits; m != 0; m &= m - 1 {
			i := lowest(m)
			if heads[i] = l.cells[i].Load(); heads[i] == t.Moved {
				return 0
			}
		}
		if l.meta.CompareAndSwap(meta, meta&^(allVisits|listed)) {
			return visits
		}
	}
}

// Waiting returns a bit for each cell for which a visit is asked.
func (l *Leaf) Waiting() uint32 { return uint32(l.meta.Load() & allVisits / firstVisit) }
