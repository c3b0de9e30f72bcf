package mvcc

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/mvccmap/mvccmap/internal/debug/goid"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A Sequence gives out numbers, each once and each higher than those before. Transactions that draw
// numbers do not conflict with each other: the record of a sequence is written once for a block of
// numbers. Use [NewSequence]. Any number of goroutines may use it. It must not be copied.
//
// There are gaps: a transaction that is rolled back, or runs again, does not give its numbers back,
// nor does a process that ends without [Sequence.Release]. Numbers have the order of the draws, not
// of the commits.
//
// A reservation commits before its numbers are given out: so with package durable no number that a
// kept commit uses comes again after a restart. A number that has left the process before the
// journal had the reservation may come again. If somebody else has written or deleted the record,
// the reserved numbers are void: the next number is above the one in the record.
type Sequence[K comparable] struct {
	_     noCopy
	m     *Map[K, uint64]
	key   K
	block uint64

	now atomic.Pointer[numbers] // the block that numbers are drawn from
}

// sequences are the records of the Sequences of a map, by their keys.
type sequences struct {
	mu  sync.Mutex
	all map[any]weak.Pointer[sequenceRecord]
}

// A sequenceRecord is the state that the Sequences of a record share. A block belongs to the
// Sequence that reserved it until somebody else writes the record. Until then the record's newest
// version is that of the last reservation, and no reservation finds another version.
type sequenceRecord struct {
	mu      sync.Mutex    // held while a block is reserved or released
	within  goid.Set      // the goroutine that does that
	last    atomic.Uint64 // the epoch of the last reservation, or release
	breaks  atomic.Uint64 // how many reservations and releases found another writer's record
	highest uint64        // that was reserved in this process; guarded by mu
}

// numbers are a reserved block of a sequence: those above drawn, up to limit. If drawn is not below
// limit there are none left.
type numbers struct {
	_      [64]byte // drawn is written by all callers
	drawn  atomic.Uint64
	limit  uint64
	record *sequenceRecord // nil in the first block, which is empty
	breaks uint64          // those of the record at the reservation
	_      [64]byte
}

// defaultBlock is how many numbers are reserved at a time.
const defaultBlock = 1000

// NewSequence returns a sequence whose record is the given key of m: its value is the highest
// reserved number. If there is no record the first number is 1; a program that has numbers already
// stores the highest one there first. block is how many numbers are reserved at a time; 0 means
// 1000. Several sequences of one key give out different numbers. NewSequence writes nothing.
func NewSequence[K comparable](m *Map[K, uint64], key K, block uint64) *Sequence[K] {
	m.engine()
	if block == 0 {
		block = defaultBlock
	}
	s := &Sequence[K]{m: m, key: key, block: block}
	s.now.Store(new(numbers))
	return s
}

// Next returns the next number. It costs an atomic addition and a Load of the record. Once in a
// block it reserves the next block, by an Update of the map, for which other callers wait. The
// function of an Update, also of this map, may call Next, unless the function has read or written
// the record. Next panics where it would wait for itself: in a function that its Update calls, such
// as Options.Observe.
//
// It returns the error of its Update, or an error if no block is left below 1<<63. The next call
// tries again.
func (s *Sequence[K]) Next() (uint64, error) {
	for {
		now := s.now.Load()
		if n := now.drawn.Add(1); n <= now.limit && s.owns(now) {
			return n, nil
		}
		if err := s.reserve(now); err != nil {
			return 0, err
		}
	}
}

// owns reports whether a block is not void. If the record's newest version is not that of the last
// reservation, another one may just have committed: owns waits until it has been noted.
func (s *Sequence[K]) owns(now *numbers) bool {
	r := now.record
	if s.epoch() == r.last.Load() {
		return r.breaks.Load() == now.breaks // must follow, see update
	}
	r.lock("Next")
	defer r.mu.Unlock()
	return s.epoch() == r.last.Load() && r.breaks.Load() == now.breaks
}

// epoch returns the epoch of the newest version of the record, 0 if there is none.
func (s *Sequence[K]) epoch() uint64 {
	_, _, head := index.Lookup(s.m.index, s.key)
	return s.m.at.epochOf(head)
}

func (e *engine) epochOf(head *chain.Node) uint64 {
	m := coreAt(e)
	if v := m.Newest(head); v != nil {
		return uint64(m.CommitEpoch(v))
	}
	return 0
}

