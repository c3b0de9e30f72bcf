package gc

// Released puts an item on the shelves of epochs and returns those of them that
// view makes due.
func Released(epochs []uint64, item Bare, view *View) (due []uint64) {
	var a aside[Bare, uint64]
	for _, e := range epochs {
		a.put(item, &Visit[uint64]{Waits: []Wait[uint64]{{Epoch: e, Version: e}}})
	}
	a.release(view)
	for {
		var b batch[Bare, uint64]
		if a.take(&b); len(b.items) == 0 {
			return due
		}
		due = append(due, b.versions...)
	}
}

// Bare is an item with nothing to prune.
type Bare = *bare

type bare struct{ mark Mark }

// Mark implements [Item].
func (i *bare) Mark() *Mark { return &i.mark }

// NewBare returns a Bare.
func NewBare() Bare { return new(bare) }

// Idle reports whether the mark says that the item waits nowhere.
func (m *Mark) Idle() bool { return m.bits.Load() == 0 }

// Parked reports whether the ticker says that it is parked.
func (r *Reclaimer[E, V]) Parked() bool { return r.parked.Load() }

// Unpoke takes back a wake-up that the ticker has not seen yet, and reports
// whether there was one.
func (r *Reclaimer[E, V]) Unpoke() bool {
	select {
	case <-r.wake:
		return true
	default:
		return false
	}
}
