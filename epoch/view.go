package epoch

import (
	"math/bits"
	"slices"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A View is an immutable picture of the epochs being read: a bound, and the read epochs
// below it of all live transactions. Every other transaction, live or future, reads at
// the bound or above. There is no limit to the number of epochs.
//
// A view stays true for ever, it only grows less useful: nobody begins below its
// bound after it was made. It must not be copied.
type View struct {
	// Bound is the epoch below which no transaction begins any more.
	Bound Epoch
	// Min is the min visible epoch: no live or future transaction reads below.
	Min Epoch
	// Writers is an epoch, at most the bound: no transaction that may write reads below it.
	Writers Epoch
	// OldWriter says that Writers is the read epoch of a promoted transaction that may write.
	// Writers does not change until this transaction has ended.
	OldWriter bool

	// young are the epochs of transactions that are not promoted, old those of
	// promoted ones: both sorted and distinct. An epoch may be in both.
	young, old []Epoch

	few [4]Epoch // room for young
}

// oldEpochs has the distinct read epochs of the promoted transactions, sorted, and the lowest read
// epoch of a promoted transaction that may write. It is immutable.
type oldEpochs struct {
	epochs []Epoch
	writer Epoch // 0 if there is none
}

// Announce reads the clock and returns the epoch read. It also makes the bound at least that epoch,
// or at least the epoch of [Slots.Keep] if this is lower. The bound only grows, so calls may
// overlap: the scan after each call is covered by a bound at or above that call's.
func (s *Slots) Announce() Epoch {
	_, m := s.announce()
	return m
}

// Reach returns which bound [Slots.Announce] would announce.
func (s *Slots) Reach() Epoch { return s.reach(s.Now()) }

// reach returns the epoch to which a bound may grow, if the clock was now a moment ago.
func (s *Slots) reach(now Epoch) Epoch {
	for _, kept := range [...]uint64{s.kept.Load(), s.held.Load()} { // must follow the clock
		if kept != 0 {
			now = min(now, Epoch(kept))
		}
	}
	return now
}

// announce is Announce, and also returns the clock that it read.
func (s *Slots) announce() (now, m Epoch) {
	now = s.Now()
	m = s.reach(now)
	hooks.At(hooks.BoundLoaded)
	for b := s.Bound(); b < m && !s.bound.CompareAndSwap(uint64(b), uint64(m)); {
		b = s.Bound()
	}
	s.checkAnnounced(m)
	hooks.At(hooks.BoundStored)
	return now, m
}

// Look makes v the view of bound m, which must come from [Slots.Announce]. It returns how many
// slots and groups it looked at, which are its cost: promoted transactions cost nothing, however
// many there are. It uses scratch, which may be nil, and returns it for the next time.
func (s *Slots) Look(v *View, m Epoch, scratch []Epoch) (looked int, _ []Epoch) {
	s.checkScan(m)
	writers := m
	scratch = scratch[:0]
	for g := range s.groups {
		looked++
		for slot := range g.scanned {
			looked++
			word, _, live := slot.loadState()
			if e := epochIn(word); live && e < m {
				scratch = append(scratch, e)
				if word&MayWrite != 0 {
					writers = min(writers, e)
				}
			}
		}
	}
	hooks.At(hooks.SlotsScanned)
	// This load must follow the scan: a transaction that the scan passed over because it is
	// promoted had been published in s.old before.
	old := s.old.Load()
	if old.writer != 0 {
		writers = min(writers, old.writer)
	}
	n, _ := slices.BinarySearch(old.epochs, m)
	slices.Sort(scratch)
	scratch = slices.Compact(scratch)
	*v = View{Bound: m, Writers: writers, OldWriter: writers == old.writer, old: old.epochs[:n:n]}
	v.young = append(v.few[:0], scratch...)
	v.Min = m
	if len(v.young) > 0 {
		v.Min = v.young[0]
	}
	if n > 0 {
		v.Min = min(v.Min, v.old[0])
	}
	s.checkView(v)
	return looked, scratch
}

// ViewOf returns a view made by hand, for tests. young and old are the read epochs of transactions
// that are not promoted and that are, each sorted and below the bound. writers is the lowest epoch
// of those that may write, or the bound.
func ViewOf(bound, writers Epoch, young, old []Epoch) View {
	v := View{Bound: bound, Writers: writers, Min: bound, young: young, old: old}
	v.OldWriter = slices.Contains(old, writers)
	if live := v.Live(); len(live) > 0 {
		v.Min = live[0]
	}
	return v
}

// groups calls yield for every group there is.
func (s *Slots) groups(yield func(*group) bool) {
	dir := *s.dir.Load()
	for i := range dir {
		if g := dir[i].Load(); g != nil && !yield(g) {
			return
		}
	}
}

// scanned calls yield for every slot of the group that a scan must look at.
func (g *group) scanned(yield func(*Slot) bool) {
	for w := g.scan.Load(); w != 0; w &= w - 1 {
		slot := g.slots[bits.TrailingZeros64(w)].Load()
		if slot != nil && !yield(slot) {
			return
		}
	}
}

// Below returns the newest live epoch below e, or 0 if there is none; old says whether a promoted
// transaction reads at this epoch. The cost is logarithmic.
func (v *View) Below(e Epoch) (at Epoch, old bool) {
	if i, _ := slices.BinarySearch(v.young, e); i > 0 {
		at = v.young[i-1]
	}
	if i, _ := slices.BinarySearch(v.old, e); i > 0 && v.old[i-1] >= at {
		return v.old[i-1], true
	}
	return at, false
}

// Live returns the distinct live epochs, sorted. It allocates.
func (v *View) Live() []Epoch {
	all := slices.Concat(v.young, v.old)
	slices.Sort(all)
	return slices.Compact(all)
}

// Len returns the number of distinct live epochs; an epoch that is both young and old counts twice.
func (v *View) Len() int { return len(v.young) + len(v.old) }

// Old returns the epochs of promoted transactions, sorted. The caller must not
// change them.
func (v *View) Old() []Epoch { return v.old }
