package mvcc

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/goid"
)

// A Sequence gives out numbers, each once and each higher than those before, for keys of records,
// say. Transactions that draw numbers do not conflict with each other, as they would if each
// counted up one record. The record of a sequence says up to where numbers are reserved, and is
// written once for a block of them. Use [NewSequence]. A Sequence may be used by any number of
// goroutines at once, and must not be copied.
//
// There are gaps. A transaction that is rolled back, or runs again after a conflict, does not give
// its numbers back, and a process that ends without [Sequence.Release] leaves out what it has
// reserved. Numbers are in the order in which they were drawn, not in that of the commits. So a
// reader that lists records by number may see a lower one appear later. (As with the sequences of
// SQL:2003.)
//
// The reservation commits before a number of it is given out, in a transaction of its own. So
// where commits are kept, by package journal say, one that uses a number is never kept without the
// reservation, and the number does not come again after a restart. A number that has left the
// process before the journal had its commit may come again. Load what is kept before the first
// number is drawn.
type Sequence[K comparable] struct {
	_     noCopy
	m     *Map[K, uint64]
	key   K
	block uint64

	mu     sync.Mutex              // held while a block is reserved or released
	within goid.Set                // the goroutine that does that
	now    atomic.Pointer[numbers] // those that numbers are drawn from
}

// numbers are a block of those of a sequence: those above what has been drawn, up to limit. What
// is drawn above that means that there are none left.
type numbers struct {
	_     [64]byte // is written by all that draw
	drawn atomic.Uint64
	limit uint64
	_     [64]byte
}

// defaultBlock is how many numbers are reserved at a time.
const defaultBlock = 1000

// NewSequence returns a sequence whose record in m has the given key: its value is the highest number
// that is reserved. If there is none the first number is 1; a program that has numbers already
// stores the highest one there before. block is how many numbers are reserved at a time, which is
// also how many may be left out when the process ends; 0 means 1000. Several sequences of one key
// give out different numbers. NewSequence writes nothing. It panics if m is a zero Map.
func NewSequence[K comparable](m *Map[K, uint64], key K, block uint64) *Sequence[K] {
	m.engine()
	if block == 0 {
		block = defaultBlock
	}
	s := &Sequence[K]{m: m, key: key, block: block}
	s.now.Store(new(numbers))
	return s
}

// Next returns the next number. It costs an atomic addition. Once in a block it reserves the next
// one, by an Update of the map; goroutines that call it meanwhile wait for that one. It may be called
// in the function of an Update, of this map as well: the reservation is not part of that
// transaction, which must not have read or written the record itself. Next panics where it would wait
// for itself: if a function that this Update calls has called it, such as those of Options.Around and
// Observe.
//
// It returns the error of that Update, and an error if no block is left below 1<<63. Then no number
// was drawn, and the next call tries again.
func (s *Sequence[K]) Next() (uint64, error) {
	for {
		now := s.now.Load()
		if n := now.drawn.Add(1); n <= now.limit {
			return n, nil
		}
		if err := s.reserve(now); err != nil {
			return 0, err
		}
	}
}

// reserve replaces the block before, which is empty.
func (s *Sequence[K]) reserve(before *numbers) error {
	s.lock("Next")
	defer s.mu.Unlock()
	if s.now.Load() != before {
		return nil
	}
	next := new(numbers)
	err := s.update(func(record uint64) (uint64, error) {
		// If somebody has set the record back, what was given out does not come again in this process.
		last := max(record, before.limit)
		if last >= math.MaxInt64 || s.block > math.MaxInt64-last {
			return 0, fmt.Errorf("mvcc: Sequence: no block of %d numbers is left above %d", s.block, last)
		}
		next.drawn.Store(last)
		next.limit = last + s.block
		return next.limit, nil
	})
	if err == nil {
		s.now.Store(next)
	}
	return err
}

// Release gives back what is reserved and was not drawn, so that the next process goes on without a
// gap: call it before the database is closed. It does nothing if somebody has reserved more since.
// The sequence can be used afterwards, and reserves anew. Release returns the error of the Update
// that it makes; then what was reserved is left out. It waits for a reservation under way.
func (s *Sequence[K]) Release() error {
	s.lock("Release")
	defer s.mu.Unlock()
	now := s.now.Load()
	drawn := now.drawn.Swap(now.limit) // nobody draws from it any more
	if drawn >= now.limit {
		return nil
	}
	back := false
	err := s.update(func(record uint64) (uint64, error) {
		if back = record == now.limit; !back {
			return record, nil
		}
		return drawn, nil
	})
	if err == nil && back {
		next := &numbers{limit: drawn}
		next.drawn.Store(drawn)
		s.now.Store(next)
	}
	return err
}

// lock locks s for a call.
func (s *Sequence[K]) lock(call string) {
	if s.within.Has() {
		panic("mvcc: Sequence: " + call + " is called by a function that the Update of the sequence calls: " +
			"it would wait for itself")
	}
	s.mu.Lock()
}

// update has the record changed.
func (s *Sequence[K]) update(fn func(record uint64) (uint64, error)) (err error) {
	change := func() { s.within.Run(func() { err = s.changed(fn) }) }
	if strict := s.m.strictly(); strict != nil {
		strict.beyond(change)
	} else {
		change()
	}
	return err
}

func (s *Sequence[K]) changed(fn func(record uint64) (uint64, error)) error {
	return s.m.Update(context.Background(), &TxOptions{kind: forCall}, func(tx Tx[K, uint64]) error {
		was, _ := tx.Get(s.key)
		now, err := fn(was)
		if err == nil && now != was {
			tx.Set(s.key, now)
		}
		return err
	})
}
