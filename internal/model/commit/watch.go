package commit

// Priority mode: how a transaction that is pushed again and again while it
// validates finds out that nobody else has committed meanwhile. See the
// documentation of the package for what is compared with what.

// mayOverCount are the mistakes with which a count is no longer a number of
// epochs that were drawn above the base.
const mayOverCount = WatchCountsFirst | WatchCountsForeign | WatchClockFirst | WatchReset | WatchCountsBelow | WatchLoadedLate

// owedMax is what counts as "more than anybody will still count".
const owedMax = 15

// owe notes n more epochs above the base of process j that nobody will count
// for it. One is as bad as many, unless a mistake can make up for it.
func (x *move) owe(j int, n int8) {
	switch d := &x.s.owed[j]; {
	case x.m.Faults&mayOverCount == 0:
		*d = min(*d+n, 1)
	case *d < owedMax:
		*d += n
	}
}

// uncounted is the number of epochs that were drawn above the base of process j,
// less the number of those counted.
func (x *move) uncounted(j int) int8 {
	d := x.s.owed[j]
	for i := range x.s.proc {
		if q := &x.s.proc[i]; int(q.watch) == j+1 && q.d > x.s.proc[j].b {
			d++ // will be counted
		}
	}
	return d
}

// draw advances the clock and returns the new epoch. Who watches, and will not
// have it counted by the process that draws, is owed one.
func (x *move) draw() uint8 {
	x.s.clock++
	if x.s.clock >= 1<<5 {
		panic("commit: too many epochs for a word")
	}
	for j := range x.m.Procs {
		q := &x.s.proc[j]
		if q.b == 0 {
			continue
		}
		if int(x.self().watch) != j+1 {
			x.owe(j, 1)
		}
		if q.pc == atOwnClock || q.pc == atOwnCount && x.m.faulty(WatchClockFirst) {
			q.since = min(q.since+1, owedMax)
			if x.m.Faults&mayOverCount == 0 {
				q.since = 1
			}
		}
	}
	return x.s.clock
}

// awaitDraw prepares to draw an epoch for the announced version h, whose record
// says w. Only a record that may be watched is worth a look at the watch.
func (x *move) awaitDraw(w word) {
	next := atDraw
	if x.watchable() && !x.m.faulty(WatchLoadedLate) {
		next = atWatch
	}
	x.await(w, next)
}

// watchable reports whether the record of version h may be watched.
func (x *move) watchable() bool {
	if x.m.faulty(WatchCountsForeign) {
		return true
	}
	op := x.m.records[x.m.versions[x.self().h].record].op
	return op >= 0 && x.m.ops[op].First
}

// loadWatch loads the watch, and keeps it if it is that of the record of h.
func (x *move) loadWatch() {
	p := x.self()
	if o := int(x.s.watch) - 1; o >= 0 &&
		(x.m.faulty(WatchCountsForeign) || x.m.ownRecord(&x.s, o) == x.m.versions[p.h].record) {
		p.watch = x.s.watch
	}
	p.pc = atDraw
	switch {
	case x.m.faulty(WatchLoadedLate):
		p.pc = atHelp
		if p.watch == 0 {
			break
		}
		if o := int(p.watch) - 1; p.d > x.s.proc[o].b {
			x.owe(o, -1)
			p.pc = atCount
		} else if x.m.faulty(WatchCountsBelow) {
			p.pc = atCount
		} else {
			p.watch = 0
		}
	case x.m.faulty(WatchCountsFirst) && p.watch != 0:
		p.pc = atCount
	}
	x.emit("help: load the watch")
}

// drawn goes on after an epoch was drawn for version h.
func (x *move) drawn() {
	switch p := x.self(); {
	case p.watch != 0:
		p.pc = atCount
	case x.m.faulty(WatchLoadedLate) && x.watchable():
		p.pc = atWatch
	default:
		p.pc = atHelp
	}
}

// count adds the epoch that was drawn to the watch that was loaded.
func (x *move) count() {
	p := x.self()
	switch o := int(p.watch) - 1; {
	case x.s.proc[o].b == 0: // WatchReset: nobody looks
	case p.d <= x.s.proc[o].b: // mistakes only
		x.owe(o, -1)
	}
	x.counted(x.i)
	x.emit("count")
}

