package commit

import "github.com/mvccmap/mvccmap/internal/model/history"

// examineInstall decides what to install on, or what to do about a rival.
func (x *move) examineInstall(what string, w word) {
	p := x.self()
	_, op := x.m.op(&x.s, x.i)
	switch {
	case w.kind() == committed:
		x.base(p.h)
	case w.kind() == aborted:
		x.base(x.s.next[p.h]) // the link of an aborted version does not change
	case x.m.faulty(InstallOverUndecided):
		x.base(p.h)
	case w.kind() == announced && !x.m.records[x.m.versions[p.h].record].check:
		x.awaitDraw(w)
	default:
		rival := x.s
		if !op.blind() && !op.Watches {
			x.conflict()
			x.emit(what + ": conflict")
			if x.m.NoAbort {
				return
			}
			x.s = rival
		}
		x.await(w, atKill)
	}
	x.emit(what)
}

// base is the version on which the own one will be installed.
func (x *move) base(v uint8) {
	p := x.self()
	_, op := x.m.op(&x.s, x.i)
	if op.Level == Snapshot && len(op.Reads) > 0 && v != 0 && !x.m.faulty(FirstCommitterIgnored) &&
		x.m.word(&x.s, v).epoch() > p.s {
		x.conflict() // first committer wins
		return
	}
	if op.Kind == LoadOrStoreKind && x.m.value(v) != history.Absent {
		id, _ := x.m.op(&x.s, x.i)
		x.s.result[id][op.Writes[0]] = v
		x.respond(true)
		return
	}
	p.n = v
	p.pc = atInstall
	if x.m.faulty(MarksFirst) {
		x.s.dirty |= x.marks(op.Writes, x.m.ownRecord(&x.s, x.i))
	}
}

func (x *move) install() {
	p := x.self()
	id, op := x.m.op(&x.s, x.i)
	if x.s.head[p.e] != p.h {
		p.h, p.n = 0, 0
		p.pc = atHead
		x.emit("install: the head has changed")
		return
	}
	v := x.m.own(&x.s, x.i) + p.i
	x.s.next[v] = p.n
	x.s.head[p.e] = v
	if op.Kind == SwapKind || op.Kind == LoadOrStoreKind {
		x.s.result[id][op.Writes[0]] = p.n
	}
	p.i++
	if int(p.i) < len(op.Writes) {
		x.enter()
		x.emit("install")
		return
	}
	p.e, p.h, p.n, p.i = 0, 0, 0, 0
	switch {
	case len(op.Writes) == 1:
		x.s.record[x.m.ownRecord(&x.s, x.i)] = announced // before the version is shared
		x.announced()
	case x.m.faulty(DrawFirst):
		p.pc = atOwnDraw
	case x.m.watches && !x.m.faulty(MarksFirst):
		p.pc = atMarks
	default:
		p.pc = atAnnounce
	}
	x.emit("install")
}

func (x *move) kill() {
	p := x.self()
	r := x.m.versions[p.h].record
	if x.s.record[r] == p.w {
		x.s.record[r] = aborted
	}
	p.h, p.w = 0, 0
	p.pc = atHead
	x.emit("abort the rival")
}

func (x *move) announce() {
	r := x.m.ownRecord(&x.s, x.i)
	if x.s.record[r] == active {
		x.s.record[r] = announced
		x.announced()
	} else {
		x.defeated()
	}
	x.emit("announce")
}

// announced goes on after the own record has become PREP(0).
func (x *move) announced() {
	p := x.self()
	_, op := x.m.op(&x.s, x.i)
	switch {
	case op.check() && x.m.faulty(ValidateFirst):
		x.validate(0)
	case x.m.faulty(DrawFirst) && len(op.Writes) > 1:
		p.w = announced
		p.pc = atDecide
	case x.m.watches && len(op.Writes) == 1 && x.m.Faults&(MarksLate|MarksFirst) == 0:
		p.pc = atMarks
	default:
		p.w = announced
		p.pc = atOwnDraw
	}
}

