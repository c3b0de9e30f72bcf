package mvcc

import (
	"fmt"
	"sync"
	stdatomic "sync/atomic"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// Expire makes the records of the map expire. until returns the time of a record, by the wall
// clock; the zero [time.Time] means never. Any other time in the past, such as time.Unix(0, 0),
// deletes the record at once. Until a record is deleted it can be read: a reader that must not see
// it too late looks at the time as well.
//
// The background work, or [Map.Reclaim] with ManualReclaim, deletes a record within
// Options.ReclaimInterval after its time, if the machine has time, in a transaction of its own.
// Watches are told, see [Commit.Expired], and [Map.OnExpire] acts on it. A record that is written
// anew has the time of its new value. A transaction that has read a record, and writes, conflicts
// if the record expires meanwhile. To give the time with the write, make it a field of the value,
// as in the example "touch".
//
// until must return the same time for the same record, so it must not ask for the present time; a
// check of the first few calls panics. It must be quick, not use the map, and not change its
// arguments. Writes call until for the old value and the new one. So does the background work, where
// a panic ends the program; with ManualReclaim, Reclaim panics.
//
// Expire may be called once, before the map is closed, before or after a Load. It looks at all
// keys. The map keeps a key and some 16 bytes for each record, and at times for deleted ones. After
// [Map.Close] and [DB.Close] nothing expires. If the clock is set, or the machine was asleep, a
// record may go a minute late.
func (m *Map[K, V]) Expire(until func(key K, value V) time.Time) {
	m.engine()
	if until == nil {
		panic("mvcc: Expire: until is nil")
	}
	m.at.expire(func(v *chain.Node) time.Time {
		return until(chain.KeyOf[K](v), chain.ValueOf[K, V](v))
	})
}

// expire is [Map.Expire].
func (m *core) expire(until func(v *chain.Node) time.Time) {
	if m.gc.Closed() || m.closed.Load() {
		panic("mvcc: Expire: the map was closed: nothing would expire")
	}
	x := &expiry{m: m, until: steady(m.shared.strict, until)}
	x.wheel.reset(x.wallClock())
	if !m.expiryAt.CompareAndSwap(nil, x) {
		panic("mvcc: Expire: it was called before" + mayRunAgain())
	}
	done := false
	defer func() {
		if !done { // until has ended the goroutine: nothing has happened
			m.endExpiry()
		}
	}()
	if m.gc.Closed() || m.closed.Load() { // meanwhile: must follow
		return
	}
	m.index.Scan(func(_ index.Place, head *chain.Node) bool { // E2
		w, _ := m.Resolve(head)
		for v := head; v != nil; v = v.Next.Load() {
			if at, ok := x.when(v); ok {
				x.push(v.Key(), m.index.Hash.Sum(v.Key()), at)
			}
			if v != head || w.Committed() {
				break
			}
		}
		return true
	})
	done = true
}

// An expiry deletes the records of a map whose time has come. It finds them by notes, each of a
// key and a time.
//
//   - E1: before a goroutine draws an epoch for a record, and after the record's versions were
//     installed, it looks for the expiry and notes the key of each version that expires. A version
//     needs no note if it covers a version that expires no later, and no record is overdue, see E4.
//     Like N1, see [feed]. A goroutine that helps another's commit does not call until: its note is
//     due at once.
//
//   - E2: Expire publishes the expiry, and then notes every key: for its head, and also for the
//     version below the head if the head is undecided.
//
//   - E3: a note is kept until somebody looks at its key, at the time of the note or before, and
//     finds a decided head. If the key then has a record that expires, the record is deleted, or a
//     note with the record's time replaces the first note.
//
//   - E4: a record whose deletion the function of OnExpire has refused is overdue. The record is
//     counted, then its key is looked at again: a later try is noted if a record is still due.
//
// So every record that expires, and is not overdue, has a note with its time or an earlier time. By
// E1 or E2 the note is its own, or that of a version that it covers. E3 keeps this true: a version
// committed on top of the head found is noted, or relies on the replacing note.
type expiry struct {
	m     *core
	until func(v *chain.Node) time.Time
	lists [feedLists]dueList
	// awake is 1 if the ticker looks at the notes. A goroutine loads awake after it has noted a
	// key, and wakes the ticker if awake is 0. The method waits, which lets the ticker rest, stores
	// 0 before it takes the notes. So a note is taken, or its maker has seen the 0.
	awake    atomic.Uint64
	sweeping stdatomic.Bool // a goroutine sweeps: one at a time
	overdue  atomic.Uint64  // how many records are overdue: E4
	telling  stdatomic.Bool // a logger is being told

	mu    sync.Mutex            // guards the notes that were taken off the lists
	timer *time.Timer           // wakes the ticker, or is nil; stopped by endExpiry
	wheel wheel[unsafe.Pointer] // of keys
	// tries is how often each overdue record was tried, by the hash of its key.
	tries  map[uint64]int
	untold refusals
}

// A dueList is a list of notes that is taken as a whole: by the background work, or by a writer
// that makes the list longer than it may be. So the length of a list depends on the number of keys,
// and not on whether the background work gets its turn.
type dueList struct {
	head  atomic.Pointer[due]
	limit stdatomic.Int64 // beyond longDue; a hint
	_     [112]byte
}

// A due is a note. The key is a copy, which keeps no version.
type due struct {
	key  unsafe.Pointer
	at   int64 // milliseconds of Unix time
	next *due
	n    int64 // how many notes the list has from here on
}

// expiry returns the expiry of the map's records, or nil.
func (m *core) expiry() *expiry { return m.expiryAt.Load() }

// A writer drops the useless notes of a list that has become longer than longDue plus twice the
// number of notes that were left the last time.
const longDue = 1024

// when returns when a version expires, in milliseconds, rounded up; ok is false if it does not. If
// until panics, at is 0, so that the background work calls until.
func (x *expiry) when(v *chain.Node) (at int64, ok bool) {
	if !v.There() {
		return 0, false
	}
	defer func() {
		if p := recover(); p != nil {
			at, ok = 0, true
		}
	}()
	return millis(x.until(v))
}

// steady returns until with a check. The first calls, or all calls if s is not nil, run until
// twice. If until returns two times for one record, the call panics, and so do all later calls: so
// the background work panics.
func steady(s *strict, until func(v *chain.Node) time.Time) func(v *chain.Node) time.Time {
	if of := until; s != nil {
		until = func(v *chain.Node) (at time.Time) {
			s.run(scope{what: "the function of Expire"}, func() { at = of(v) })
			if !at.IsZero() && !at.After(time.Unix(0, 0)) {
				s.fail(fmt.Sprintf("the function of Expire returns %v, and the record goes at once: one that "+
					"never expires has the zero time.Time", at))
			}
			return at
		}
	}
	const probes = 64
	var asked stdatomic.Int64
	var wavers stdatomic.Bool
	return func(v *chain.Node) time.Time {
		at := until(v)
		probe := s != nil || asked.Load() < probes && asked.Add(1) <= probes
		if probe && !until(v).Equal(at) && !s.reports(errUntil) {
			wavers.Store(true)
		}
		if wavers.Load() {
			panic(errUntil)
		}
		return at
	}
}

// millis returns t in milliseconds, rounded up; ok is false for the zero time.
func millis(t time.Time) (at int64, ok bool) {
	const far = 1 << 50
	seconds := min(max(t.Unix(), 0), far)
	return seconds*1000 + int64(t.Nanosecond()+999_999)/1_000_000, !t.IsZero()
}

// note notes the key of v, which is installed, if E1 says so. No epoch has been drawn for v.
func (x *expiry) note(v *chain.Node, hash uint64) {
	at, ok := x.when(v)
	if !ok {
		return
	}
	if was, ok := x.when(v.Next.Load()); !ok || was > at || x.overdue.Load() > 0 {
		x.push(v.Key(), hash, at)
	}
}

// push makes a note, unless the last note is of the same key and has no later time. Nobody has
// looked at that last note yet: whoever does finds the version installed before this call.
func (x *expiry) push(key unsafe.Pointer, hash uint64, at int64) {
	list := &x.lists[hash%feedLists]
	var n *due
	for {
		next := list.head.Load()
		if next != nil && next.at <= at && x.m.index.Hash.Equal(next.key, key) {
			return
		}
		if n == nil {
			n = &due{key: x.m.types.keep(key), at: at}
		}
		if n.next, n.n = next, 1; next != nil {
			n.n += next.n
		}
		if list.head.CompareAndSwap(n.next, n) {
			break
		}
	}
	x.rouse()
	if n.n > longDue+list.limit.Load() {
		x.shorten(list)
	}
}

// A noteOf is a note that was taken off a list, see wheel.
type noteOf = timed[unsafe.Pointer]

// shorten takes a list, and puts back the notes that are of use, see E3.
func (x *expiry) shorten(list *dueList) {
	var all []noteOf
	for n := takeAll(&list.head); n != nil; n = n.next {
		all = append(all, noteOf{n.at, n.key})
	}
	defer func() { list.giveBack(x, all) }() // as it was, if until ends the goroutine
	var met hasher.Set
	all = x.ofUse(all, &met)
}

// giveBack puts notes back that were taken off the list.
func (list *dueList) giveBack(x *expiry, rest []noteOf) {
	list.limit.Store(2 * int64(len(rest)))
	if len(rest) == 0 {
		return
	}
	var first, last *due
	for i, one := range rest {
		first = &due{key: one.what, at: one.at, next: first, n: int64(i + 1)}
		if last == nil {
			last = first
		}
	}
	for {
		// The lengths count only the notes that are put back, and not the notes made meanwhile.
		if last.next = list.head.Load(); list.head.CompareAndSwap(last.next, first) {
			break
		}
	}
	x.rouse()
}

// ofUse returns the notes that are of use: one of each key that was not met before, see E3.
func (x *expiry) ofUse(list []noteOf, met *hasher.Set) (rest []noteOf) {
	soon := x.wallClock() + 1
	for _, one := range list {
		if !met.Add(&x.m.index.Hash, one.what) {
			continue
		}
		if at, ok := x.nextLook(one.what, soon); ok {
			rest = append(rest, noteOf{at, one.what})
		}
	}
	return rest
}

// wallClock returns the time in milliseconds, rounded down.
func (x *expiry) wallClock() int64 { return max(x.m.shared.strict.now().UnixMilli(), 0) }

// rouse wakes the ticker if it rests. A goroutine that has added a note calls rouse.
func (x *expiry) rouse() {
	if x.awake.Load() == 0 && x.awake.CompareAndSwap(0, 1) {
		x.m.gc.Wake()
	}
}

// nextLook returns the time by which a note of the key must be looked at: soon if a writer is
// undecided. ok is false if no note is needed. See E3.
func (x *expiry) nextLook(key unsafe.Pointer, soon int64) (at int64, ok bool) {
	_, _, head := x.m.index.Seek(key)
	for ; head != nil; head = head.Next.Load() {
		switch w, _ := x.m.Resolve(head); {
		case w.Committed():
			return x.when(head)
		case !w.Is(chain.KindAborted):
			return soon, true
		}
	}
	return 0, false
}

// expiryHold keeps records from expiring during a load in steps: between two steps the map may have
// records that a later step renews or deletes.
type expiryHold struct {
	mu      sync.Mutex
	changed *sync.Cond // of mu; made by the first hold
	holders int
	running int // sweeps that delete just now
}

// begin reports whether a sweep may delete. If so, the sweep must call end.
func (h *expiryHold) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holders > 0 {
		return false
	}
	h.running++
	return true
}

func (h *expiryHold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running--; h.changed != nil {
		h.changed.Broadcast()
	}
}

// hold waits until nothing deletes any more.
func (h *expiryHold) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = sync.NewCond(&h.mu)
	}
	for h.holders++; h.running > 0; {
		h.changed.Wait()
	}
}

func (h *expiryHold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holders--
}

func (db door) HoldExpiry() (release func()) {
	h := &dbAt(db.DB).shared.expiryHold
	dbAt(db.DB).shared.gc.Outside("HoldExpiry")
	h.hold()
	return sync.OnceFunc(h.release)
}
