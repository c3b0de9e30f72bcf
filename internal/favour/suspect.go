package favour

import (
	"slices"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/internal/goid"
)

// A Suspect is a transaction that has lost, and may have been in its own way: its
// goroutine writes, by other means, what the transaction has read. While there are
// suspects, a goroutine that runs one notes what it writes.
type Suspect struct {
	q         *Queue
	outer     *Suspect // of the same goroutine, in which this one runs; or nil
	goroutine goid.ID
	wrote     []uint64 // the hashes of some keys, not always each once
}

// maxWrote bounds the keys that are noted of one suspect.
const maxWrote = 1024

// Suspect makes the transaction that the calling goroutine is about to run a suspect. It
// returns nil if there are too many. The same goroutine ends it, after all suspects that
// it has begun since.
func (q *Queue) Suspect() *Suspect {
	s := &Suspect{q: q, goroutine: goid.Get()}
	at := s.place()
	if s.outer = at.Load(); s.outer != nil && s.outer.goroutine != s.goroutine {
		return nil
	}
	if !at.CompareAndSwap(s.outer, s) {
		return nil
	}
	q.n.Add(1)
	return s
}

func (s *Suspect) place() *atomic.Pointer[Suspect] {
	return &s.q.suspects[s.goroutine.Hash()%uint64(len(s.q.suspects))]
}

// End ends the note-taking. It may be called more than once, and does nothing for nil.
func (s *Suspect) End() {
	if s != nil && s.place().CompareAndSwap(s, s.outer) {
		s.q.n.Add(-1)
	}
}

// Wrote reports whether the goroutine has written a key with the hash meanwhile.
func (s *Suspect) Wrote(hash uint64) bool { return s != nil && slices.Contains(s.wrote, hash) }

// Note notes that the calling goroutine has written a key with this hash, if it is the
// goroutine of a suspect. It is called when [Queue.Any] was true before the write.
func (q *Queue) Note(hash uint64) {
	one := Suspect{q: q, goroutine: goid.Get()}
	s := one.place().Load()
	if s == nil || s.goroutine != one.goroutine {
		return
	}
	// Only its own goroutine reads or writes the lists.
	for ; s != nil; s = s.outer {
		if len(s.wrote) < maxWrote {
			s.wrote = append(s.wrote, hash)
		}
	}
}
