package mvcc

import (
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// Committing.
//
//	giveWay     let holders of claims go first: once, for a bounded time. An Update that has
//	            read anything ends here, and runs again
//	prepare     make the record active, and have all versions name it
//	installAll  put a pending version on each key: one CAS each, a bucket's lock for a new key
//	announce    tell alarms (alarm.go), feeds and expiry of the keys, then active -> announced by a CAS
//	decide      draw the commit epoch e from the clock: -> committed(e) by a CAS, or, if there is
//	            something to validate, -> tentative(e); validate the reads as of e (validate.go);
//	            -> committed(e) by a CAS, or, if they do not hold, -> aborted
//	end         end the slot's transaction: it protects no reads from here on
//	finalize    copy e into the versions, prune, ask for a new view if that is due
//	withdraw    instead of the last two, if a step fails: abort the record, unless it is, and take
//	            the versions off the chains. If a rival has aborted it, tryAgain repeats all steps
//	            with new versions
//
// Then the caller of commit calls the functions given to OnCommit.
//
// The CAS to committed is the linearization point; a helper may make it for a transaction that does
// not validate. A transaction that writes one key has its record in its version, which is installed
// announced: from then on others may draw for it. If it has also read nothing, it is committed as a
// Store is (commitBlind, onekey.go). If it writes just the few keys that it has read, the steps
// from prepare on are first tried in one function (plain.go). If a function of the user panics in a
// step, or calls runtime.Goexit, unwind does the rest.
//
//   - I2: the epoch of a record is drawn after the record was announced. So a reader that finds a
//     record active may pass over it: its epoch will be above every read epoch of that time. If a
//     writer drew first and announced afterwards, a reader that begins in between would see half of
//     the commit.
//   - I3: nothing is shared before the first install. An abort before that only forgets.
//   - I4: nobody waits for a sleeper. From the first install on every goroutine that meets
//     the transaction can decide for it, see [chain.Decider] and install.go.
//   - The epoch is drawn before validation. Otherwise a transaction that read a version which
//     another overwrote could get the later epoch, and snapshots in between would see the overwrite
//     without that transaction.
//   - The slot stays live until validation has ended: a live slot keeps the keys that were read
//     from being taken out of the index and made anew.
//   - The outcome is in every version before the slot's record serves another
//     attempt: see [chain.Resolver.Resolve].

// result says how an attempt to commit went.
type result uint8

const (
	resultOK       result = iota // of a step: go on; of the whole: it has committed
	resultConflict               // a read or a first-committer-wins rule is violated
	resultAborted                // a rival gave up waiting for us
	resultEvicted                // the transaction was too old
	resultGaveUp                 // the context ended while it was being aborted again and again
)

// commit commits the transaction gen, ends it and recycles its state, whatever the outcome, even if
// a function of the user panics meanwhile. It returns the commit epoch, or the read epoch if
// nothing was written. After a conflict c describes it, and b, unless nil, has made a claim if
// there is reason to.
func (st *txState) commit(gen epoch.Gen, c *conflict, b *bid) (e epoch.Epoch, r result) {
	if len(st.writes) == 0 {
		e = st.epoch()
		st.finish(gen) // read-only: serializable at its read epoch
		return e, resultOK
	}
	done := false
	defer func() {
		if !done {
			st.unwind(gen)
		}
	}()
	if !st.multi() && !st.hasRead && (b == nil || b.claim == nil) {
		e, r = st.commitBlind(gen, c)
	} else {
		e, r = st.commitWrites(gen, c, b)
	}
	done = true
	return e, r
}

// commitWrites is commit for a transaction that writes. Functions of the user run in it; where one
// panics, or calls runtime.Goexit, commit has unwind do the rest.
func (st *txState) commitWrites(
	gen epoch.Gen, c *conflict, b *bid,
) (e epoch.Epoch, r result) {
	m := st.m
	turns := m.favour.Any()
	if turns {
		if !st.giveWay(gen, c, b) {
			return 0, resultConflict // giveWay has ended the transaction
		}
		st.noteStored()
	}
	timed, tried := b != nil && b.timed, false
	if !turns && !timed {
		if e, r, tried = st.tryPlain(gen); r == resultOK {
			st.recycle(gen)
			return e, resultOK
		}
	}
	check := chain.Word(0)
	if st.mustValidate() && !st.written() {
		check = chain.CheckBit
	}
	switch {
	case tried:
	case timed:
		began := time.Now()
		e, r = st.try(gen, check, st.epoch())
		b.took = max(b.took, time.Since(began))
	default:
		e, r = st.try(gen, check, st.epoch())
	}
	if r == resultAborted {
		e, r = st.tryAgain(gen, check, b)
	}
	if turns {
		st.checkStored(r == resultOK)
	}
	if r == resultConflict {
		*c = st.takeConflict()
		c.of.conflicts[c.kind].Add(1)
		if b != nil {
			st.lose(b, c.hash)
		}
	}
	if r != resultOK { // else it has ended
		st.end(gen)
	}
	st.recycle(gen)
	return e, r
}

// commitBlind is commitWrites for a write of one key that depends on nothing that was read, as a
// Store. It conflicts only if the table has got an index. (With a claim of its own it would wait
// for that.)
func (st *txState) commitBlind(gen epoch.Gen, c *conflict) (e epoch.Epoch, r result) {
	w, at, touches := &st.writes[0], st.epoch(), false
	p := st.parts[w.of]
	place, head := p.index.Again(w.at(), w.hash, w.v.Key()) // may call a function that compares keys
	if w.merge != nil {
		p.m.write(place, w.hash, head, w.v, func(base *chain.Node) bool {
			w.merge.mergeInto(w.v, base)
			return true
		}, &touches)
		st.end(gen)
	} else {
		st.end(gen)
		p.m.write(place, w.hash, head, w.v, nil, &touches)
	}
	if touches { // the table has got an index
		p.conflictOn(w.v.Key(), ConflictRead, nil)
		*c = st.takeConflict()
		c.readEpoch = at
		c.of.conflicts[c.kind].Add(1)
		st.recycle(gen)
		return 0, resultConflict
	}
	e = p.m.CommitEpoch(w.v)
	st.recycle(gen)
	return e, resultOK
}

// tryAgain repeats try while rivals abort the attempts, as they did the first. If that goes on, it
// makes a claim: for b, or, if b is nil, one that it ends itself.
func (st *txState) tryAgain(
	gen epoch.Gen, check chain.Word, b *bid,
) (e epoch.Epoch, r result) {
	m := st.m
	own := bid{ctx: background}
	asks := &own
	if b != nil {
		asks = b
	}
	r = resultAborted
	for attempt := 0; r == resultAborted; attempt++ {
		// As far as we know, nobody wrote the keys that we read; a rival just could not wait.
		// Install again, with new versions: others may still hold the old ones.
		m.counters.reinstalled.Add(1)
		st.renew()
		if attempt+1 >= bidAborts || len(st.writes) > largeBatch || st.dirtied >= maxDirty {
			st.dirtied = 0
			end := asks.pause()
			if !asks.wait() {
				st.bid(asks)
				st.rare().claim = asks.claim // not the bid, which is to stay on the stack
				asks.wait()
			}
			end()
			if asks.ctx.Err() != nil { // nothing is installed: it may as well end here
				r = resultGaveUp
				break
			}
		} else {
			backoff(attempt)
		}
		if attempt >= mostLosses && st.merges() { // a Merge function may be in its own way
			w := &st.writes[0]
			r = st.parts[w.of].conflictOn(w.v.Key(), st.conflictKind(), nil)
			break
		}
		began := time.Now()
		e, r = st.try(gen, check, m.Slots.Now())
		asks.took = max(asks.took, time.Since(began))
	}
	if own.claim != nil {
		own.end()
	}
	return e, r
}

// try makes one attempt. If that commits, try ends the transaction and returns the epoch. check is
// CheckBit if the transaction has to validate. floor is an epoch that the clock had reached after
// the last record that the slot has announced, if any, was decided or aborted.
//
// A helper may have loaded the announced word of an earlier record, and sleep. Our announced word
// must differ, or the helper would put an epoch into it that was drawn before. The floor of the
// earlier record was lower: after that record was announced an epoch was drawn for its commit, or
// else for its abort (see rival.go of package chain).
func (st *txState) try(gen epoch.Gen, check chain.Word, floor epoch.Epoch) (epoch.Epoch, result) {
	hooks.At(hooks.CommitEntries)
	e := epoch.Epoch(0)
	st.prepare(check)
	r := st.installAll(gen)
	if r == resultOK {
		r = st.announce(floor, check)
	}
	if r == resultOK {
		e, r = st.decide(gen)
		st.endAlarm()
	}
	if r != resultOK {
		st.withdraw()
		return 0, r
	}
	st.conclude(gen, e)
	return e, resultOK
}

// conclude ends the transaction gen, which has committed at e, and does the work that is left.
func (st *txState) conclude(gen epoch.Gen, e epoch.Epoch) {
	hooks.At(hooks.Published)
	st.checkCommit(gen, e)
	// The reads are over: do not keep the versions that we have just replaced.
	st.end(gen)
	st.finalize(e)
	if st.m.views.Load().Due(e) {
		st.m.gc.RefreshPast(e, 0)
	}
}

// record returns the record of the commit under way: the state of the version if there is one key,
// else the record of the slot.
func (st *txState) record() *chain.Record {
	if st.multi() {
		return st.slot.Record()
	}
	return &st.writes[0].v.State
}

// multi reports whether the record of the commit is the slot's.
func (st *txState) multi() bool { return len(st.writes) > 1 }

// prepare makes the versions name a new record, and sorts the writes. A single version is its own
// record, and is announced.
func (st *txState) prepare(check chain.Word) {
	st.installed, st.checks = 0, 0
	if !st.multi() {
		record := st.record()
		chain.SetWord(record, chain.Load(record).Announced(0, check))
		return
	}
	st.slot.Open(uint64(chain.Special(chain.KindActive)))
	st.sortWrites()
	says, writes := chain.Indirect(st.slot.Number()), st.writes
	for i := range writes {
		v := writes[i].v
		chain.SetWord(&v.State, chain.Word(v.State.Load())&chain.KeepMask|says)
	}
}

// installAll installs all versions, and counts them.
func (st *txState) installAll(gen epoch.Gen) result {
	work := st.txWork
	for i := range work.writes {
		w := &work.writes[i]
		if i%installStride == installStride-1 && !st.goesOn() {
			return resultAborted
		}
		if w.read <= 0 || w.b == nil || w.merge != nil || !st.installRead(gen, w) {
			if r := st.install(gen, w); r != resultOK {
				return r
			}
		}
		work.installed++
		hooks.At(hooks.Installed)
	}
	hooks.At(hooks.InstalledAll)
	return resultOK
}

// announce announces the record. It returns resultAborted if a rival has aborted it.
func (st *txState) announce(floor epoch.Epoch, check chain.Word) result {
	if !st.multi() {
		return resultOK // it was installed announced
	}
	st.tellAll() // must precede: from here on others may commit it
	hooks.At(hooks.Told)
	r := st.record()
	if w := chain.Load(r); !w.Is(chain.KindActive) || !chain.Advance(r, w, w.Announced(floor, check)) {
		return resultAborted
	}
	hooks.At(hooks.JustAnnounced)
	return resultOK
}

// finalize does the work that is left when the transaction has committed at e.
func (st *txState) finalize(e epoch.Epoch) {
	parts, writes := st.parts, st.writes
	for _, p := range parts {
		if p.grows != 0 {
			p.countKeys()
		}
	}
	if len(writes) > 1 {
		for i := range writes {
			v := writes[i].v
			parts[writes[i].of].m.CheckCopy(v, e)
			v.PutOutcome(chain.Word(0).At(e))
		}
		st.slot.Settle(uint64(len(writes) - 1)) // the epoch counts one version
	}
	hooks.At(hooks.Finalized)
	for i := range writes {
		w := &writes[i]
		parts[w.of].m.tidyKey(w.at(), w.hash, chain.Load(&w.v.State), w.v)
	}
}

// countKeys counts by how much the commit has made the number of keys grow, once.
func (p *part) countKeys() {
	p.m.counters.keys.Add(int64(p.grows))
	p.grows = 0
}

// decide takes the announced transaction gen to its end, and returns its commit
// epoch.
func (st *txState) decide(gen epoch.Gen) (epoch.Epoch, result) {
	m, record := st.m, st.record()
	for {
		w := chain.Load(record)
		switch w.Tag() {
		case chain.TagCommitted: // a helper was faster
			return w.Epoch(), resultOK
		case chain.TagSpecial: // aborted
			return 0, resultAborted
		case chain.TagAnnounced:
			hooks.At(hooks.Announced)
			if !st.multi() {
				if m := st.parts[st.writes[0].of].m; m.hasListeners() {
					m.tell(st.writes[0].v, record)
				}
				hooks.At(hooks.Told)
			}
			// Must follow the load of w, whose floor makes sure that an epoch drawn before a
			// revocation is not put in after the revocation.
			d := w.Drawn(m.Slots.Next())
			hooks.At(hooks.Drawn)
			// Linearization point of a transaction that does not validate,
			// unless a helper's CAS was.
			if !chain.Advance(record, w, d) {
				m.counters.Wasted.Add(1)
			} else if d.Committed() {
				return d.Epoch(), resultOK
			}
		case chain.TagTentative:
			hooks.At(hooks.Tentative)
			if st.revoked >= maxRevocations {
				if e, r := st.decideAlarmed(gen); r != resultAborted {
					return e, r
				}
				continue
			}
			w, r := st.validated(gen, w, w.Epoch())
			if r != resultOK {
				if chain.Advance(record, w, w.Aborted()) {
					m.counters.Wasted.Add(1)
					return 0, r
				}
				st.takeConflict()
				continue // revoked, aborted: look again
			}
			hooks.At(hooks.Validated)
			// Linearization point of a transaction that validates.
			if chain.Advance(record, w, w.At(w.Epoch())) {
				return w.Epoch(), resultOK
			}
			st.rare().revoked++
		}
	}
}
