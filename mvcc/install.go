package mvcc

import (
	"math"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// install puts the pending version of w on top of its chain, or makes the version the head of a new
// chain. It returns resultOK if it did, and otherwise why the attempt is over. gen is the
// generation of the transaction.
func (st *txState) install(gen epoch.Gen, w *write) result {
	of := st.parts[w.of]
	m := of.m
	for lost := 0; ; {
		p, head := m.index.Again(w.at(), w.hash, w.v.Key())
		base, ok := m.DecidedBase(head)
		if !ok {
			if w := chain.Load(&head.State); w == chain.Indirect(st.slot.Number())|w&chain.KeepMask {
				panic(errTwice) // it is our own
			}
			continue
		}
		if r := of.mayCover(gen, w, base); r != resultOK {
			return r
		}
		if m.schemaNow() != of.schema { // must follow the load of the head: X2
			return of.conflictOn(w.v.Key(), ConflictRead, nil)
		}
		if w.merge != nil {
			w.merge.mergeInto(w.v, base)
			hooks.At(hooks.Computed)
		}
		if head != nil {
			ok = m.putOnTop(p, head, base, w.v)
		} else {
			p, ok = m.insert(w.hash, w.v, of.schema)
		}
		if w.b != p.Bucket { // a pointer that is written costs more while the garbage collector marks
			w.b = p.Bucket
		}
		w.i = p.I
		if !ok {
			// A merge may take its time: then the commit begins anew, and gets its turn.
			if lost++; w.merge != nil && lost >= bidLosses {
				return resultAborted
			}
			continue
		}
		of.grows += chain.Growth(base, w.v)
		return resultOK
	}
}

// installRead is install of a key that was read, for the usual case: the version seen is still the
// head, and so is committed, and no key need be compared. It reports whether w was installed.
func (st *txState) installRead(gen epoch.Gen, w *write) bool {
	work := st.txWork
	seen, p, of := work.reads[w.read-1].seen, w.at(), work.parts[w.of]
	if p.Load() != seen || st.slot.Gen() != gen { // as mayCover, which would find no conflict
		return false
	}
	m, v := of.m, w.v
	if m.schemaNow() != of.schema { // X2
		return false
	}
	// These are the steps of putOnTop.
	says, base := chain.Word(v.State.Load())&^chain.CountMask, chain.Load(&seen.State)
	count := m.cover(seen, base)
	chain.SetWord(&v.State, says|count<<chain.CountShift)
	chain.SetLink(&v.Next, seen)
	m.CheckOnTop(seen, seen, v)
	if !p.Cell().CompareAndSwap(seen, v) {
		return false
	}
	if (base | says).Tomb() {
		of.grows += chain.Growth(seen, v)
	}
	return true
}

// goesOn changes the record, so that rivals see that its owner runs, and reports whether the record
// is still active: a rival may have aborted it.
func (st *txState) goesOn() bool {
	r := st.record()
	w := chain.Load(r)
	return w.Is(chain.KindActive) && chain.Advance(r, w, w+chain.InstallStep)
}

// mayCover returns resultOK if the transaction may commit write w on top of base, and otherwise why
// not. base is the newest committed version, or nil.
func (p *part) mayCover(gen epoch.Gen, w *write, base *chain.Node) result {
	st := p.st
	switch {
	case st.level == LevelSnapshot && st.hasRead && !w.merges():
		if base != nil && p.m.CommitEpoch(base) > st.epoch() {
			return p.conflictOn(w.v.Key(), ConflictWrite, base)
		}
	case w.read != 0:
		was := st.seen(w)
		there := base.There()
		if seen := was.There(); seen && base != was || there && !seen {
			return p.conflictOn(w.v.Key(), ConflictRead, base)
		}
	default:
		return resultOK
	}
	// Must follow the comparison: if we were evicted, a key committed since may have left the
	// index. Must precede the install, after which others may commit us.
	if st.gen() != gen {
		return resultEvicted
	}
	return resultOK
}

// After each installStride installs the owner shows that it runs, by a CAS of its record. Rivals
// watch the record for microseconds before they abort it.
const installStride = 8

// insert makes v, which is private, the head of its key, if the key has none and the schema is s.
// It returns the place of the key, and whether v was inserted. Before the insertion a function of
// the user that compares keys may panic, or end the goroutine.
func (m *core) insert(hash uint64, v *chain.Node, s *schema) (index.Place, bool) {
	chain.SetLink(&v.Next, nil)
	return m.index.Insert(hash, v,
		index.Gate{At: (*unsafe.Pointer)(unsafe.Pointer(&m.schema)), Saw: unsafe.Pointer(s)})
}

// putOnTop makes v, which is private, the head at p, on top of base, if head still is the head, and
// reports whether it did. It cuts off the versions below base that nobody sees any more. This store
// into a cache line just read keeps chains short where writers never rest.
func (m *core) putOnTop(p index.Place, head, base, v *chain.Node) bool {
	count := chain.Word(1)
	if base != nil {
		count = m.cover(base, chain.Load(&base.State))
	}
	chain.SetWord(&v.State, chain.Word(v.State.Load())&^chain.CountMask|count<<chain.CountShift)
	chain.SetLink(&v.Next, base)
	m.CheckOnTop(head, base, v)
	return p.Cell().CompareAndSwap(head, v)
}

// cover cuts off the versions below base that nobody sees any more. base is committed, has state w,
// and is about to be covered. It returns the count of the version on top.
func (m *core) cover(base *chain.Node, w chain.Word) (count chain.Word) {
	view, e := m.views.Load(), w.Epoch()
	if !w.Committed() { // by its commit epoch: its own word may not have it yet
		e = m.CommitEpoch(base)
	}
	if e <= view.Min {
		m.Trim(base, view)
		return 1
	}
	count = w.Count() + 1
	if uint64(count) >= m.threshold || view.Since != 0 {
		count = m.countOn(uint64(count), e, view)
	}
	return count
}

// countOn returns the count of a version, number n since the whole chain was pruned, that covers a
// version committed at e. view allows no trim below e. The count is n, or 1 with Options.Retain. It
// is 0 if the committer is to prune the whole chain again:
//
//   - when n reaches the number of live epochs, and m.threshold. The committer meets the versions
//     that the epochs need, as many others, and those that it drops. So a version pays for two kept
//     ones, whatever the number of readers, and a chain has little over twice the versions needed;
//   - with Options.Retain once in each part of that time, see [gc.View].Since.
//
// The word cannot count further than CountMax. If there are more live epochs, the count falls back
// now and then, by chance, and reaches CountMax after as many versions on average. Others see the
// count 0 with the version, so only its committer prunes. If the committer sleeps, another one
// prunes after as many versions again.
func (m *core) countOn(n uint64, e epoch.Epoch, view *gc.View) chain.Word {
	if view.Since != 0 {
		if e <= view.Since {
			return 0
		}
		return 1
	}
	most := m.wholeAfter(view)
	if most > chain.CountMax && n > 1 && (n-1)%m.threshold == 0 &&
		m.index.Hash.Mix(uint64(e))%most >= chain.CountMax/m.threshold*m.threshold {
		n -= m.threshold
	}
	if n >= min(most, chain.CountMax+1) {
		return 0
	}
	return chain.Word(n)
}

// wholeAfter returns after how many versions a committer prunes all of a chain.
func (m *core) wholeAfter(view *gc.View) uint64 { return max(m.threshold, uint64(view.Len())) }

// After each shortRun versions a committer drops those that the present view allows to drop, and
// stops after shortRun versions in a row that have to be kept. So chains are short also beside a
// reader, where trim cannot drop anything. The committer looks for the bound within
// nearRuns*shortRun versions, or within nearRuns*wholeAfter when it prunes all.
const (
	shortRun = 2
	nearRuns = 4
)

// tidyKey does the work that v, a version committed at p, brings with it: it drops superfluous
// versions, now and then, and asks the background work for a visit. The visit drops the others when
// the key is not written any more. h is the hash of the key, and w the word of v.
func (m *core) tidyKey(p index.Place, h uint64, w chain.Word, v *chain.Node) {
	m.CheckNewest(v)
	base := v.Next.Load()
	if base == nil && !w.Tomb() {
		return // a new key: nothing to drop
	}
	if n := uint64(w.Count()); n != 1 && base != nil && (n%shortRun == 0 || n%m.threshold == 0) {
		m.pruneOwn(p, base, w.Epoch(), n)
	} else if m.index.IsAsked(p) {
		return // nearly always
	}
	m.index.Ask(p, h, v.Key())
}

// pruneOwn prunes the chain at p for the committer at e of a version with count n on top of base.
func (m *core) pruneOwn(p index.Place, base *chain.Node, e epoch.Epoch, n uint64) {
	view, above, run := m.views.Load(), uint64(nearRuns*shortRun), shortRun
	// A newer view helps if the view is old, but not if the readers are.
	if n%m.threshold == 0 && m.CommitEpoch(base) > view.Bound {
		view = m.gc.RefreshPast(e, max(m.threshold/4, 1))
	}
	if n == 0 {
		if above, run = nearRuns*m.wholeAfter(view), math.MaxInt; view.Since != 0 {
			above = math.MaxInt
		}
	}
	m.prune(p, p.Load(), view, above, run, nil)
}
