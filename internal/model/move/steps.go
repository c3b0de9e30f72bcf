package move

// call makes the next step of a lookup, a put of head h, or a remove of key.
func (m Model) call(n *state, q *proc, kind byte, key uint8, h head) {
	b := &n.at[q.table][m.of(q.table, key)]
	slot := &n.at[q.p.table][q.p.bucket].slot[q.p.slot]
	switch q.pc {
	case findWord:
		q.tags, q.marked = b.taken, false
		switch {
		case b.moved && q.victim == 0:
			q.find(1)
		case q.tags == 0:
			m.absent(n, q, kind, key)
		default:
			q.pc = findSlot
		}
	case findSlot:
		i := q.take()
		switch v := b.slot[i]; {
		case m.has(v, key):
			q.p, q.head = place{q.table, m.of(q.table, key), i}, v
			m.found(n, q, kind, key)
			return
		case v == mark:
			q.marked = true
		}
		if q.tags == 0 {
			m.absent(n, q, kind, key)
		}
	case swap:
		if *slot == q.head {
			*slot = h
			n.becomes(key, q.head, h)
			q.end()
		} else {
			q.pc = again
		}
	case again:
		if v := *slot; m.has(v, key) || v.is() && m.Fault == placeOfAnother {
			n.answer(key, v, q)
			q.head, q.pc = v, swap
		} else {
			q.p, q.head = place{}, 0
			q.find(0)
		}
	case insLock:
		if m.lock(b, q) {
			q.pc = insLook
		}
	case insLook:
		q.p = place{q.table, m.of(q.table, key), n.room(b)}
		q.pc = insTag
		if m.Fault == tagsLast {
			q.pc = insFill
		}
		for i, v := range b.slot {
			if m.has(v, key) && m.Fault != insertsUnseen {
				n.wrong, q.p.slot, q.second, q.pc = "", uint8(i), true, unlock
			}
		}
	case insTag:
		b.taken |= 1 << q.p.slot
		q.pc = insFill
		if m.Fault == tagsLast {
			n.isThere(key)
			q.pc = unlock
		}
	case insFill:
		*slot = h
		n.half[key], q.pc = h, unlock
		if m.Fault == tagsLast {
			q.pc = insTag // it is there when it has a tag, or when another call has met it
		} else {
			n.isThere(key)
		}
	case remLock:
		if m.Fault == removesUnlocked || m.lock(b, q) {
			q.pc = remSwap
		}
	case remSwap:
		switch {
		case q.head == q.victim && (*slot == q.head || m.Fault == removeNotCompared):
			*slot = 0
			n.becomes(key, q.victim, 0)
			q.pc = remTag
		case m.Fault == removesUnlocked && q.table == 0 && (q.head == 0 || *slot == mark):
			q.find(1)
		default:
			q.pc = unlock
		}
	case remTag:
		b.taken &^= 1 << q.p.slot
		q.pc = unlock
	case unlock:
		b.locked = b.locked && kind == 'R' && m.Fault == removesUnlocked
		if q.second { // it wanted to insert, and has met the key
			q.second, q.pc = false, again
		} else {
			q.end()
		}
	}
}

// lock locks a bucket for a call. The call waits, or goes on in the next table if the bucket has
// moved.
func (m Model) lock(b *bucket, q *proc) bool {
	switch {
	case b.moved:
		q.table = 1
		if q.victim != 0 {
			q.find(1)
		}
	case !b.locked:
		b.locked = true
		return true
	}
	return false
}

// found goes on with what was found.
func (m Model) found(n *state, q *proc, kind byte, key uint8) {
	if q.victim == 0 {
		n.answer(key, q.head, q)
	}
	switch {
	case kind == 'L':
		q.end()
	case kind == 'P':
		q.find(0)
		q.pc = swap
	case q.victim == 0: // that is to be taken out
		q.victim = q.head
		q.p, q.head = place{}, 0
		q.find(0)
	default:
		q.tags, q.pc = 0, remLock
	}
}

// absent goes on when the key was not met in a bucket.
func (m Model) absent(n *state, q *proc, kind byte, key uint8) {
	switch {
	case q.victim != 0:
		q.head, q.pc = 0, remLock
	case q.marked && m.Fault != looksHere && (q.second || m.Fault == looksOnce):
		q.find(1)
	case q.marked && m.Fault != looksHere:
		q.pc, q.marked, q.second = findWord, false, true
	default:
		n.answer(key, 0, q)
		if q.find(0); kind == 'P' {
			q.pc = insLock
		} else {
			q.end()
		}
	}
}

