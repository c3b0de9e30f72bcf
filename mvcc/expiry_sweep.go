package mvcc

import (
	"context"
	"errors"
	"slices"
	"time"
	"unsafe"
	"weak"

	"github.com/mvccmap/mvccmap/internal/hasher"
	"github.com/mvccmap/mvccmap/internal/hooks"
)

const (
	// sweepBatch is how many records are deleted in one transaction, and hubTries how often that is
	// tried while others have the lock of the hub.
	sweepBatch = 256
	hubTries   = 100
	// When there are crowd more notes than twice the keys those that are of no use are dropped.
	crowd = 4096
	// The clock may be set back by so many milliseconds without further ado.
	setBack = 1000
	// The ticker may stop if nothing is due for restful milliseconds; after longestRest it looks
	// at the clock again, which may have been set.
	restful     = 1000
	longestRest = time.Minute
)

// waits reports whether something is due soon. If not, the ticker may stop: a timer wakes it,
// or a writer that notes a key.
func (x *expiry) waits() bool {
	x.awake.Store(0)     // must precede: a writer that notes a key afterwards wakes
	if !x.mu.TryLock() { // another goroutine is at it
		x.awake.Store(1)
		return true
	}
	defer x.mu.Unlock()
	x.gather()
	next, ok := x.wheel.next()
	switch rest := next - x.wallClock(); { // the wheel may stand still yet
	case !ok:
		x.stop()
	case rest <= restful || len(x.wheel.ready) > 0:
		x.awake.Store(1)
		return true
	default:
		x.stop()
		lasting := weak.Make(x)
		x.timer = time.AfterFunc(min(time.Duration(min(rest, 1<<40))*time.Millisecond, longestRest),
			func() {
				if x := lasting.Value(); x != nil {
					x.rouse()
				}
			})
	}
	return false
}

// stop stops the timer. x.mu is held.
func (x *expiry) stop() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

// gather takes what was noted. x.mu is held.
func (x *expiry) gather() {
	for i := range x.lists {
		for n := takeAll(&x.lists[i].head); n != nil; n = n.next {
			x.wheel.add(n.at, n.key)
		}
	}
}

// look moves the time on, and reports whether there is something to do. keys is how many the
// map has.
func (x *expiry) look(keys int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gather()
	now := x.wallClock()
	if now < x.wheel.now-setBack {
		for _, one := range x.wheel.reset(now) {
			x.wheel.add(one.at, one.what)
		}
	}
	x.wheel.advance(now)
	return len(x.wheel.ready) > 0 || x.crowded(keys)
}

func (x *expiry) crowded(keys int64) bool { return int64(x.wheel.n) > 2*max(keys, 0)+crowd }

// take returns some notes whose time has come; or, if all is set, all that there are.
func (x *expiry) take(all bool) []noteOf {
	x.mu.Lock()
	defer x.mu.Unlock()
	if all {
		return x.wheel.reset(x.wheel.now)
	}
	return x.wheel.take(sweepBatch)
}

// put adds notes.
func (x *expiry) put(list []noteOf) {
	if len(list) == 0 {
		return
	}
	x.mu.Lock()
	for _, one := range list {
		x.wheel.add(one.at, one.what)
	}
	x.mu.Unlock()
	x.rouse()
}

// soon is a time that comes with the next tick.
func (x *expiry) soon() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wheel.now + 1
}

// expireDue is done by each tick.
func (m *core) expireDue() {
	x := m.expiry()
	if x == nil || x.awake.Load() == 0 || x.sweeping.Swap(true) {
		return
	}
	// In a goroutine, also the look: the wheel may have a lot to do.
	if !m.gc.Go(func() {
		defer x.sweeping.Store(false)
		_ = m.expireNow(background)
	}) {
		x.sweeping.Store(false)
	}
}

// expireNow is done by Reclaim.
func (m *core) expireNow(ctx context.Context) error {
	if x := m.expiry(); x != nil && x.look(m.counters.keys.Value()) {
		return x.sweep(ctx)
	}
	return nil
}

// expires reports whether there is something that will expire.
func (m *core) expires() bool {
	x := m.expiry()
	return x != nil && !m.gc.Manual() && x.waits()
}

func (m *core) endExpiry() {
	if x := m.expiry(); x != nil {
		m.expiryAt.Store(nil)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.stop()
	}
}

