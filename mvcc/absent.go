package mvcc

import (
	"slices"
	"unsafe"
)

// A keyList has keys of which there was no version at the read epoch, and their hashes. It is nil
// if there never were any.
type keyList interface {
	add(key unsafe.Pointer, hash uint64)
	at(i int) (key unsafe.Pointer, hash uint64) // the key is there until it is emptied
	len() int
	compact() // drops keys that are there before
	empty()
}

type absence[K comparable] struct {
	key  K
	hash uint64
}

type absences[K comparable] struct{ list []absence[K] }

func (a *absences[K]) add(key unsafe.Pointer, hash uint64) {
	a.list = append(a.list, absence[K]{*(*K)(key), hash})
}

func (a *absences[K]) at(i int) (key unsafe.Pointer, hash uint64) {
	one := &a.list[i]
	return unsafe.Pointer(&one.key), one.hash
}

func (a *absences[K]) len() int { return len(a.list) }
func (a *absences[K]) empty()   { a.list = emptied(a.list) }

func (a *absences[K]) compact() {
	seen := make(map[K]struct{})
	a.list = slices.DeleteFunc(a.list, func(one absence[K]) bool { return repeated(seen, one.key) })
}

// absences returns how many keys were read of which there was no version.
func (p *partWork) absences() int {
	if p.absent == nil {
		return 0
	}
	return p.absent.len()
}

// absences is that of all parts.
func (w *txWork) absences() (n int) {
	for _, p := range w.parts {
		n += p.absences()
	}
	return n
}

// noteAbsent records that there was no version of the key, which has hash h.
func (p *part) noteAbsent(key unsafe.Pointer, h uint64) {
	if p.absent == nil {
		p.absent = p.m.types.absences()
	}
	p.absent.add(unkept(key), h)
	if p.absent.len() >= p.fullAbsent {
		p.absent.compact()
		p.fullAbsent = max(compactReads, compactFactor*p.absent.len())
	}
}
