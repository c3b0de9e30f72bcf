package commit

// The steps of a process. Each is one atomic access.
const (
	atStart    step = iota
	atLookup        // load the index
	atHead          // load the entry's head
	atWord          // load the word of version h
	atPointer       // load the record pointer of version h
	atRecord        // load the record of version h
	atNext          // load the link of version h
	atMarks         // load the watches that are to be marked
	atMark          // mark one of them
	atDraw          // draw an epoch for the announced version h
	atHelp          // give it to h
	atRevoke        // take the epoch of the tentative version h away
	atInsert        // put an entry into the index
	atUnlink        // take a dead entry out of the index
	atInstall       // make the own version the head
	atKill          // abort the rival that owns h
	atAnnounce      // own record: ACTIVE to PREP(0)
	atOwnDraw       // draw the own epoch
	atDecide        // own record: PREP(f) to TENT(t) or COMM(t)
	atOwnWord       // load the own record
	atPublish       // own record: TENT(t) to COMM(t)
	atAlive         // own record: a sign of life while validating
	atAbort         // own record: to ABORTED
	atPost          // watching: publish the watch, or set it back
	atBase          // load the clock, the base
	atLeast         // load the own record, validate
	atOwnAgain      // load the own record after validation
	atClean         // look whether the own watch is marked
	atUnhook        // take an own aborted version off its chain
	atCopy          // copy the own epoch into a version
	atClear         // clear the version's record pointer
	atEnd
)

// move is a move in the making: s is the successor.
type move struct {
	m     *Model
	s     state
	out   state // s with its epochs renumbered
	i     int   // the process or pruner that moves
	yield func(string, *state)
}

// Moves makes the next step of process p.
func (m *Model) Moves(s *state, p int, yield func(string, *state)) {
	x := m.spare
	if x == nil {
		x = &move{m: m}
	}
	m.spare = nil // yield may call Moves
	x.s, x.i, x.yield = *s, p, yield
	if p < len(m.Procs) {
		x.step()
	} else {
		x.i -= len(m.Procs)
		x.prune()
	}
	x.yield = nil
	m.spare = x
}

// emit yields the successor as it is now.
func (x *move) emit(action string) {
	x.out = x.s
	if !x.m.raw {
		x.out.reduce()
	}
	x.yield(action, &x.out)
}

// self returns the process that moves.
func (x *move) self() *proc { return &x.s.proc[x.i] }

func (x *move) step() {
	switch x.self().pc {
	case atStart:
		x.start()
	case atLookup:
		x.lookup()
	case atHead:
		x.head()
	case atWord:
		x.word()
	case atPointer:
		x.pointer()
	case atRecord:
		x.examine("load record", x.m.word(&x.s, x.self().h))
	case atNext:
		x.below()
		x.emit("load next")
	case atMarks:
		x.loadMarks()
	case atMark:
		x.mark()
	case atDraw:
		x.self().d = x.draw()
		x.self().pc = atHelp
		x.emit("help: draw")
	case atHelp:
		x.help()
	case atRevoke:
		x.revoke()
	case atInsert:
		x.insert()
	case atUnlink:
		x.unlink()
	case atInstall:
		x.install()
	case atKill:
		x.kill()
	case atAnnounce:
		x.announce()
	case atOwnDraw:
		x.ownDraw()
	case atDecide:
		x.decide()
	case atOwnWord:
		x.ownWord()
	case atPublish:
		x.publish()
	case atAlive:
		x.alive()
	case atAbort:
		x.abort()
	case atPost, atBase, atLeast, atOwnAgain, atClean:
		x.watch()
	case atUnhook:
		x.unhook()
	case atCopy, atClear:
		x.copy()
	default:
		panic("commit: a finished process moves")
	}
}

// start invokes the current operation and makes its first access.
func (x *move) start() {
	id, op := x.m.op(&x.s, x.i)
	x.s.before[id] = x.s.ok
	p := x.self()
	switch {
	case op.Kind == LoadKind && x.m.NoClock:
		p.mode = loading
		x.enter()
		x.step()
	case op.Kind == LoadKind:
		p.mode, p.s = loading, x.s.clock
		x.enter()
		x.emit("note the clock")
	case len(op.Reads) > 0:
		p.mode, p.s, p.live = reading, x.s.clock, true
		x.enter()
		x.emit("begin")
	default:
		p.mode = installing
		x.enter()
		x.step()
	}
}