// sweep deletes what is due.
func (x *expiry) sweep(ctx context.Context) error {
	defer x.tell()
	for x.m.expiry() == x {
		x.mu.Lock()
		crowded := x.crowded(x.m.counters.keys.Value())
		x.mu.Unlock()
		if crowded {
			x.thin(ctx)
		}
		if more := x.sweepOnce(ctx); !more {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sweepOnce deletes some of what is due, and reports whether there may be more.
func (x *expiry) sweepOnce(ctx context.Context) (more bool) {
	hold := &x.m.shared.expiryHold
	if !hold.begin() {
		return false
	}
	defer hold.end()
	list := x.take(false)
	if len(list) > 0 {
		x.sweepSome(ctx, list)
	}
	return len(list) > 0
}

// thin drops the notes that are of no use, some at a time.
func (x *expiry) thin(ctx context.Context) {
	list := x.take(true)
	defer func() { x.put(list) }() // what is left, even if until ends the goroutine
	var met hasher.Set
	for len(list) > 0 && ctx.Err() == nil && x.m.expiry() == x {
		n := min(len(list), crowd)
		rest := x.ofUse(list[:n], &met)
		list = list[n:]
		x.put(rest)
	}
}

// sweepSome deletes the records that the notes of list are of, as far as these are due, and puts
// back what is to be looked at again: not before the next tick.
func (x *expiry) sweepSome(ctx context.Context, list []noteOf) {
	now, soon := x.wallClock(), x.soon()
	var again []noteOf
	keys := make([]unsafe.Pointer, 0, len(list))
	defer func() { // even if until leaves: with what is left of list and keys
		again = append(again, list...)
		for _, key := range keys {
			again = append(again, noteOf{soon, key})
		}
		for i := range again {
			again[i].at = max(again[i].at, soon)
		}
		x.put(again)
	}()
	for ; len(list) > 0; list = list[1:] {
		one := list[0]
		switch at, ok := x.nextLook(one.what, soon); {
		case ok && at <= now:
			keys = append(keys, one.what)
			continue
		case ok:
			again = append(again, noteOf{at, one.what})
		}
		x.inTime(one.what)
	}
	hooks.At(hooks.Swept)
	on := x.m.onExpire.Load()
	for step := len(keys); len(keys) > 0 && step > 0; step /= 2 {
		// One that is always in the way does not keep the others from going.
		for at := 0; at < len(keys); {
			n := min(step, len(keys)-at)
			later, err := x.deleteSome(ctx, keys[at:at+n], on)
			switch {
			case err == nil:
				for _, key := range keys[at : at+n] {
					x.inTime(key)
				}
			case errors.Is(err, ErrConflict) || on != nil && ctx.Err() == nil && n > 1:
				at += n
				continue
			case on != nil && ctx.Err() == nil:
				later = x.refused(keys[at], err, now, soon)
			default:
				return
			}
			again = append(again, later...)
			keys = slices.Delete(keys, at, at+n)
		}
	}
}

// deleteSome deletes those of the keys whose time has come, in one transaction, with calls of on
// unless that is nil, and returns when the others are to be looked at. Where others have the lock of
// the hub it waits for them, with no transaction open, and tries again; a conflict ends it.
func (x *expiry) deleteSome(
	ctx context.Context, keys []unsafe.Pointer, on *onExpire,
) (later []noteOf, err error) {
	told := telling{hub: &x.m.shared.hub}
	for range hubTries {
		told.busy = false
		if on != nil {
			later, err = x.deleteCalling(ctx, keys, on, &told)
		} else {
			later, err = x.deleteDue(ctx, keys, &told)
		}
		if !told.busy || ctx.Err() != nil {
			break
		}
		told.wait()
	}
	return later, err
}

// deleteDue is deleteSome without calls, once.
func (x *expiry) deleteDue(
	ctx context.Context, keys []unsafe.Pointer, told *telling,
) (later []noteOf, err error) {
	m := x.m
	defer told.end()
	gone := uint64(0)
	err = m.update(ctx, sweepOptions, func(tx DBTx) error {
		later, gone = nil, 0
		now := x.wallClock()
		for _, key := range keys {
			v := tx.read(key)
			if !v.There() {
				continue
			}
			switch at, ok := millis(x.until(v)); {
			case !ok:
			case at > now:
				later = append(later, noteOf{at, key})
			default:
				tx.write(m.types.tombstone(key))
				gone++
			}
		}
		if gone == 0 {
			return nil
		}
		return told.begin(tx)
	})
	if err == nil {
		m.counters.expired.Add(gone)
	}
	return later, err
}

var sweepOptions = &TxOptions{Isolation: LevelSerializable, MaxAttempts: 1, own: true}

// A telling lets the hub know that a commit deletes what has expired, before the hub finds that: it
// holds the lock of the hub while the commit is under way.
type telling struct {
	hub    *hub
	locked bool
	busy   bool // somebody else had the lock
}

// begin is called when tx has written all that it will. It returns ErrConflict where it would have to
// wait, while tx is open; the commit does so itself. One that is under way when the first watch begins
// may be told as any other.
func (t *telling) begin(tx DBTx) error {
	st := stateOf(tx.st)
	var few [8]uint64
	if st.m.favour.Any() && len(st.claimed(few[:0])) > 0 {
		return ErrConflict
	}
	if t.hub.work.Load() == nil &&
		!slices.ContainsFunc(st.parts, func(p *part) bool { return p.m.feed() != nil }) {
		return nil
	}
	if t.locked = t.hub.mu.TryLock(); !t.locked {
		t.busy = true
		return ErrConflict
	}
	rare := st.rare()
	rare.after = slices.Insert(rare.after, 0, func(e uint64) {
		t.hub.hasExpired(e)
		t.end()
	})
	return nil
}

// end is called when the commit is over, however it ends.
func (t *telling) end() {
	if t.locked {
		t.locked = false
		t.hub.mu.Unlock()
	}
}

// wait waits for those who have the lock.
func (t *telling) wait() {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
}
