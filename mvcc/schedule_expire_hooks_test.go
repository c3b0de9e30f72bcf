//go:build mvcccheck

package mvcc

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// lifeOf is when a value expires: some never, and values written later sooner or later, by less
// than a refused record is put off.
func lifeOf(_, value int) time.Time {
	far := time.Unix(1<<40, 0)
	switch value % 8 {
	case 0:
		return time.Time{}
	case 1, 5:
		return far.Add(time.Duration(value) * time.Millisecond)
	}
	return far.Add(-time.Duration(value) * time.Millisecond)
}

// expire makes records expire, in a time that does not come.
func (w *world) expire() {
	for _, m := range w.maps {
		m.Expire(lifeOf)
	}
}

// thin looks at all notes: as when their time comes, but that nothing is deleted.
func (w *world) thin() {
	for _, m := range w.maps {
		if x := coreOf(m).expiry(); x != nil {
			x.look(math.MaxInt32)
			x.thin(bg)
		}
	}
}

// refuse is a sweep of records that are taken for due, each of which stays: they are overdue.
func (w *world) refuse() {
	const undecided = 1
	w.refused = map[int]int64{}
	for _, m := range w.maps {
		x := coreOf(m).expiry()
		if x == nil {
			continue
		}
		x.look(math.MaxInt32)
		for _, one := range x.take(true) {
			switch due, ok := x.nextLook(one.what, undecided); {
			case ok && due == undecided:
				x.put([]noteOf{one})
			case ok:
				w.refused[*(*int)(one.what)] = due
				if at, ok := x.refused(one.what, errStop, due, undecided); ok {
					x.put([]noteOf{{at, one.what}})
				}
			}
		}
	}
}

// rest stops the ticker, if nothing is due: whoever notes a key afterwards wakes it.
func (w *world) rest() {
	for _, m := range w.maps {
		if x := coreOf(m).expiry(); x != nil {
			x.waits()
		}
	}
}

// checkNotes says which record will not expire though it should.
func (w *world) checkNotes() error {
	for _, m := range w.maps {
		x := coreOf(m).expiry()
		if x == nil {
			continue
		}
		for i := range x.lists {
			if x.awake.Load() == 0 && x.lists[i].head.Load() != nil {
				return errors.New("a key is noted, and the ticker rests")
			}
		}
		x.look(math.MaxInt32)
		noted := map[int]int64{}
		for _, one := range x.take(true) {
			key := *(*int)(one.what)
			if at, ok := noted[key]; !ok || one.at < at {
				noted[key] = one.at
			}
		}
		for key, value := range m.All() {
			at, expires := millis(lifeOf(key, value))
			if at == w.refused[key] { // it is overdue still
				continue
			}
			if by, ok := noted[key]; expires && (!ok || by > at) {
				return fmt.Errorf("%s = %d expires at %d, and is noted at %d, %t", programKeys[key],
					value, at, by, ok)
			}
		}
	}
	return nil
}
