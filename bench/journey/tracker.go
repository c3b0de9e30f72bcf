package journey

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
)

// A Clock gives the epochs of commits.
type Clock interface {
	// Now returns the newest epoch that was drawn, Next draws the next one.
	Now() epoch.Epoch
	Next() epoch.Epoch
}

// A Tracker knows which epochs live transactions read. All methods are safe for
// concurrent use.
type Tracker interface {
	// Begin begins a transaction, which reads as of the handle's epoch, and End ends
	// it: once, and maybe on another goroutine.
	Begin(c Clock) Handle
	End(h Handle)
	// MinVisible returns an epoch below which no live or later transaction reads.
	MinVisible(c Clock) epoch.Epoch
	// Close ends the tracker's goroutines.
	Close()
}

// A Handle names a live transaction to its tracker.
type Handle struct {
	Epoch epoch.Epoch
	id    uint64         // in trackers that have entries of their own for each transaction
	word  *atomic.Uint64 // in [keyedWords]
	slot  *epoch.Slot    // in [slots], with its generation
	gen   epoch.Gen
}

// clock is a clock of its own.
type clock struct{ now atomic.Uint64 }

func newClock() *clock {
	c := new(clock)
	c.now.Store(uint64(epoch.First))
	return c
}

func (c *clock) Now() epoch.Epoch  { return epoch.Epoch(c.now.Load()) }
func (c *clock) Next() epoch.Epoch { return epoch.Epoch(c.now.Add(1)) }

// none is above every epoch.
const none = epoch.Epoch(math.MaxUint64)

// A register is where live transactions are entered. It is a tracker with a race between a begin
// and a scan, which [checked] settles.
type register interface {
	enter(e epoch.Epoch) Handle
	leave(h Handle)
	// lowest returns the lowest epoch that was entered before the call, and not left since,
	// or none.
	lowest() epoch.Epoch
}

// checked makes a tracker of a register. A transaction that has loaded the clock and is not entered
// yet is in no scan. So a scan announces the clock as a bound first, and a transaction loads the
// bound after it is entered: if the bound has passed its epoch it begins again. This is package
// epoch's protocol.
type checked struct {
	register
	bound atomic.Uint64
}

func (t *checked) Begin(c Clock) Handle {
	for {
		h := t.enter(c.Now())
		if epoch.Epoch(t.bound.Load()) <= h.Epoch { // must follow: see checked
			return h
		}
		t.leave(h)
	}
}

func (t *checked) End(h Handle) { t.leave(h) }

func (t *checked) MinVisible(c Clock) epoch.Epoch {
	m := c.Now()
	for b := t.bound.Load(); b < uint64(m) && !t.bound.CompareAndSwap(b, uint64(m)); {
		b = t.bound.Load()
	}
	return min(m, t.lowest()) // must follow: see checked
}

func (t *checked) Close() {}

// A TrackerKind is a kind of tracker.
type TrackerKind string

// The kinds of trackers.
const (
	Copied      TrackerKind = "copied"       // one map of the active, copied for each scan
	Keeper      TrackerKind = "keeper"       // one goroutine that owns the list of the active
	KeeperNoop  TrackerKind = "keeper-noop"  // likewise, but the list keeps ended transactions
	KeeperIdle  TrackerKind = "keeper-idle"  // likewise, and the goroutine was never started
	Segmented   TrackerKind = "segmented"    // 16 maps of the active
	Counted     TrackerKind = "counted"      // a concurrent map from an epoch to how many read it
	Ordered     TrackerKind = "ordered"      // likewise, ordered by epoch
	KeyedMap    TrackerKind = "keyed"        // a concurrent map from a goroutine to its epoch
	KeyedLocked TrackerKind = "keyed-locked" // likewise, a map under a mutex
	KeyedWords  TrackerKind = "keyed-words"  // likewise, each goroutine's word is made once
	Slots       TrackerKind = "slots"        // package epoch: a slot for each, idle ones per P
)

// registers make those of the trackers that have one.
var registers = map[TrackerKind]func() register{
	Copied:      func() register { return newActive(1, true) },
	Segmented:   func() register { return newActive(16, false) },
	Counted:     func() register { return &counted{xsync.NewMap[epoch.Epoch, int]()} },
	Ordered:     func() register { return new(ordered) },
	KeyedMap:    func() register { return keyedMap{xsync.NewMap[uint64, reading]()} },
	KeyedLocked: func() register { return &keyedLocked{of: map[uint64]reading{}} },
	KeyedWords:  func() register { return keyedWords{xsync.NewMap[uint64, *paddedWord]()} },
}

// newTracker makes a tracker, and the clock that it goes with. If the tracker has a goroutine,
// start runs it.
func newTracker(kind TrackerKind, start func(func())) (Tracker, Clock) {
	switch kind {
	case Keeper, KeeperNoop, KeeperIdle:
		return newKeeper(kind, start), newClock()
	case Slots:
		s := epoch.NewSlots()
		return &slots{slots: s}, s
	}
	return &checked{register: registers[kind]()}, newClock()
}

// active is maps of the live transactions.
type active struct {
	segments []segment
	// A scan copies the map first, and then the epochs into a set, as the post had it.
	copies bool
	ids    atomic.Uint64
}

type segment struct {
	sync.Mutex
	of map[uint64]epoch.Epoch
	_  [64]byte
}

func newActive(segments int, copies bool) *active {
	t := &active{segments: make([]segment, segments), copies: copies}
	for i := range t.segments {
		t.segments[i].of = map[uint64]epoch.Epoch{}
	}
	return t
}

func (t *active) enter(e epoch.Epoch) Handle {
	h := Handle{Epoch: e, id: t.ids.Add(1)}
	s := t.segment(h.id)
	s.Lock()
	defer s.Unlock()
	s.of[h.id] = e
	return h
}

func (t *active) leave(h Handle) {
	s := t.segment(h.id)
	s.Lock()
	defer s.Unlock()
	delete(s.of, h.id)
}

func (t *active) segment(id uint64) *segment { return &t.segments[id%uint64(len(t.segments))] }

func (t *active) lowest() epoch.Epoch {
	low := none
	for i := range t.segments {
		low = min(low, t.segments[i].lowest(t.copies))
	}
	return low
}

func (s *segment) lowest(copies bool) epoch.Epoch {
	low := none
	s.Lock()
	if !copies {
		defer s.Unlock()
		for _, e := range s.of {
			low = min(low, e)
		}
		return low
	}
	of := maps.Clone(s.of)
	s.Unlock()
	set := map[epoch.Epoch]struct{}{}
	for _, e := range of {
		set[e] = struct{}{}
	}
	for e := range set {
		low = min(low, e)
	}
	return low
}

// slots is the tracker of package mvcc: a transaction takes an idle slot off the free list of
// the current P, and stores one word.
type slots struct {
	slots *epoch.Slots // the clock as well
	idle  epoch.Pool[epoch.Slot]
}

func (t *slots) Begin(Clock) Handle {
	slot := t.idle.Get()
	if slot == nil {
		slot = t.slots.Acquire()
	}
	gen := slot.Gen()
	return Handle{Epoch: t.slots.Begin(slot, epoch.MayWrite), slot: slot, gen: gen}
}

// End gives the slot back. None is promoted, since there are no rounds.
func (t *slots) End(h Handle) {
	h.slot.End(h.gen)
	t.idle.Put(h.slot)
}

func (t *slots) MinVisible(Clock) epoch.Epoch {
	var v epoch.View
	t.slots.Look(&v, t.slots.Announce(), nil)
	return v.Min
}

func (t *slots) Close() {}
