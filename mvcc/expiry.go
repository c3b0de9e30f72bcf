package mvcc

import (
	"context"
	"sync"
	stdatomic "sync/atomic"
	"time"
	"weak"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// Expire makes the records of the map expire: each is deleted when its time has come, which
// until returns, for good if that is the zero time. Until then it can be read, so that who
// must not see it late looks at the time as well. It is deleted within Options.ReclaimInterval,
// if the machine has time, by the background work in transactions of some hundred records; with
// ManualReclaim by [Map.Reclaim]. Those who watch the map get to know it, see [Commit.Expired]. A
// record that is written anew has the time of its new value: so it lives for longer if that is
// later. A transaction that has read a record conflicts if this expires meanwhile.
//
// until must return the same for the same record, so it must not ask for the time itself:
// the value says how long it lives. It must be quick, and not use the map: it is called by who
// writes, for the old value and the new one, and by who expires. What it is given must not
// be changed. If it panics when it is called by who writes it is called again by the background
// work, so that the program ends with its panic.
//
// Expire looks at all keys once; it may be called while the map is in use, once. What is written
// after it was called expires. Of each record some 50 bytes are kept, and the key.
// [Map.Close] and [DB.Close] end it: nothing expires any more.
func (m *Map[K, V]) Expire(until func(key K, value V) time.Time) {
	m.check()
	if until == nil {
		panic("mvcc: Expire: until is nil")
	}
	x := &expiry[K, V]{until: until, wake: m.gc.Wake}
	x.wheel.reset(time.Now().UnixMilli())
	if !m.expiry.CompareAndSwap(nil, x) {
		panic("mvcc: Expire: it was called before")
	}
	if m.gc.Closed() { // must follow
		m.endExpiry()
		return
	}
	m.index.scan(func(_ place[K, V], head *version[K, V]) bool { // E2
		w, _ := m.resolve(head)
		for v := head; v != nil; v = v.next.Load() {
			if at, ok := x.when(v); ok {
				x.push(v.key, m.index.hash.sum(v.key), at)
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

// A dueList is a list of notes that is taken as a whole.
type dueList[K comparable] struct {
	head atomic.Pointer[due[K]]
	_    [120]byte
}

type due[K comparable] struct {
	key  K
	at   int64 // milliseconds of Unix time
	next *due[K]
}

// An expiryPointer refers to the expiry of a map.
type expiryPointer[K comparable, V any] struct{ atomic.Pointer[expiry[K, V]] }

const (
	// sweepBatch is how many records are deleted in one transaction, which is attempted
	// sweepAttempts times before it is put off.
	sweepBatch    = 256
	sweepAttempts = 8
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

// note notes the key of v, which is installed, if E1 says so. No epoch is drawn for v.
func (x *expiry[K, V]) note(v *version[K, V], hash uint64) {
	at, ok := x.when(v)
	if !ok {
		return
	}
	if was, ok := x.when(v.next.Load()); !ok || was > at {
		x.push(v.key, hash, at)
	}
}

func (x *expiry[K, V]) push(key K, hash uint64, at int64) {
	n := &due[K]{key: key, at: at}
	for head := &x.lists[hash%feedLists].head; ; {
		if n.next = head.Load(); head.CompareAndSwap(n.next, n) {
			break
		}
	}
	x.rouse()
}

// rouse is called by who has added a note.
func (x *expiry[K, V]) rouse() {
	if x.awake.Load() == 0 && x.awake.CompareAndSwap(0, 1) {
		x.wake()
	}
}

// waits reports whether something is due soon. If not the ticker may stop: a timer wakes it, or
// who notes a key.
func (x *expiry[K, V]) waits() bool {
	x.awake.Store(0) // must precede: who notes a key afterwards wakes
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gather()
	next, ok := x.wheel.next()
	switch rest := next - x.wheel.now; {
	case !ok:
		x.stop()
	case rest <= restful:
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
	now := time.Now().UnixMilli()
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
	if x == nil || !x.look(m.counters.keys.Value()) || x.sweeping.Swap(true) {
		return
	}
	if !m.gc.Go(func() {
		defer x.sweeping.Store(false)
		_ = m.sweep(background, x)
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
	return x != nil && x.waits()
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
	x.mu.Lock()
	crowded := x.crowded(m.counters.keys.Value())
	x.mu.Unlock()
	if crowded {
		m.thin(x)
	}
	for m.expiry.Load() == x {
		list := x.take(false)
		if len(list) == 0 {
			return nil
		}
		m.sweepSome(x, list)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// thin drops the notes that are of no use: all but one of a key.
func (m *Map[K, V]) thin(x *expiry[K, V]) {
	soon, met := x.soon(), map[K]struct{}{}
	var rest []timed[K]
	for _, one := range x.take(true) {
		if repeated(met, one.what) {
			continue
		}
		if at, ok := m.nextLook(x, one.what, soon); ok {
			rest = append(rest, timed[K]{at, one.what})
		}
	}
	x.put(rest)
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
// back what is to be looked at again.
func (m *Map[K, V]) sweepSome(x *expiry[K, V], list []timed[K]) {
	now, soon := time.Now().UnixMilli(), x.soon()
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
	done := false
	defer func() {
		if !done { // too old, in others' way, or until has panicked
			for _, key := range keys {
				again = append(again, timed[K]{soon, key})
			}
		}
		x.put(again)
	}()
	later, err := m.deleteDue(x, keys)
	if done = err == nil; done {
		again = append(again, later...)
	}
}

// deleteDue deletes those of the keys whose time has come, in one transaction, and returns when
// the others are to be looked at.
func (m *Map[K, V]) deleteDue(x *expiry[K, V], keys []K) (later []timed[K], err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	opts := &TxOptions{Isolation: LevelSerializable, MaxAttempts: sweepAttempts}
	// The hub gets to know what the commit is before it finds it.
	h := &m.shared.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := uint64(0)
	err = m.Update(background, opts, func(tx Tx[K, V]) error {
		later, gone = later[:0], 0
		now := time.Now()
		for _, key := range keys {
			value, ok := tx.Get(key)
			if !ok {
				continue
			}
			until := x.until(key, value)
			switch at, ok := millis(until); {
			case !ok:
			case until.After(now):
				later = append(later, timed[K]{at, key})
			default:
				tx.Delete(key)
				gone++
			}
		}
		if gone > 0 {
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
