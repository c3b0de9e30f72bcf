package gc

import (
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	hooked "github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
)

// A View is a picture of the open transactions, and says when a committer should ask for a newer
// one.
type View struct {
	epoch.View
	// Since is 0 if nothing is retained. Otherwise a writer that covers a version of epoch Since or
	// older prunes all of its chain. Where ticks are late Since moves on several times in the time
	// that is retained: so each key that is written is pruned as often.
	Since epoch.Epoch
	// looked is how many slots and groups were looked at to make the view.
	looked uint64
	// made is the clock when the view was made: its bound, if nothing is retained.
	made epoch.Epoch
	// due is the epoch from which on the view is too old for committers.
	due epoch.Epoch
}

// A committer that draws an epoch renews the view if the view is more than ageLimit epochs old, and
// also more than ageFactor epochs for each slot to look at: so a commit pays for a fraction of a
// slot. A writer that covers a version younger than the view has to prune that version later. With
// an ageLimit of 1,024, half of all writes to 200 keys had to. While nothing is dropped, since
// history is retained, views may be retainedAge times older. viewLate is how many times older a
// view may get while another goroutine is making one.
const (
	ageLimit    = 128
	ageFactor   = 8
	retainedAge = 8
	viewLate    = 4
)

// View returns the newest view. It never waits.
func (r *Reclaimer) View() *View { return r.view.Load() }

// Views returns the pointer to the newest view, for callers that load it for each commit.
func (r *Reclaimer) Views() *hooked.Pointer[View] { return &r.view }

// Due reports whether a committer that has drawn epoch e should call
// [Reclaimer.RefreshPast]. It is two loads, of words that rarely change.
func (r *Reclaimer) Due(e epoch.Epoch) bool { return r.view.Load().Due(e) }

// Due is [Reclaimer.Due], if v is the newest view.
func (v *View) Due(e epoch.Epoch) bool { return e >= v.due }

// RefreshPast makes a new view if the present one is due at epoch e, or, if stride is not 0, is
// more than stride epochs older than e and more than a quarter of an epoch for each slot to look
// at. It returns the newest view. It waits for nobody.
func (r *Reclaimer) RefreshPast(e epoch.Epoch, stride uint64) *View {
	v := r.view.Load()
	age := v.due - v.made
	if stride != 0 && r.cfg.Slots.Reach() > v.Bound { // else a newer view drops hardly more
		age = min(age, epoch.Epoch(max(stride, v.looked/4)))
	}
	if v.made+age > e {
		return v
	}
	locked, timed := r.tryLock(), false
	if locked || v.made+viewLate*age <= e {
		start := r.counters.commits.begin()
		if locked {
			r.refresh()
			r.unlock()
		} else {
			// The goroutine that makes a view sleeps: do not let chains grow meanwhile.
			r.install(r.cfg.Slots.Announce(), nil, false)
		}
		r.counters.commits.end(start)
		timed = !start.IsZero()
	}
	// Looking at the clock costs a tenth of a view.
	if (stride == 0 || timed) && r.noticeLate() || r.closed.Load() {
		r.passAlone()
		r.some(r.view.Load(), aloneVisits)
	}
	return r.view.Load()
}

// Refresh makes a new view. If another goroutine is making one, Refresh returns at once, and the
// view may still be the old one.
func (r *Reclaimer) Refresh() {
	if r.tryLock() {
		r.refresh()
		r.unlock()
	}
}

// tryLock takes r.refreshing, if nobody holds it; unlock gives it back.
func (r *Reclaimer) tryLock() bool {
	hooks.Mutex(&r.refreshing)
	return r.refreshing.TryLock()
}

func (r *Reclaimer) unlock() {
	hooks.Mutex(&r.refreshing)
	r.refreshing.Unlock()
}

// renew looks at the live transactions, then makes a new view, and counts both as a refresh by
// cause. It waits for a refresh under way.
func (r *Reclaimer) renew(cause *cause) *View {
	start := r.now()
	r.refreshing.Lock()
	now := r.now() // with the lock held: rounds are in the order of time, see pins
	notices := r.round(now, true)
	view := r.refresh()
	r.refreshing.Unlock()
	cause.add(1, r.now()-start)
	apart := func(say func()) bool { // Close waits for the ticker, and so for goroutines of it
		r.spawn(say)
		return true
	}
	if cause != &r.counters.ticks {
		apart = nil
	}
	r.tell(notices, now, apart)
	return view
}

// now returns the time since the reclaimer was made. It does not jump when the
// clock on the wall does.
func (r *Reclaimer) now() time.Duration { return time.Since(r.born) }

// refresh makes a new view. r.refreshing is held.
func (r *Reclaimer) refresh() *View {
	v, scratch := r.install(r.cfg.Slots.Announce(), r.scratch, true)
	r.scratch = spare(scratch)
	return v
}

// install scans the slots, after bound m has been announced, and makes the result the newest view,
// unless a newer view has been made meanwhile. It returns the view that it made, and scratch, which
// it has used. Calls may overlap. A call that holds r.refreshing also replaces a view of the same
// bound, which is older than the call's own view.
func (r *Reclaimer) install(
	m epoch.Epoch, scratch []epoch.Epoch, locked bool,
) (*View, []epoch.Epoch) {
	v := new(View)
	looked, scratch := r.cfg.Slots.Look(&v.View, m, scratch)
	v.looked = uint64(looked)
	age := max(ageLimit, ageFactor*v.looked)
	if v.made = m; r.cfg.Slots.Holds() {
		v.made = r.cfg.Slots.Now()
		age *= retainedAge
	}
	v.Since = epoch.Epoch(r.history.since.Load())
	v.due = v.made + epoch.Epoch(age)
	for old := r.view.Load(); old == nil || old.Bound < m ||
		locked && old.Bound == m; old = r.view.Load() {
		if r.view.CompareAndSwap(old, v) {
			break
		}
	}
	r.checkInstalled(v)
	return v, scratch
}