// enter prepares the walk of the current key.
func (x *move) enter() {
	p := x.self()
	p.e, p.h, p.n, p.w, p.d, p.again = 0, 0, 0, 0, 0, false
	p.pc = atLookup
	if !x.m.Remove && len(x.m.Absent) == 0 { // the index does not change
		p.e = x.s.index[x.m.key(&x.s, x.i)]
		p.pc = atHead
	}
}

// respond ends the current operation.
func (x *move) respond(ok bool) {
	id, _ := x.m.op(&x.s, x.i)
	if ok {
		x.s.ok |= 1 << id
	} else {
		x.s.before[id] = 0
		x.s.result[id] = [maxKeys]uint8{}
	}
	p := x.self()
	*p = proc{op: p.op + 1}
	if int(p.op) == len(x.m.prog[x.i]) {
		p.pc = atEnd
	}
}

func (x *move) lookup() {
	p := x.self()
	p.e = x.s.index[x.m.key(&x.s, x.i)]
	switch {
	case p.e != 0:
		p.pc = atHead
	case p.mode == installing:
		p.pc = atInsert
	default:
		x.found(0)
	}
	x.emit("look up")
}

func (x *move) insert() {
	p, k := x.self(), x.m.key(&x.s, x.i)
	if x.s.index[k] == 0 {
		if x.s.entries++; int(x.s.entries) >= maxEntries {
			panic("commit: a scenario makes too many entries")
		}
		x.s.index[k] = x.s.entries
	}
	p.e = x.s.index[k]
	p.pc = atHead
	x.emit("insert entry")
}

func (x *move) unlink() {
	p, k := x.self(), x.m.key(&x.s, x.i)
	if x.s.index[k] == p.e || x.m.faulty(PlainDelete) {
		x.s.index[k] = 0
	}
	x.enter()
	x.emit("help unlink")
}

func (x *move) head() {
	p := x.self()
	h := x.s.head[p.e]
	switch {
	case h == dead && p.mode == installing:
		p.pc = atUnlink
	case h == 0 && p.mode == installing:
		p.pc = atInstall
	case h == dead || h == 0:
		x.found(0)
	case p.mode == validating && x.m.versions[h].record == x.m.ownRecord(&x.s, x.i):
		x.found(x.s.next[h]) // the base of an undecided version does not change
	default:
		p.h = h
		p.pc = atWord
	}
	x.emit("load head")
}

func (x *move) word() {
	p := x.self()
	if v := p.h; x.m.versions[v].copies && !x.s.copied[v].set {
		p.pc = atPointer
		x.emit("load word: INDIRECT")
		return
	}
	what := "load word"
	if p.again {
		what = "load word again"
	}
	x.examine(what, x.m.word(&x.s, p.h))
}

func (x *move) pointer() {
	p := x.self()
	switch {
	case !x.s.copied[p.h].cleared:
		p.pc = atRecord
	case x.m.faulty(NoReload):
		x.examine("load pointer: nil", aborted)
		return
	default:
		p.pc = atWord
	}
	x.emit("load pointer")
}

// draw advances the clock and returns the new epoch.
func (x *move) draw() uint8 {
	x.s.clock++
	if x.s.clock >= 1<<5 {
		panic("commit: too many epochs for a word")
	}
	return x.s.clock
}

func (x *move) help() {
	p := x.self()
	r := x.m.versions[p.h].record
	if x.s.record[r] == p.w {
		x.s.record[r] = x.m.decide(r, p.d)
	}
	p.d, p.w = 0, 0
	p.pc = atWord
	x.emit("help: compare and swap")
}

func (x *move) revoke() {
	p := x.self()
	r := x.m.versions[p.h].record
	if x.s.record[r] == p.w {
		x.s.record[r] = announced.at(p.w.epoch())
		if x.m.faulty(NoFloor) {
			x.s.record[r] = announced
		}
	}
	p.w = 0
	p.pc = atWord
	x.emit("revoke")
}