// scan makes the next step of a scan.
func (m Model) scan(n *state, q *proc) {
	b := &n.at[0][q.bucket]
	switch q.pc {
	case scanWord:
		q.tags, q.pc = b.taken, scanSlot
		switch {
		case b.moved && !q.second:
			q.tags, q.pc = 0, nextWord
		case m.Fault == scansNextFirst && !q.second:
			q.tags, q.second, q.pc = 0, true, nextWord
		case q.tags == 0:
			m.scanOn(n, q)
		}
	case scanSlot:
		switch v := b.slot[q.take()]; {
		case v == mark:
			q.marked = true
		case v.is():
			m.meet(n, q, v)
		}
		switch {
		case q.tags != 0:
		case q.marked && m.Fault != scansHere && m.Fault != scansNextFirst:
			q.pc = nextWord
		default:
			m.scanOn(n, q)
		}
	case nextWord:
		q.tags, q.pc = n.at[1][q.next].taken, nextSlot
		if q.tags == 0 {
			m.scanNext(n, q)
		}
	case nextSlot:
		v := n.at[1][q.next].slot[q.take()]
		if v.is() && (m.of(0, m.key(v)) == q.bucket || m.Fault == scanUnfiltered) {
			m.meet(n, q, v)
		}
		if q.tags == 0 {
			m.scanNext(n, q)
		}
	}
}

// meet counts a head that a scan has loaded.
func (m Model) meet(n *state, q *proc, v head) {
	key := m.key(v)
	n.answer(key, v, q)
	if q.here>>key&1 == 0 || m.Fault == scanDoubles {
		q.here |= 1 << key
		q.met[key]++
	}
}

// scanNext goes on after a bucket of the next table.
func (m Model) scanNext(n *state, q *proc) {
	q.next++
	q.pc = nextWord
	if q.next < m.buckets(1) {
		return
	}
	q.next = 0
	if q.second { // scansNextFirst: now here
		q.pc = scanWord
		return
	}
	m.scanOn(n, q)
}

// scanOn goes on to the next bucket of the old table, or says what the scan has met.
func (m Model) scanOn(n *state, q *proc) {
	q.bucket++
	if q.bucket < m.buckets(0) {
		q.here, q.marked, q.second, q.pc = 0, false, false, scanWord
		return
	}
	for key, met := range q.met {
		switch {
		case met > 1:
			n.wrong = metTwice
		case met == 0 && q.had[key]&1 == 0:
			n.wrong = notMet
		}
	}
	q.end()
}

// move makes the next step of a process that moves a bucket.
func (m Model) move(n *state, q *proc) {
	b := &n.at[0][q.p.bucket]
	slot := &b.slot[q.p.slot%slots]
	to := &n.at[1][0]
	if q.head.is() {
		to = &n.at[1][m.of(1, m.key(q.head))]
	}
	both := m.Shrinks && m.Fault != noSecondLock
	switch q.pc {
	case moveLock:
		if b.locked || both && to.locked {
			return
		}
		b.locked, to.locked = true, to.locked || both
		b.moved = m.Fault == movedFirst
		q.pc = moveLoad
	case moveLoad:
		for q.p.slot < slots && !b.slot[q.p.slot].is() {
			q.p.slot++
		}
		if q.p.slot == slots {
			q.pc = moveMoved
			return
		}
		q.head, q.pc = b.slot[q.p.slot], moveFill
		if m.Fault == marksFirst {
			q.pc = moveMark
		}
	case moveFill:
		q.copy = n.room(to)
		to.slot[q.copy], q.pc = q.head, moveTag
	case moveTag:
		to.taken |= 1 << q.copy
		q.pc = moveMark
		if m.Fault == marksFirst {
			q.moveOn()
		}
	case moveMark:
		if *slot != q.head && m.Fault != noRepeat {
			q.pc = moveReload
			return
		}
		*slot = mark
		if q.pc = moveFill; m.Fault != marksFirst {
			q.moveOn()
		}
	case moveReload:
		switch {
		case *slot == 0: // removesUnlocked
			to.slot[q.copy] = 0
			to.taken &^= 1 << q.copy
			q.moveOn()
		case m.Fault == marksFirst:
			q.head, q.pc = *slot, moveMark
		default:
			q.head, q.pc = *slot, moveCopy
		}
	case moveCopy:
		to.slot[q.copy], q.pc = q.head, moveMark
	case moveMoved:
		b.moved, b.locked, to.locked = true, false, to.locked && !both
		q.end()
	}
}

// moveOn goes on to the next slot.
func (q *proc) moveOn() { q.head, q.copy, q.p.slot, q.pc = 0, 0, q.p.slot+1, moveLoad }
