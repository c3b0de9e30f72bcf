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
// until must return the same for the same record, and panics if the first few show that it does
// not: so it must not ask for the time itself. It must be quick, not use the map, and not change
// its arguments. Writes call it, for the old value and the new one, and so does the background
// work, where a panic ends the program; with ManualReclaim Reclaim panics.
//
// Expire may be called once, before the map is closed, before or after a Load. It looks at all keys.
// It keeps a key and some 16 bytes for each record, and at times for deleted ones. After [Map.Close]
// and [DB.Close] nothing expires. If the clock is set, or the machine was asleep, a record may go a
// minute late.
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
//   - E1: a goroutine that draws an epoch for a record has looked for the expiry before, and
//     after the versions of the record were installed, and has noted the key of each version
//     that expires; unless the version that it covers expires, and no later, and no record is
//     overdue, see E4. Like N1, see [feed]. One that helps another's commit asks nobody when: its
//     note is to be looked at at once.
//
//   - E2: Expire publishes the expiry, and then notes every key: of an undecided head also for the
//     version that this covers.
//
//   - E3: a note is kept until it has been looked at when its time has come, or before; the head
//     found then is decided, or the note stays. If the key has a record that expires it is deleted,
//     or a note of its time takes the place of the other one.
//
//   - E4: a record whose deletion the function of OnExpire has refused is overdue: it is counted
//     first, then its key is looked at once more, and only if it is the same is it noted for later.
//
// So every record that expires, and is not overdue, has a note with its time or an earlier one: by
// E1 or E2 when it is committed, its own or one of a version that it covers; and by E3 later: a
// version committed on top of the head found is noted, or relies on the note that took the place.
type expiry struct {
	m     *core
	until func(v *chain.Node) time.Time
	lists [feedLists]dueList
	// awake is 1 if the ticker looks at the notes. A goroutine that has noted a key looks at it
	// afterwards, and wakes the ticker if it is 0; waits, which lets the ticker rest, makes it 0
	// before it takes the notes. So a note is taken, or its maker has seen the 0.
	awake    atomic.Uint64
	sweeping stdatomic.Bool // a goroutine does: there is one at a time
	overdue  atomic.Uint64  // how many records are: E4
	telling  stdatomic.Bool // a logger is being told

	mu    sync.Mutex            // guards the notes that were taken off the lists
	timer *time.Timer           // wakes the ticker, or is nil; stopped by endExpiry
	wheel wheel[unsafe.Pointer] // of keys
	// tries is how often those that are overdue were, by the hashes of their keys.
	tries  map[uint64]int
	untold refusals
}

// A dueList is a list of notes that is taken as a whole: by the background work, or by a writer
// that makes it longer than it may be. So its length depends on how many keys there are, and not
// on whether the background work gets its turn.
type dueList struct {
	head  atomic.Pointer[due]
	limit stdatomic.Int64 // beyond longDue; a hint
	_     [112]byte
}

// A due is a note. The key is a copy: a version would stay with it.
type due struct {
	key  unsafe.Pointer
	at   int64 // milliseconds of Unix time
	next *due
	n    int64 // how many there are from here on
}

// expiry returns the expiry of the map's records, or nil.
func (m *core) expiry() *expiry { return m.expiryAt.Load() }

// A writer that makes a list longer than longDue plus twice the number left the last time drops the
// notes that are of no use.
const longDue = 1024

// when returns when a version expires, in milliseconds, rounded up; ok is false if it does not.
// If until panics that is now: then the background work calls it.
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

// steady returns until. The first calls ask it twice: if it gives two times for one record the call
// panics, and so do all that follow, so that the background work does.
// With s all calls ask twice.
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

// note notes the key of v, which is installed, if E1 says so. No epoch is drawn for v.
func (x *expiry) note(v *chain.Node, hash uint64) {
	at, ok := x.when(v)
	if !ok {
		return
	}
	if was, ok := x.when(v.Next.Load()); !ok || was > at || x.overdue.Load() > 0 {
		x.push(v.Key(), hash, at)
	}
}

// push makes a note, unless the same was noted last: that has not been looked at, and the version
// found then is the one that was installed before.
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
		// The lengths are those of the part that is put back alone: the list may be longer than it
		// says, by as much as was noted meanwhile.
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

// rouse is called by a goroutine that has added a note.
func (x *expiry) rouse() {
	if x.awake.Load() == 0 && x.awake.CompareAndSwap(0, 1) {
		x.m.gc.Wake()
	}
}

// nextLook returns the time at which a note of the key must be looked at, at the latest; ok is
// false if there need be none. See E3.
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