// sequence returns the state that the Sequences of a record share. It panics if the key cannot be
// compared.
//
//go:noinline
func (e *engine) sequence(key any) *sequenceRecord {
	at := &coreAt(e).sequences
	if at.Load() == nil {
		at.CompareAndSwap(nil, &sequences{all: map[any]weak.Pointer[sequenceRecord]{}})
	}
	list := at.Load()
	list.mu.Lock()
	defer list.mu.Unlock()
	if r := list.all[key].Value(); r != nil {
		return r
	}
	r := &sequenceRecord{}
	list.all[key] = weak.Make(r)
	runtime.AddCleanup(r, list.forget, key)
	return r
}

// forget forgets the state of a record that has no Sequence any more.
func (list *sequences) forget(key any) {
	list.mu.Lock()
	defer list.mu.Unlock()
	if list.all[key].Value() == nil {
		delete(list.all, key)
	}
}

// reserve replaces the block before, which is used up or void.
func (s *Sequence[K]) reserve(before *numbers) error {
	r := s.m.at.sequence(s.key)
	r.lock("Next")
	defer r.mu.Unlock()
	if s.now.Load() != before {
		return nil
	}
	next := &numbers{record: r}
	err := s.update(r, func(record uint64) (uint64, error) {
		// Even if somebody has set the record back, no number comes again in this process.
		last := max(record, r.highest)
		if last >= math.MaxInt64 || s.block > math.MaxInt64-last {
			return 0, fmt.Errorf("mvcc: Sequence: no block of %d numbers is left above %d", s.block, last)
		}
		next.drawn.Store(last)
		next.limit = last + s.block
		return next.limit, nil
	})
	if err == nil {
		r.highest, next.breaks = next.limit, r.breaks.Load()
		s.now.Store(next)
	}
	return err
}

// Release gives back the reserved numbers that were not drawn, so that the next process goes on
// without a gap: call it before the database is closed. It does nothing if somebody has reserved
// more since. The sequence can be used afterwards. It waits for a reservation under way, and
// returns the error of its Update; after an error these numbers are left out.
func (s *Sequence[K]) Release() error {
	r := s.now.Load().record
	if r == nil {
		return nil // nothing was reserved
	}
	r.lock("Release")
	defer r.mu.Unlock()
	now := s.now.Load()
	drawn := now.drawn.Swap(now.limit) // nobody draws from it any more
	if drawn >= now.limit {
		return nil
	}
	back := false
	err := s.update(r, func(record uint64) (uint64, error) {
		if back = record == now.limit && s.epoch() == r.last.Load(); !back {
			return record, nil
		}
		return drawn, nil
	})
	if err == nil && back {
		r.highest = drawn
		next := &numbers{limit: drawn, record: r, breaks: now.breaks}
		next.drawn.Store(drawn)
		s.now.Store(next)
	}
	return err
}

// lock locks the record for a call.
func (r *sequenceRecord) lock(call string) {
	if r.within.Has() {
		panic("mvcc: Sequence: " + call + " is called by a function that the Update of the sequence calls: " +
			"it would wait for itself")
	}
	r.mu.Lock()
}

// update changes the record by fn, and notes the commit epoch.
func (s *Sequence[K]) update(r *sequenceRecord, fn func(record uint64) (uint64, error)) (err error) {
	change := func() { r.within.Run(func() { err = s.changed(r, fn) }) }
	if strict := s.m.strictly(); strict != nil {
		strict.beyond(change)
	} else {
		change()
	}
	return err
}

func (s *Sequence[K]) changed(
	r *sequenceRecord, fn func(record uint64) (uint64, error),
) error {
	return s.m.Update(context.Background(), &TxOptions{kind: forCall}, func(tx Tx[K, uint64]) error {
		was, _ := tx.Get(s.key)
		now, err := fn(was)
		if err != nil || now == was {
			return err
		}
		// If somebody writes the record after this, there is a conflict.
		broken := s.epoch() != r.last.Load()
		tx.Set(s.key, now)
		tx.OnCommit(func(epoch uint64) {
			if broken {
				r.breaks.Add(1) // must precede
			}
			r.last.Store(epoch)
		})
		return err
	})
}
