package commit

// prunerStep is the next access of a pruner.
type prunerStep uint8

const (
	pruneClock  prunerStep = iota // load the clock: the view's bound
	pruneSlot                     // load a slot
	pruneLookup                   // load the index
	pruneHead                     // load the entry's head
	pruneWord                     // load the word of version h
	pruneUnhook                   // take the aborted head h off the chain
	pruneNext                     // load the link of version h
	pruneSeek                     // load the link of version h, below v
	pruneStore                    // link v to h
	pruneDead                     // mark the entry dead if its head is tombstone h
	pruneEmpty                    // mark the entry dead if it has no head
	pruneUnlink                   // take the entry out of the index
	pruneEnd
)

// prune makes the next step of pruner i.
func (x *move) prune() {
	p := &x.s.pruner[x.i]
	switch p.pc {
	case pruneClock:
		p.m = x.s.clock
		p.i = 0
		x.slotsFrom(0)
		x.emit("take the bound")
	case pruneSlot:
		if q := &x.s.proc[p.i]; q.live && q.s < p.m {
			p.live[p.i] = q.s + 1
		}
		what := "scan slot of " + x.m.Name(int(p.i))
		x.slotsFrom(p.i + 1)
		x.emit(what)
	case pruneLookup:
		p.e = x.s.index[x.m.Pruned[p.i]]
		p.pc = pruneHead
		if p.e == 0 {
			x.nextKey()
		}
		x.emit("look up")
	case pruneHead:
		x.pruneHead(p)
	case pruneWord:
		w := x.m.word(&x.s, p.h)
		if w.kind() == aborted && x.m.Unhook {
			p.pc = pruneUnhook
		} else if w.kind() == committed && w.epoch() <= p.m {
			p.v = p.h
			x.seek(p)
			if x.m.faulty(RemoveIgnoresLive) && x.m.versions[p.v].tomb {
				p.h, p.v, p.a = p.v, 0, 0
				p.pc = pruneDead
			}
		} else {
			p.pc = pruneNext
		}
		x.emit("load word")
	case pruneUnhook:
		if x.s.head[p.e] == p.h {
			x.s.head[p.e] = x.s.next[p.h]
		}
		p.h = 0
		p.pc = pruneHead
		x.emit("unhook")
	case pruneNext:
		p.h = x.s.next[p.h]
		p.pc = pruneWord
		if p.h == 0 {
			x.nextKey()
		}
		x.emit("load next")
	case pruneSeek:
		p.h = x.s.next[p.h]
		x.seek(p)
		x.emit("load next")
	case pruneStore:
		x.s.next[p.v] = p.h
		x.linked(p)
		x.emit("cut")
	case pruneDead:
		x.pruneDead(p)
	case pruneEmpty:
		p.pc = pruneUnlink
		if x.s.head[p.e] == 0 {
			x.s.head[p.e] = dead
		} else {
			x.nextKey()
		}
		x.emit("mark empty entry dead")
	case pruneUnlink:
		x.pruneUnlink(p)
	}
}

// slotsFrom goes on to the next slot that anybody uses, from the j-th.
func (x *move) slotsFrom(j uint8) {
	p := &x.s.pruner[x.i]
	for ; int(j) < len(x.m.Procs); j++ {
		for _, op := range x.m.Procs[j] {
			if op.Kind == TxKind && len(op.Reads) > 0 {
				p.i = j
				p.pc = pruneSlot
				return
			}
		}
	}
	p.sortLive()
	if x.m.faulty(CappedView) {
		clear(p.live[1:])
	}
	p.i = 0
	p.pc = pruneLookup
}

// nextKey goes on to the next key, view or the end.
func (x *move) nextKey() {
	p := &x.s.pruner[x.i]
	p.e, p.h, p.v, p.a = 0, 0, 0, 0
	p.i++
	p.pc = pruneLookup
	if int(p.i) < len(x.m.Pruned) {
		return
	}
	*p = pruner{pass: p.pass + 1}
	if int(p.pass) == x.m.Passes {
		p.pc = pruneEnd
	}
}

func (x *move) pruneHead(p *pruner) {
	switch h := x.s.head[p.e]; {
	case h == dead, h == 0 && !x.m.Remove:
		x.nextKey()
	case h == 0 && x.m.faulty(EmptyNotDead):
		p.pc = pruneUnlink
	case h == 0:
		p.pc = pruneEmpty
	default:
		p.h = h
		p.pc = pruneWord
	}
	x.emit("load head")
}

// seek looks, from h down, for the version that live epoch a needs. A single
// pruner finds the chain below v at rest, so its loads are no steps.
func (x *move) seek(p *pruner) {
	for {
		switch a := p.live[p.a]; {
		case a == 0:
			p.h = 0 // nobody needs what is below v
			p.pc = pruneStore
			return
		case p.h != 0 && x.tooNew(x.m.word(&x.s, p.h).epoch(), a-1):
			if x.m.Pruners > 1 {
				p.pc = pruneSeek
				return
			}
			p.h = x.s.next[p.h]
		case p.h == p.v:
			p.a++
		default:
			p.pc = pruneStore
			return
		}
	}
}

// tooNew reports whether a version of epoch t is not what a reader at epoch a
// sees.
func (x *move) tooNew(t, a uint8) bool { return t > a || t == a && x.m.faulty(CutBelowEpoch) }

// linked goes on after v has been linked to h.
func (x *move) linked(p *pruner) {
	if p.h != 0 {
		p.v = p.h
		p.a++
		x.seek(p)
		return
	}
	oldest := p.m
	for _, a := range p.live {
		if a != 0 {
			oldest = min(oldest, a-1)
		}
	}
	v := p.v
	if !x.m.Remove || !x.m.versions[v].tomb || x.m.word(&x.s, v).epoch() > oldest {
		x.nextKey()
		return
	}
	p.h, p.v, p.a = v, 0, 0
	p.pc = pruneDead
	if x.m.faulty(UnlinkBeforeDead) {
		p.pc = pruneUnlink
	}
}

func (x *move) pruneDead(p *pruner) {
	switch {
	case x.s.head[p.e] != p.h:
		x.nextKey()
	case x.m.faulty(NoDead):
		p.pc = pruneUnlink
	default:
		x.s.head[p.e] = dead
		if x.m.faulty(UnlinkBeforeDead) {
			x.nextKey()
		} else {
			p.pc = pruneUnlink
		}
	}
	x.emit("mark entry dead")
}

func (x *move) pruneUnlink(p *pruner) {
	k := x.m.Pruned[p.i]
	if x.s.index[k] == p.e || x.m.faulty(PlainDelete) {
		x.s.index[k] = 0
	}
	if x.m.faulty(UnlinkBeforeDead) && p.h != 0 {
		p.pc = pruneDead
	} else {
		x.nextKey()
	}
	x.emit("unlink")
}
