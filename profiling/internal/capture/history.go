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
	list []numbered[T] // the oldest first
}

type numbered[T any] struct {
	id int
	of T
}

// Add stores what create makes of the next number. Then it drops what surplus names: an index
// in the list, which has the oldest first, until that is negative.
func (h *History[T]) Add(create func(id int) T, surplus func(list []T) (index int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.list = append(h.list, numbered[T]{h.last, create(h.last)})
	for i := surplus(h.all()); i >= 0; i = surplus(h.all()) {
		h.list = slices.Delete(h.list, i, i+1)
	}
}

// Get returns the thing with the given number. gone tells that it was dropped.
func (h *History[T]) Get(id int) (of T, ok, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.list {
		if n.id == id {
			return n.of, true, false
		}
	}
	return of, false, 0 < id && id <= h.last
}

// NewestFirst returns the list in the order in which it is shown.
func (h *History[T]) NewestFirst() []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.all()
	slices.Reverse(list)
	return list
}

func (h *History[T]) all() []T {
	list := make([]T, len(h.list))
	for i, n := range h.list {
		list[i] = n.of
	}
	return list
}
