package favour

import "github.com/mvccmap/mvccmap/internal/goid"

// A Suspect is a transaction that has lost, and may have been in its own way: its
// goroutine writes, by other means, what the transaction has read. While there are
// suspects every goroutine notes what it writes, if it is the goroutine of one.
type Suspect struct {
	q         *Queue
	goroutine goid.ID
	wrote     []uint64 // the hashes of some keys, not always each once
}

// maxWrote is up to how many keys are noted of one suspect.
const maxWrote = 1024

// Suspect makes the transaction that the calling goroutine is about to run a suspect. It
// returns nil if there are too many, or this goroutine has one already. The same
// goroutine ends it.
func (q *Queue) Suspect() *Suspect {
	s := &Suspect{q: q, goroutine: goid.Get()}
	if !q.suspects[s.place()].CompareAndSwap(nil, s) {
		return nil
	}
	q.n.Add(1)
	return s
}

func (s *Suspect) place() uint64 { return s.goroutine.Hash() % uint64(len(s.q.suspects)) }

// End ends the note-taking. It may be called more than once, and does nothing for nil.
func (s *Suspect) End() {
	if s != nil && s.q.suspects[s.place()].CompareAndSwap(s, nil) {
		s.q.n.Add(-1)
	}
}

// Wrote reports whether the goroutine has written a key with the hash meanwhile.
func (s *Suspect) Wrote(hash uint64) bool {
	if s == nil {
		return false
	}
	for _, h := range s.wrote {
		if h == hash {
			return true
		}
	}
	return false
}

// Note notes that the calling goroutine has written keys with these hashes, if it is the
// goroutine of a suspect. It is called when [Queue.Any] was true before the write.
func (q *Queue) Note(hashes ...uint64) {
	one := Suspect{q: q, goroutine: goid.Get()}
	s := q.suspects[one.place()].Load()
	if s == nil || s.goroutine != one.goroutine {
		return
	}
	// Only its own goroutine reads or writes the list.
	if n := min(len(hashes), maxWrote-len(s.wrote)); n > 0 {
		s.wrote = append(s.wrote, hashes[:n]...)
	}
}