func (x *move) ownDraw() {
	p := x.self()
	_, op := x.m.op(&x.s, x.i)
	p.d = x.draw()
	p.pc = atDecide
	switch {
	case x.m.faulty(MarksLate) && p.b == 0 && len(op.Writes) == 1:
		p.pc = atMarks
	case p.w == 0: // DrawFirst
		p.pc = atAnnounce
	}
	x.emit("draw")
}

func (x *move) decide() {
	p := x.self()
	r := x.m.ownRecord(&x.s, x.i)
	t, done := p.d, x.s.record[r] == p.w
	p.d, p.w = 0, 0
	switch {
	case p.b != 0:
		if done {
			x.s.record[r] = tentative.at(t)
		}
		x.look()
	case !done:
		p.pc = atOwnWord
	case x.m.records[r].check:
		x.s.record[r] = tentative.at(t)
		x.tentative(t)
	default:
		x.s.record[r] = committed.at(t)
		x.committed()
	}
	x.emit("decide")
}

func (x *move) ownWord() {
	p := x.self()
	switch w := x.s.record[x.m.ownRecord(&x.s, x.i)]; w.kind() {
	case aborted:
		x.defeated()
	case committed:
		x.committed()
	case tentative:
		x.tentative(w.epoch())
	case announced:
		p.w = w
		p.pc = atOwnDraw
	default:
		panic("commit: own record is active again")
	}
	x.emit("load own record")
}

// tentative goes on after the own record has become TENT(t).
func (x *move) tentative(t uint8) {
	if x.m.faulty(ValidateFirst) {
		x.self().t = t
		x.self().pc = atPublish
		return
	}
	if _, op := x.m.op(&x.s, x.i); op.Watches {
		p := x.self()
		p.mode, p.t = installing, 0
		if x.m.Switch && x.s.watching>>x.i&1 == 0 {
			p.t = t
		}
		p.pc = atPost
		if x.m.faulty(WatchStoredLate) {
			p.pc = atBase
		}
		return
	}
	x.validate(t)
}

// validate starts validation at epoch t; of a transaction that watches, t is the least epoch at which the transaction may commit.
func (x *move) validate(t uint8) {
	p := x.self()
	p.mode, p.i, p.t = validating, 0, t
	if x.m.faulty(EarlyEnd) {
		p.live, p.s = false, 0
	}
	x.enter()
}

// alive shows between two reads that validation goes on. The bit that it flips in
// the record is not modelled: nothing but waiting depends on it. It gives up
// validating what will not be published.
func (x *move) alive() {
	p := x.self()
	now := x.s.record[x.m.ownRecord(&x.s, x.i)]
	x.enter()
	switch {
	case p.b == 0 && now != tentative.at(p.t):
		p.i, p.e, p.t = 0, 0, 0
		p.pc = atOwnWord
	case now.kind() == aborted:
		p.i, p.e, p.t = 0, 0, 0
		x.look()
	}
	x.emit("show life")
}

// validated goes on after every read has been found unchanged.
func (x *move) validated() {
	p := x.self()
	p.i, p.e, p.h, p.n, p.again = 0, 0, 0, 0, false
	if p.b != 0 {
		p.t = 0
		switch {
		case x.m.faulty(WatchBaseLate):
			p.pc = atBase
		case x.m.faulty(WatchStoredLate):
			p.pc = atPost
		default:
			x.look()
		}
		return
	}
	p.pc = atPublish
	if x.m.faulty(ValidateFirst) {
		p.pc = atOwnWord
	}
}

func (x *move) publish() {
	p := x.self()
	r := x.m.ownRecord(&x.s, x.i)
	w := tentative.at(p.t)
	if now := x.s.record[r]; now.kind() == tentative && p.b != 0 && x.m.faulty(WatchPublishesAny) {
		w = now
	}
	switch {
	case x.s.record[r] == w:
		x.s.record[r] = committed.at(w.epoch())
		x.leave()
		x.committed()
	case p.b != 0:
		p.t = 0
		x.look()
	default:
		p.t = 0
		p.pc = atOwnWord
	}
	x.emit("publish")
}

