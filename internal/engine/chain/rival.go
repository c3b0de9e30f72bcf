package chain

import (
	"runtime"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// This file is how writers deal with writers that have not decided yet: a version is installed on a
// decided head only.

// DecidedBase returns the newest committed version, or nil, of the key whose head is or was h,
// which may be nil: as of a moment when no undecided writer was on top. ok is false if there was
// such a writer: then the caller looks the key up again.
//
// It decides for an undecided writer: it helps a writer that is announced and does not validate to
// commit; it gives any other a moment, and aborts it if it stands still. So it waits for no
// particular goroutine.
func (d *Decider) DecidedBase(h *Node) (base *Node, ok bool) {
	if h == nil || Load(&h.State).Committed() { // nearly always
		return h, true
	}
	return d.decideHead(h)
}

// decideHead is DecidedBase for a head that does not say by itself that it is committed.
func (d *Decider) decideHead(h *Node) (base *Node, ok bool) {
	w, r := d.Of.Resolve(h)
	switch {
	case w.Committed():
		return h, true
	case w.Is(KindAborted):
		return h.Next.Load(), true
	case w.Tag() == TagAnnounced && w&CheckBit == 0:
		d.Help(h, r, w)
	default:
		if w, still := standsStill(r, w); still {
			d.abortRival(r, w)
		}
	}
	return nil, false
}

// abortRival aborts the transaction with record r, if r still says w.
//
// An epoch is drawn before an announced record is aborted: so the next record that is announced in
// the same slot has a later floor, and a goroutine that has loaded this record cannot take the next
// one for it.
func (d *Decider) abortRival(r *Record, w Word) {
	if w.Tag() == TagAnnounced {
		d.Of.Slots.Next()
		d.Counts.Wasted.Add(1)
	}
	if Advance(r, w, w.Aborted()) {
		d.Counts.Rivals.Add(1)
		if w.Tag() == TagTentative {
			d.Counts.Wasted.Add(1)
		}
	}
}

// AbortLeft aborts the record of a commit that a function of the user has left, unless the record
// is decided, and returns the previous word. No commit uses epochs drawn for the record.
func (d *Decider) AbortLeft(r *Record) (was Word) {
	d.Of.Slots.Next() // it may be announced, see abortRival
	d.Counts.Wasted.Add(1)
	if was = AbortRecord(r); was.Tag() == TagTentative {
		d.Counts.Wasted.Add(1)
	}
	return was
}

// How often an installer loads the record of an undecided rival before it takes the rival for
// stopped: first spinning, then yielding, which lets the rival run if it has lost its processor.
// The rival changes its record after every eight installs, or 64 validated reads.
const (
	installSpins  = 256
	installYields = 4
)

// standsStill watches the record of a rival that says w for a while, and reports its
// last word and whether its owner stands still.
func standsStill(r *Record, w Word) (Word, bool) {
	for range hooks.Looks(installSpins) {
		now := Load(r)
		if movedOn(w, now) {
			return now, false
		}
		w = now
	}
	for range hooks.Looks(installYields) {
		runtime.Gosched()
		now := Load(r)
		if movedOn(w, now) {
			return now, false
		}
		w = now
	}
	hooks.GaveUp()
	return w, true
}

// movedOn reports whether an undecided record that said w, and says now, has been decided, or
// changed by its owner. A push or a revocation by readers does not count: it does not show that the
// owner runs, and would shield an owner that sleeps.
func movedOn(w, now Word) bool {
	if now == w {
		return false
	}
	undecided := now.Tag() == TagAnnounced || now.Tag() == TagTentative
	if w.Tag() == TagSpecial || !undecided {
		return true
	}
	return w.Tag() == TagTentative && now == w^CheckBit
}
