package mvcc

import (
	"context"
	"errors"
	"slices"
	"sync"
	stdatomic "sync/atomic"
	"time"
	"weak"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// Expire makes the records of the map expire: each is deleted when its time has come, which
// until returns, for good if that is the zero time. It is the wall clock that counts. Until then
// it can be read, so that who must not see it late looks at the time as well. It is deleted
// within Options.ReclaimInterval, if the machine has time, by the background work in transactions
// of some hundred records; with ManualReclaim by [Map.Reclaim]. Those who watch the map get to know
// it, see [Commit.Expired]. A record that is written anew has the time of its new value: so it lives
// for longer if that is later. A transaction that has read a record, and writes, conflicts if this
// expires meanwhile.
//
// until must return the same for the same record, so it must not ask for the time itself:
// the value says how long it lives. It must be quick, and not use the map: it is called by who
// writes, for the old value and the new one, by who helps him, and by who expires. What it is given
// must not be changed. If it panics when it is called by who writes it is called again by the
// background work, so that the program ends with its panic; or by Reclaim.
//
// Expire looks at all keys once; it may be called while the map is in use, once. What is written
// after it was called expires. A key and some 40 bytes are kept for each record, and at times for
// some that were deleted; who writes faster than these can be looked at does that himself.
// [Map.Close] and [DB.Close] end it: nothing expires any more. If the clock is set, or the machine
// was asleep, a record may go a minute late.
func (m *Map[K, V]) Expire(until func(key K, value V) time.Time) {
	m.check()
	if until == nil {
		panic("mvcc: Expire: until is nil")
	}
	x := &expiry[K, V]{until: until, wake: m.gc.Wake}
	x.wheel.reset(wallClock())
	if !m.expiry.CompareAndSwap(nil, x) {
		panic("mvcc: Expire: it was called before")
	}
	if m.gc.Closed() || m.closed.Load() { // must follow
		m.endExpiry()
		return
	}
	m.index.scan(func(_ place[K, V], head *version[K, V]) bool { // E2
		w, _ := m.resolve(head)
		for v := head; v != nil; v = v.next.Load() {
			if at, ok := x.when(v); ok {
				m.pushDue(x, v.key, m.index.hash.sum(v.key), at)
			}
			if v != head || w.committed() {
				break
			}
		}
		return true
	})
}

// An expiry deletes the records of a map whose time has come. It finds them by notes, each of a
// key and a time.
//
//   - E1: who draws an epoch for a record has looked for the expiry before, and after the
//     versions of the record were installed, and has noted the key of each that expires; unless
//     the version that it covers expires, and no later. As N1, see [feed].
//   - E2: Expire publishes the expiry, and then notes every key: of an undecided head also for
//     what that covers.
//   - E3: a note is kept until it has been looked at when its time has come, or before; what is
//     found then is a head that is decided, or the note stays. If the key has a record that
//     expires it is deleted, or a note of its time takes the place of the other one.
//
// So every record that expires has a note with its time or an earlier one: by E1 or E2 when it is
// committed, its own or one of what it covers; and E3 keeps it so: what is committed later on
// top of what was found is noted, or relies on the note that took the place.
type expiry[K comparable, V any] struct {
	until func(key K, value V) time.Time
	wake  func() // starts the ticker
	lists [feedLists]dueList[K]
	// awake says that the ticker looks at the notes; who notes a key when it does not wakes it.
	awake    atomic.Uint64
	sweeping stdatomic.Bool // a goroutine does
	expired  stdatomic.Uint64

	mu    sync.Mutex  // guards the notes that were taken off the lists
	timer *time.Timer // wakes the ticker, or is nil; stopped by endExpiry
	wheel wheel[K]
}

// A dueList is a list of notes that is taken as a whole: by the background work, or by who makes
// it longer than it may be. So its length depends on how many keys there are, and not on whether
// the background work gets its turn.
type dueList[K comparable] struct {
	head  atomic.Pointer[due[K]]
	limit stdatomic.Int64 // beyond longDue
	_     [112]byte
}

type due[K comparable] struct {
	key  K
	at   int64 // milliseconds of Unix time
	next *due[K]
	n    int64 // how many there are from here on
}

// An expiryPointer refers to the expiry of a map.
type expiryPointer[K comparable, V any] struct{ atomic.Pointer[expiry[K, V]] }

const (
	// sweepBatch is how many records are deleted in one transaction.
	sweepBatch = 256
	// Who makes a list longer than longDue, and twice what was left of it the last time, drops what
	// is of no use.
	longDue = 1024
	// When there are crowd more notes than twice the keys those that are of no use are dropped.
	crowd = 4096
	// The clock may be set back by so many milliseconds without further ado.
	setBack = 1000
	// The ticker may stop if nothing is due for restful milliseconds; after longestRest it looks
	// at the clock again, which may have been set.
	restful     = 1000
	longestRest = time.Minute
)

// when returns when a version expires, in milliseconds, rounded up; ok is false if it does not.
// If until panics that is now: then the background work calls it.
func (x *expiry[K, V]) when(v *version[K, V]) (at int64, ok bool) {
	value, has := v.present()
	if !has {
		return 0, false
	}
	defer func() {
		if p := recover(); p != nil {
			at, ok = 0, true
		}
	}()
	return millis(x.until(v.key, value))
}

// millis returns t in milliseconds, rounded up; ok is false for the zero time.
func millis(t time.Time) (at int64, ok bool) {
	const far = 1 << 50
	seconds := min(max(t.Unix(), 0), far)
	return seconds*1000 + int64(t.Nanosecond()+999_999)/1_000_000, !t.IsZero()
}

// noteDue notes the key of v, which is installed, if E1 says so. No epoch is drawn for v.
func (m *Map[K, V]) noteDue(x *expiry[K, V], v *version[K, V], hash uint64) {
	at, ok := x.when(v)
	if !ok {
		return
	}
	if was, ok := x.when(v.next.Load()); !ok || was > at {
		m.pushDue(x, v.key, hash, at)
	}
}

// pushDue makes a note, unless the same was noted last: that has not been looked at, and what is
// found then is what was installed before.
func (m *Map[K, V]) pushDue(x *expiry[K, V], key K, hash uint64, at int64) {
	list := &x.lists[hash%feedLists]
	n := &due[K]{key: key, at: at}
	for {
		n.next, n.n = list.head.Load(), 1
		if next := n.next; next != nil {
			if next.key == key && next.at <= at {
				return
			}
			n.n += next.n
		}
		if list.head.CompareAndSwap(n.next, n) {
			break
		}
	}
	x.rouse()
	if n.n > longDue+list.limit.Load() {
		m.shorten(x, list)
	}
}

// shorten takes a list, and puts back what is of use, see E3.
func (m *Map[K, V]) shorten(x *expiry[K, V], list *dueList[K]) {
	n := list.head.Load()
	for n != nil && !list.head.CompareAndSwap(n, nil) {
		n = list.head.Load()
	}
	var all []timed[K]
	for ; n != nil; n = n.next {
		all = append(all, timed[K]{n.at, n.key})
	}
	rest := m.ofUse(x, all)
	list.limit.Store(2 * int64(len(rest)))
	if len(rest) == 0 {
		return
	}
	var first, last *due[K]
	for i, one := range rest {
		first = &due[K]{key: one.what, at: one.at, next: first, n: int64(i + 1)}
		if last == nil {
			last = first
		}
	}
	for {
		// The lengths are those of the part that is put back alone: the list may be longer than it
		// says, by as much as was noted meanwhile.
		if last.next = list.head.Load(); list.head.CompareAndSwap(last.next, first) {
			break
		}
	}
	x.rouse()
}

// ofUse returns the notes that are of use: one of each key, see E3.
func (m *Map[K, V]) ofUse(x *expiry[K, V], list []timed[K]) (rest []timed[K]) {
	soon, met := wallClock()+1, make(map[K]struct{}, min(len(list), crowd))
	for _, one := range list {
		if repeated(met, one.what) {
			continue
		}
		if at, ok := m.nextLook(x, one.what, soon); ok {
			rest = append(rest, timed[K]{at, one.what})
		}
	}
	return rest
}

// wallClock returns the time in milliseconds, rounded down.
func wallClock() int64 { return max(time.Now().UnixMilli(), 0) }

// rouse is called by who has added a note.
func (x *expiry[K, V]) rouse() {
	if x.awake.Load() == 0 && x.awake.CompareAndSwap(0, 1) {
		x.wake()
	}
}

// waits reports whether something is due soon. If not the ticker may stop: a timer wakes it, or
// who notes a key.
func (x *expiry[K, V]) waits() bool {
	x.awake.Store(0)     // must precede: who notes a key afterwards wakes
	if !x.mu.TryLock() { // somebody is at it
		x.awake.Store(1)
		return true
	}
	defer x.mu.Unlock()
	x.gather()
	next, ok := x.wheel.next()
	switch rest := next - wallClock(); { // the wheel may stand still yet
	case !ok:
		x.stop()
	case rest <= restful || len(x.wheel.ready) > 0:
		x.awake.Store(1)
		return true
	default:
		x.stop()
		lasting := weak.Make(x)
		x.timer = time.AfterFunc(min(time.Duration(min(rest, 1<<40))*time.Millisecond, longestRest), func() {
			if x := lasting.Value(); x != nil {
				x.rouse()
			}
		})
	}
	return false
}

// stop stops the timer. x.mu is held.
func (x *expiry[K, V]) stop() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

// gather takes what was noted. x.mu is held.
func (x *expiry[K, V]) gather() {
	for i := range x.lists {
		head := &x.lists[i].head
		n := head.Load()
		for n != nil && !head.CompareAndSwap(n, nil) {
			n = head.Load()
		}
		for ; n != nil; n = n.next {
			x.wheel.add(n.at, n.key)
		}
	}
}

// look moves the time on, and reports whether there is something to do. keys is how many the
// map has.
func (x *expiry[K, V]) look(keys int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gather()
	now := wallClock()
	if now < x.wheel.now-setBack {
		for _, one := range x.wheel.reset(now) {
			x.wheel.add(one.at, one.what)
		}
	}
	x.wheel.advance(now)
	return len(x.wheel.ready) > 0 || x.crowded(keys)
}

func (x *expiry[K, V]) crowded(keys int64) bool { return int64(x.wheel.n) > 2*max(keys, 0)+crowd }

// take returns some notes whose time has come; or, if all is set, all that there are.
func (x *expiry[K, V]) take(all bool) []timed[K] {
	x.mu.Lock()
	defer x.mu.Unlock()
	if all {
		return x.wheel.reset(x.wheel.now)
	}
	return x.wheel.take(sweepBatch)
}

// put adds notes.
func (x *expiry[K, V]) put(list []timed[K]) {
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
func (x *expiry[K, V]) soon() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wheel.now + 1
}

// expireDue is done by each tick.
func (m *Map[K, V]) expireDue() {
	x := m.expiry.Load()
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
func (m *Map[K, V]) expireNow(ctx context.Context) error {
	if x := m.expiry.Load(); x != nil && x.look(m.counters.keys.Value()) {
		return m.sweep(ctx, x)
	}
	return nil
}

// expires reports whether there is something that will expire.
func (m *Map[K, V]) expires() bool {
	x := m.expiry.Load()
	return x != nil && !m.gc.Manual() && x.waits()
}

func (m *Map[K, V]) endExpiry() {
	if x := m.expiry.Load(); x != nil {
		m.expiry.Store(nil)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.stop()
	}
}

// sweep deletes what is due.
func (m *Map[K, V]) sweep(ctx context.Context, x *expiry[K, V]) error {
	for m.expiry.Load() == x {
		x.mu.Lock()
		crowded := x.crowded(m.counters.keys.Value())
		x.mu.Unlock()
		if crowded {
			m.thin(ctx, x)
		}
		list := x.take(false)
		if len(list) == 0 {
			return nil
		}
		m.sweepSome(ctx, x, list)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// thin drops the notes that are of no use, some at a time.
func (m *Map[K, V]) thin(ctx context.Context, x *expiry[K, V]) {
	list := x.take(true)
	met := make(map[K]struct{}, len(list)/2)
	for len(list) > 0 {
		n := min(len(list), crowd)
		if ctx.Err() != nil || m.expiry.Load() != x {
			n = len(list)
			x.put(list)
		} else {
			x.put(m.ofUse(x, slices.DeleteFunc(list[:n], func(one timed[K]) bool { return repeated(met, one.what) })))
		}
		list = list[n:]
	}
}

// nextLook returns at what time a note of the key must be looked at, at the latest; ok is false
// if there need be none. See E3.
func (m *Map[K, V]) nextLook(x *expiry[K, V], key K, soon int64) (at int64, ok bool) {
	_, _, head := m.index.lookup(key)
	for ; head != nil; head = head.next.Load() {
		switch w, _ := m.resolve(head); {
		case w.committed():
			return x.when(head)
		case !w.is(kindAborted):
			return soon, true
		}
	}
	return 0, false
}

// sweepSome deletes the records that the notes of list are of, as far as these are due, and puts
// back what is to be looked at again: not before the next tick.
func (m *Map[K, V]) sweepSome(ctx context.Context, x *expiry[K, V], list []timed[K]) {
	now, soon := wallClock(), x.soon()
	var again []timed[K]
	keys := make([]K, 0, len(list))
	for _, one := range list {
		switch at, ok := m.nextLook(x, one.what, soon); {
		case ok && at <= now:
			keys = append(keys, one.what)
		case ok:
			again = append(again, timed[K]{at, one.what})
		}
	}
	hooks.At(hooks.Swept)
	defer func() { // also if until panics: with what is left of keys
		for _, key := range keys {
			again = append(again, timed[K]{soon, key})
		}
		for i := range again {
			again[i].at = max(again[i].at, soon)
		}
		x.put(again)
	}()
	for step := len(keys); len(keys) > 0 && step > 0; step /= 2 {
		// One that is always in the way does not keep the others from going.
		for at := 0; at < len(keys); {
			n := min(step, len(keys)-at)
			later, err := m.deleteDue(ctx, x, keys[at:at+n])
			if err != nil {
				if at += n; !errors.Is(err, ErrConflict) {
					return
				}
				continue
			}
			again = append(again, later...)
			keys = slices.Delete(keys, at, at+n)
		}
	}
}

// deleteDue deletes those of the keys whose time has come, in one transaction, and returns when
// the others are to be looked at. It attempts it once, and does not queue.
func (m *Map[K, V]) deleteDue(ctx context.Context, x *expiry[K, V], keys []K) (later []timed[K], err error) {
	for _, key := range keys {
		if m.favour.Any() && m.favour.Claimed(m.claimHash(m.index.hash.sum(key))) {
			return nil, ErrConflict // it would have to wait, with the lock
		}
	}
	// The hub gets to know what the commit is before it finds it. One that is under way when the
	// first watch begins may be told as any other.
	h := &m.shared.hub
	watched := h.work.Load() != nil
	if watched {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	gone := uint64(0)
	err = m.Update(ctx, sweepOptions, func(tx Tx[K, V]) error {
		later, gone = nil, 0
		now := wallClock()
		for _, key := range keys {
			value, ok := tx.Get(key)
			if !ok {
				continue
			}
			switch at, ok := millis(x.until(key, value)); {
			case !ok:
			case at > now:
				later = append(later, timed[K]{at, key})
			default:
				tx.Delete(key)
				gone++
			}
		}
		if gone > 0 && watched {
			tx.OnCommit(h.hasExpired)
		}
		return nil
	})
	if err == nil {
		x.expired.Add(gone)
		m.counters.expired.Add(gone)
	}
	return later, err
}

var sweepOptions = &TxOptions{Isolation: LevelSerializable, MaxAttempts: 1}