// committed goes on after the own record has become COMM(t).
func (x *move) committed() {
	_, op := x.m.op(&x.s, x.i)
	if !x.m.Copy || len(op.Writes) == 1 {
		x.respond(true)
		return
	}
	p := x.self()
	*p = proc{op: p.op, try: p.try, i: 1, pc: atCopy}
	if x.m.faulty(ClearBeforeCopy) {
		p.pc = atClear
	}
}

// copy publishes the epoch in the versions after the first.
func (x *move) copy() {
	p := x.self()
	_, op := x.m.op(&x.s, x.i)
	c := &x.s.copied[x.m.own(&x.s, x.i)+p.i]
	what := "copy the epoch"
	if p.pc == atCopy {
		c.set = true
	} else {
		c.cleared = true
		what = "clear the pointer"
	}
	switch {
	case !c.cleared:
		p.pc = atClear
	case !c.set:
		p.pc = atCopy
	case int(p.i)+1 < len(op.Writes):
		p.i++
		p.pc = atCopy
		if x.m.faulty(ClearBeforeCopy) {
			p.pc = atClear
		}
	default:
		x.respond(true)
	}
	x.emit(what)
}

// conflict gives the operation up.
func (x *move) conflict() {
	p := x.self()
	installed := p.mode == validating || p.i > 0
	p.e, p.h, p.n, p.t, p.d, p.w, p.again, p.i = 0, 0, 0, 0, 0, 0, false, 0
	p.over = true
	p.pc = atAbort
	if !installed {
		x.respond(false)
	}
}

func (x *move) abort() {
	r := x.m.ownRecord(&x.s, x.i)
	switch p := x.self(); {
	case p.b == 0:
		if x.s.record[r].kind() != committed {
			x.s.record[r] = aborted
		}
		x.defeated()
	case x.s.record[r] == p.w:
		x.s.record[r] = aborted
		x.leave()
		x.defeated()
	default:
		p.w = 0
		x.look()
	}
	x.emit("abort")
}

// defeated goes on after the own record has become ABORTED.
func (x *move) defeated() {
	p := x.self()
	x.leave()
	p.e, p.h, p.n, p.t, p.d, p.w, p.again = 0, 0, 0, 0, 0, 0, false
	x.unhookFrom(0)
}

// unhookFrom goes on to the next own version, from the i-th, that is a head. A
// version that is no head now never becomes one.
func (x *move) unhookFrom(i uint8) {
	p := x.self()
	_, op := x.m.op(&x.s, x.i)
	for ; x.m.Unhook && int(i) < len(op.Writes); i++ {
		if e := x.entryOf(x.m.own(&x.s, x.i) + i); e != 0 {
			p.i, p.e = i, e
			p.pc = atUnhook
			return
		}
	}
	p.i, p.e = 0, 0
	if p.over || !x.m.again(*op) || int(p.try)+1 >= x.m.Attempts {
		x.respond(false)
		return
	}
	p.try++
	p.mode = installing
	if x.m.faulty(ReuseVersions) {
		x.s.record[x.m.ownRecord(&x.s, x.i)] = active
	}
	x.enter()
}

// entryOf returns the entry of which v is the head, or 0.
func (x *move) entryOf(v uint8) uint8 {
	for e := uint8(1); e <= x.s.entries; e++ {
		if x.s.head[e] == v {
			return e
		}
	}
	return 0
}

func (x *move) unhook() {
	p := x.self()
	v := x.m.own(&x.s, x.i) + p.i
	if x.s.head[p.e] == v {
		x.s.head[p.e] = x.s.next[v]
	}
	x.unhookFrom(p.i + 1)
	x.emit("unhook")
}
