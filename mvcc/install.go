package mvcc

import (
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/index"
)

// install puts the pending version of write i on top of its chain, or makes it the head
// of a new one. It returns resultOK if it did, and otherwise why the attempt is
// over. gen is the transaction.
func (st *txState) install(gen epoch.Gen, i int) result {
	w := &st.writes[i]
	of := st.parts[w.of]
	m := of.m
	if len(st.writes) > 1 && i%installStride == installStride-1 && !st.goesOn() {
		return resultAborted
	}
	for lost := 0; ; {
		p, ok := w.at(), true
		var head, base *chain.Node
		if head = st.atHead(w, p); head != nil {
			if base = head; st.gen() != gen { // as mayCover, which would find no conflict
				return resultEvicted
			}
		} else {
			p, head = m.index.Again(p, w.hash, w.v.Key())
			if base, ok = m.DecidedBase(head); !ok {
				if w := chain.Load(&head.State); w == chain.Indirect(st.slot.Number())|w&chain.KeepMask {
					panic(errTwice) // it is our own
				}
				continue
			}
			if r := of.mayCover(gen, w, base); r != resultOK {
				return r
			}
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

// atHead returns the version that was read of the key of w, if that is the head of the chain at p: it
// is committed, and no key need be compared. Otherwise, or if it was not read, it returns nil.
func (st *txState) atHead(w *write, p index.Place) *chain.Node {
	if w.read > 0 && !p.Nowhere() {
		if seen := st.reads[w.read-1].seen; p.Load() == seen {
			return seen
		}
	}
	return nil
}

// goesOn gives a sign of life and reports whether the record is still active: a
// rival may have aborted it.
func (st *txState) goesOn() bool {
	r := st.record()
	w := chain.Load(r)
	return w.Is(chain.KindActive) && chain.Advance(r, w, w+chain.InstallStep)
}

// mayCover reports whether the transaction may commit write w on top of base, the
// newest committed version, or nil: resultOK, or why not.
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
	// Must follow the comparison, and precede the install: what was committed since may
	// have left the index if we were evicted, and once it is installed others may commit
	// us.
	if st.gen() != gen {
		return resultEvicted
	}
	return resultOK
}

// installStride is after how many installs the owner shows that it goes on, by a
// CAS of its record. Others look for microseconds before they abort it.
const installStride = 8

// insert makes v, which is private, the head of its key, if that has none and the schema is s. It
// returns the place of the key, and whether it did. A function of the user that compares keys may
// panic, or end the goroutine, before it is inserted.
func (m *core) insert(hash uint64, v *chain.Node, s *schema) (index.Place, bool) {
	chain.SetLink(&v.Next, nil)
	return m.index.Insert(hash, v,
		index.Gate{At: (*unsafe.Pointer)(unsafe.Pointer(&m.schema)), Saw: unsafe.Pointer(s)})
}

// putOnTop makes v, which is private, the head at p on top of base, if head still is the head.
// It reports whether it did. It cuts off what nobody sees any more below base. So chains stay
// short where writers never rest, for a store into a line that has just been read.
func (m *core) putOnTop(p index.Place, head, base, v *chain.Node) bool {
	count := chain.Word(1)
	if base != nil {
		// By its commit epoch, not by its own word, which may not have it yet.
		if view := m.views.Load(); m.CommitEpoch(base) <= view.Min {
			m.Trim(base, view)
		} else {
			count = min(chain.Load(&base.State).Count()+1, chain.CountMax)
		}
	}
	chain.SetWord(&v.State, chain.Word(v.State.Load())&^chain.CountMask|count<<chain.CountShift)
	chain.SetLink(&v.Next, base)
	m.CheckOnTop(head, base, v)
	return p.Swap(head, v)
}

// settledRun is after how many versions in a row of which each had to be kept a
// committer stops pruning: what is below was pruned before, and only loses a
// version when a read epoch ends. Looking after that is background work.
const settledRun = 8

// shortRun is after how many versions a committer looks whether the present view allows
// to drop any, and after how many in a row that have to be kept it stops: so chains
// are short beside a reader too, for which trim cannot drop anything.
const shortRun = 2

// tidyKey does the work that a committed version v of write at p brings with it: it
// drops what has become superfluous, now and then, and asks the background work for a
// visit, which drops the rest when the key is not written any more. h is the hash of the
// key.
func (m *core) tidyKey(p index.Place, h uint64, v *chain.Node) {
	m.CheckNewest(v)
	w := chain.Load(&v.State)
	base := v.Next.Load()
	if base == nil && !w.Tomb() {
		return // a new key: nothing to drop
	}
	if n := uint64(w.Count()); base != nil && (n >= m.threshold || n%shortRun == 0) {
		view, run := m.views.Load(), shortRun
		if n >= m.threshold {
			// A newer view helps if it is the view that is old, and not the
			// readers.
			if run = settledRun; m.CommitEpoch(base) > view.Bound {
				view = m.gc.RefreshPast(w.Epoch(), max(m.threshold/4, 1))
			}
		}
		m.prune(p, p.Load(), view, run, nil)
		if n >= m.threshold {
			// Must follow: if we sleep before, the next committer prunes.
			v.State.And(^uint64(chain.CountMask))
		}
	}
	m.index.Ask(p, h, v.Key())
}
