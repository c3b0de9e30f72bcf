package goid

import "sync"

// A Set is goroutines that are in the midst of something. The zero Set is empty.
type Set struct {
	mu  sync.Mutex
	ids map[ID]int // how deep
}

// Run calls f. The calling goroutine is in the set meanwhile.
func (s *Set) Run(f func()) {
	id := Get()
	s.add(id, 1)
	defer s.add(id, -1)
	f()
}

func (s *Set) add(id ID, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[ID]int{}
	}
	if s.ids[id] += n; s.ids[id] == 0 {
		delete(s.ids, id)
	}
}

// Has reports whether the calling goroutine is in the set.
func (s *Set) Has() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[Get()] > 0
}