// counted goes on after process i has counted, or has no use for that any more.
func (x *move) counted(i int) {
	p := &x.s.proc[i]
	p.watch = 0
	switch own := p.h == 0; {
	case p.d == 0 && own: // WatchCountsFirst
		p.pc = atOwnDraw
	case p.d == 0:
		p.pc = atDraw
	case own:
		p.pc = atDecide
	default:
		p.pc = atHelp
	}
}

// watched makes a step of decideWatched that is its own.
func (x *move) watched() {
	p := x.self()
	late := x.m.Faults&(WatchStoredLate|WatchBaseLate) != 0
	switch p.pc {
	case atBase:
		if x.m.Switch {
			choice := x.s
			x.validate(p.t)
			x.emit("go on without priority")
			x.s = choice
		}
		p.t = 0
		p.b = x.s.clock
		x.s.owed[x.i] = 0
		p.pc = atPost
		if late && p.mode != validating {
			p.pc = atLeast
		}
		x.emit("load the clock: base")
	case atPost:
		x.s.watch = uint8(x.i) + 1
		p.pc = atLeast
		if late {
			x.look()
		}
		x.emit("watch")
	case atLeast:
		x.validate(x.s.record[x.m.ownRecord(&x.s, x.i)].epoch())
		x.emit("load own record: least epoch")
	case atOwnAgain:
		x.ownAgain()
	case atOwnCount:
		x.ownCount()
	case atOwnClock:
		x.ownClock()
	}
}

// look goes on to the next look at what has become of the own record.
func (x *move) look() {
	p := x.self()
	p.pc = atOwnAgain
	if x.m.faulty(WatchRecordLast) && !p.over {
		p.pc = atOwnCount
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
		if x.m.faulty(WatchCountsFirst) {
			p.watch = uint8(x.i) + 1
			p.pc = atCount
		}
	case p.over:
		p.w = w
		p.pc = atAbort
	default:
		p.t = w.epoch()
		switch {
		case p.t <= p.b, free, x.m.faulty(WatchIgnored):
			p.pc = atPublish
		case x.m.faulty(WatchRecordLast):
			x.strangers()
		case x.m.faulty(WatchClockFirst):
			p.pc = atOwnClock
		default:
			p.pc = atOwnCount
		}
	}
	x.emit("load own record")
}

// ownCount loads the count. That all epochs were counted is half the answer; the
// other half is that none is drawn until the clock is loaded.
func (x *move) ownCount() {
	p := x.self()
	d := x.uncounted(x.i)
	switch {
	case x.m.faulty(WatchClockFirst) && d == p.since:
		p.since = 0
		p.pc = atPublish
	case x.m.faulty(WatchClockFirst), d > 0:
		x.strangers()
	default:
		p.since = d
		p.pc = atOwnClock
	}
	x.emit("load the count")
}

func (x *move) ownClock() {
	p := x.self()
	drawn := p.since
	p.since = 0
	switch {
	case x.m.faulty(WatchClockFirst):
		p.pc = atOwnCount
	case x.m.faulty(WatchRecordLast):
		p.again = drawn == 0
		p.pc = atOwnAgain
	case drawn == 0:
		p.pc = atPublish
	default:
		x.strangers()
	}
	x.emit("load the clock")
}

// strangers goes on after epochs were found that others may have committed at:
// decide anew. To look again instead, in case one is about to be counted, is
// left to the schedule: a look that fails changes nothing.
func (x *move) strangers() {
	p := x.self()
	if x.m.faulty(WatchRecordLast) && p.pc == atOwnCount { // the record comes last
		p.pc = atOwnAgain
		return
	}
	p.t = 0
	x.leave()
	p.pc = atOwnWord
}

// leave ends the own watch. Whoever still has it in hand counts for nobody.
func (x *move) leave() {
	p, me := x.self(), uint8(x.i)+1
	if x.s.watch == me {
		x.s.watch = 0
	}
	for j := range x.s.proc {
		if q := &x.s.proc[j]; q.watch == me && !x.m.faulty(WatchReset) {
			q.watch = 0
			if q.pc == atCount {
				x.counted(j)
			}
		}
	}
	x.s.owed[x.i] = 0
	p.b, p.since = 0, 0
}
