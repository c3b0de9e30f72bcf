package commit

import "slices"

// Watching: how a transaction that is pushed again and again while it validates finds
// out that nobody else has committed on what it read meanwhile. See the documentation
// of the package.

// watched reports whether anybody watches in the scenario. If not, nobody looks.
func (m *Model) watched() bool {
	return slices.ContainsFunc(m.ops, func(op Op) bool { return op.Watches })
}

// marks returns the watches in the list, but for that of the transaction of record r,
// that are on a key among keys.
func (x *move) marks(keys []Key, r uint8) (set uint8) {
	for i := range x.m.Procs {
		if x.s.watching>>i&1 == 0 || x.m.ownRecord(&x.s, i) == r {
			continue
		}
		if _, op := x.m.op(&x.s, i); slices.ContainsFunc(op.Reads, func(k Key) bool { return slices.Contains(keys, k) }) {
			set |= 1 << i
		}
	}
	return set
}

// awaitDraw prepares to draw an epoch for the announced version h, whose record
// says w. The watches are marked first, if its transaction may not have done it.
func (x *move) awaitDraw(w word) {
	v := &x.m.versions[x.self().h]
	if x.m.watches && v.op >= 0 && len(x.m.ops[v.op].Writes) == 1 && !x.m.faulty(HelperDoesNotMark) {
		x.await(w, atMarks)
		return
	}
	x.await(w, atDraw)
}

// loadMarks loads the list of watches: for version h, which is to be helped, or for
// the own writes.
func (x *move) loadMarks() {
	p := x.self()
	if p.h != 0 {
		v := &x.m.versions[p.h]
		p.marks = x.marks([]Key{v.key}, v.record)
	} else {
		_, op := x.m.op(&x.s, x.i)
		p.marks = x.marks(op.Writes, x.m.ownRecord(&x.s, x.i))
	}
	x.marked()
	x.emit("load the watches")
}

// mark marks one of the watches that were loaded.
func (x *move) mark() {
	p := x.self()
	bit := p.marks & -p.marks
	x.s.dirty |= bit & x.s.watching
	p.marks &^= bit
	x.marked()
	x.emit("mark")
}

// marked goes on when all watches are marked.
func (x *move) marked() {
	p := x.self()
	_, op := x.m.op(&x.s, x.i)
	switch {
	case p.marks != 0:
		p.pc = atMark
	case p.h != 0:
		p.pc = atDraw
	case len(op.Writes) > 1:
		p.pc = atAnnounce
	case x.m.faulty(MarksLate):
		p.pc = atDecide
	default:
		p.w = announced
		p.pc = atOwnDraw
	}
}

// watch makes a step of decideWatched that is its own.
func (x *move) watch() {
	p := x.self()
	late := x.m.Faults&(WatchStoredLate|WatchBaseLate) != 0 && p.mode == validating
	switch p.pc {
	case atPost:
		if x.m.Switch && x.s.watching>>x.i&1 == 0 {
			choice := x.s
			x.validate(p.t)
			x.emit("go on without a watch")
			x.s = choice
		}
		p.t = 0
		x.s.watching |= 1 << x.i
		x.s.dirty &^= 1 << x.i
		p.pc = atBase
		switch {
		case late:
			x.look()
		case x.m.faulty(WatchBaseLate):
			p.b = 1 // until it is loaded
			p.pc = atLeast
		}
		x.emit("watch")
	case atBase:
		p.b = x.s.clock
		p.pc = atLeast
		if late {
			x.look()
		}
		x.emit("load the clock: base")
	case atLeast:
		x.validate(x.s.record[x.m.ownRecord(&x.s, x.i)].epoch())
		x.emit("load own record: least epoch")
	case atOwnAgain:
		x.ownAgain()
	case atClean:
		x.clean()
	}
}

// look goes on to the next look at what has become of the own record.
func (x *move) look() {
	p := x.self()
	p.pc = atOwnAgain
	if x.m.faulty(WatchRecordLast) && !p.over {
		p.pc = atClean
	}
}

func (x *move) ownAgain() {
	p := x.self()
	free := p.again // WatchRecordLast
	p.again = false
	switch w := x.s.record[x.m.ownRecord(&x.s, x.i)]; {
	case w.kind() == aborted:
		x.leave()
		x.defeated()
	case w.kind() == announced:
		p.w = w
		p.pc = atOwnDraw
	case p.over:
		p.w = w
		p.pc = atAbort
	default:
		p.t = w.epoch()
		switch {
		case p.t <= p.b, free, x.m.faulty(WatchIgnored):
			p.pc = atPublish
		case x.m.faulty(WatchRecordLast):
			x.anew()
		default:
			p.pc = atClean
		}
	}
	x.emit("load own record")
}

// clean looks whether the own watch is marked.
func (x *move) clean() {
	p := x.self()
	dirty := x.s.dirty>>x.i&1 != 0
	switch {
	case x.m.faulty(WatchRecordLast):
		p.again = !dirty
		p.pc = atOwnAgain
	case dirty:
		x.anew()
	default:
		p.pc = atPublish
	}
	x.emit("load the own mark")
}

// anew decides anew: somebody may have committed.
func (x *move) anew() {
	p := x.self()
	p.t, p.b = 0, 0
	p.pc = atOwnWord
}

// leave ends the own watch. Whoever still has it in hand marks it for nobody.
func (x *move) leave() {
	bit := uint8(1) << x.i
	x.s.watching &^= bit
	x.s.dirty &^= bit
	x.self().b = 0
	for j := range x.m.Procs {
		if q := &x.s.proc[j]; q.marks&bit != 0 {
			q.marks &^= bit
			if q.marks == 0 {
				x.unmarked(j)
			}
		}
	}
}

// unmarked goes on for process j, which has nothing left to mark.
func (x *move) unmarked(j int) {
	i := x.i
	x.i = j
	x.marked()
	x.i = i
}
