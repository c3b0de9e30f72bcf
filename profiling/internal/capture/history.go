package capture

import (
	"slices"
	"sync"
)

// A History is a bounded list of things with numbers, which count from 1 and are
// never used again. Its methods may be called from several goroutines.
type History[T any] struct {
	mu   sync.Mutex
	last int
	list []T   // the oldest first
	ids  []int // their numbers
}

// Add stores what create makes of the next number. Then it drops what surplus names: an index
// in the list, which has the oldest first, until that is negative.
func (h *History[T]) Add(create func(id int) T, surplus func(list []T) (index int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.list, h.ids = append(h.list, create(h.last)), append(h.ids, h.last)
	for i := surplus(h.list); i >= 0; i = surplus(h.list) {
		h.list, h.ids = slices.Delete(h.list, i, i+1), slices.Delete(h.ids, i, i+1)
	}
}

// Get returns the thing with the given number. gone tells that it was dropped.
func (h *History[T]) Get(id int) (of T, ok, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.ids, id); i >= 0 {
		return h.list[i], true, false
	}
	return of, false, 0 < id && id <= h.last
}

// NewestFirst returns the list in the order in which it is shown.
func (h *History[T]) NewestFirst() []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := append([]T{}, h.list...) // not nil, for JSON
	slices.Reverse(list)
	return list
}
