package commit

import "slices"

// examine decides what to do about version h, whose record's state w has just
// been loaded.
func (x *move) examine(what string, w word) {
	switch x.self().mode {
	case reading:
		x.examineRead(w)
	case loading:
		x.examineLoad(w)
	case validating:
		x.examineValidate(what, w)
		return
	case installing:
		x.examineInstall(what, w)
		return
	}
	x.emit(what)
}

// examineRead is visible in a transaction's Get and in scans.
func (x *move) examineRead(w word) {
	p := x.self()
	switch w.kind() {
	case committed:
		if w.epoch() <= p.s {
			x.found(p.h)
		} else {
			x.down()
		}
	case active, aborted:
		x.down()
	case announced:
		if x.m.faulty(ReadSkipsAnnounced) {
			x.down()
		} else {
			x.awaitDraw(w)
		}
	case tentative:
		switch {
		case w.epoch() > p.s:
			x.down()
		case x.m.faulty(ReadWaits):
			p.pc = atWord
		default:
			x.await(w, atRevoke)
		}
	}
}

// examineLoad is a load without a slot.
func (x *move) examineLoad(w word) {
	p := x.self()
	switch {
	case w.kind() == committed:
		x.found(p.h)
	case p.again:
		x.found(p.n)
	case w.kind() == announced && !x.m.faulty(LoadSkipsAnnounced):
		x.awaitDraw(w)
	case w.kind() == tentative && (x.m.NoClock || w.epoch() <= p.s) && !x.m.faulty(LoadSkipsTentative):
		x.await(w, atRevoke)
	default:
		x.down()
	}
}

// examineValidate is a step of validation at epoch t.
func (x *move) examineValidate(what string, w word) {
	p := x.self()
	switch {
	case w.kind() == committed:
		if x.m.faulty(ValidateSkipsNewer) && w.epoch() > p.t {
			x.down()
		} else {
			x.found(p.h)
		}
	case p.again:
		x.found(p.n)
	case p.b != 0 && w.kind() == aborted:
		x.found(x.s.next[p.h]) // its link does not change
	case p.b != 0 && !x.m.faulty(WatchPassesUndecided) &&
		(w.kind() != announced || x.m.records[x.m.versions[p.h].record].check):
		x.await(w, atKill) // nobody is passed over
	case w.kind() == announced && !x.m.faulty(ValidateSkipsAnnounced):
		x.awaitDraw(w)
	case w.kind() == tentative && p.b == 0 && (w.epoch() < p.t || x.m.faulty(ValidateFirst)):
		// The writer comes first: wait for it (by not moving), give up, or take
		// its epoch away.
		undecided := x.s
		x.conflict()
		x.emit(what + ": conflict")
		x.s = undecided
		if !x.m.faulty(ValidateFirst) {
			x.await(w, atRevoke)
			x.emit(what)
		}
		return
	default:
		x.down()
	}
	x.emit(what)
}

// await remembers the undecided word that the next steps try to change.
func (x *move) await(w word, next step) {
	p := x.self()
	p.w = w
	p.pc = next
}

// down goes to the version below h. While nobody prunes, the link does not
// change, and loading it is not a step of its own.
func (x *move) down() {
	x.self().pc = atNext
	if x.m.Pruners == 0 {
		x.below()
	}
}

// below loads the link of h. A transaction's read holds a slot, so what it
// needs is below h, whatever is pruned. The others must look at h again: once h
// is committed, what was below it may be gone.
func (x *move) below() {
	p := x.self()
	n := x.s.next[p.h]
	p.pc = atWord
	switch {
	case p.mode == loading && x.m.faulty(LoadKeepsSkipped),
		p.mode == validating && x.m.faulty(ValidateKeepsSkipped):
		x.found(n)
	case p.mode == reading,
		p.mode == validating && x.m.faulty(ValidateSkipsNewer):
		if n == 0 {
			x.found(0)
		} else {
			p.h = n
		}
	default:
		p.n, p.again = n, true
	}
}

// found ends the walk of the current key at version v, or at nothing.
func (x *move) found(v uint8) {
	p := x.self()
	id, op := x.m.op(&x.s, x.i)
	k := x.m.key(&x.s, x.i)
	switch p.mode {
	case loading:
		x.s.result[id][k] = v
		x.respond(true)
	case reading:
		if slices.Contains(op.Reads[:p.i], k) && x.m.value(v) != x.m.value(x.s.result[id][k]) {
			x.s.unrepeatable = true
		}
		x.s.result[id][k] = v
		p.i++
		switch {
		case int(p.i) < len(op.Reads):
			x.enter()
		case len(op.Writes) > 0:
			p.mode, p.i = installing, 0
			x.enter()
		default:
			x.respond(true)
		}
	case validating:
		if !x.unchanged(v, x.s.result[id][k]) {
			if p.b == 0 {
				x.conflict()
				return
			}
			p.over = true
			x.validated()
			return
		}
		p.i++
		if int(p.i) == len(op.Reads) {
			x.validated()
			return
		}
		x.enter()
		if x.m.Signs {
			p.pc = atAlive
		}
	}
}

// unchanged reports whether v, the newest committed version of a key, is what
// the transaction has seen, or says like it that the key is absent at epoch t: a
// tombstone below t does, and so does an entry that has left the index, because
// a tombstone is removed only when no live slot is below it. A tombstone above t
// does not: what it has deleted may have been there at t.
func (x *move) unchanged(v, seen uint8) bool {
	absent := func(v uint8) bool { return v == 0 || x.m.versions[v].tomb }
	switch {
	case v == seen:
		return true
	case x.m.faulty(ValidatePresentOnly) && absent(seen):
		return true
	case !absent(v) || !absent(seen):
		return false
	}
	if v == 0 || x.m.faulty(ValidateAnyTombstone) {
		return true
	}
	t, p := x.m.word(&x.s, v).epoch(), x.self()
	return t < p.t || t <= p.b && x.m.faulty(WatchAnyTombstone)
}
