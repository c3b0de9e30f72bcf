//go:build mvcccheck

package hooks

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Enabled reports whether hooks are compiled in.
const Enabled = true

var fn atomic.Pointer[func(Point)]

// At calls the installed function, if there is one.
func At(p Point) {
	if f := fn.Load(); f != nil {
		(*f)(p)
	}
}

// Set installs f for the whole process and returns the function that removes
// it. f is called by every goroutine that passes a point, also by those in the
// background.
func Set(f func(Point)) (remove func()) {
	fn.Store(&f)
	return func() { fn.Store(nil) }
}

// A Scheduler runs some goroutines, its own, one at a time. Before each access to shared memory it
// decides which of them goes on. Every goroutine calls its methods; the calls of goroutines that
// are not its own do nothing.
type Scheduler interface {
	// Owns reports whether the calling goroutine is one of the scheduler's.
	Owns() bool
	// Before is called before an access to object.
	Before(kind Access, object unsafe.Pointer)
	// Failed is called after a compare-and-swap that was announced as a write
	// and has changed nothing.
	Failed()
	// Index is called before an access to the index at key, or for a walk to
	// all of it.
	Index(kind Access, key any)
	// GaveUp is called by a goroutine that waited for another one, which did not move. The caller
	// goes on without that one.
	GaveUp()
	// TakeIdle returns an idle object of the calling goroutine, nil if there is none. Give puts an
	// object back. So the object that a goroutine gets from a free list does not depend on the
	// processor that runs the goroutine.
	TakeIdle() any
	GiveIdle(x any)
}

var scheduler atomic.Pointer[Scheduler]

// Schedule installs s for the whole process and returns the function that
// removes it.
func Schedule(s Scheduler) (remove func()) {
	scheduler.Store(&s)
	return func() { scheduler.Store(nil) }
}

// Accesses has f called before each access to a shared word, until remove is called.
func Accesses(f func(word unsafe.Pointer)) (remove func()) { return Schedule(accesses(f)) }

type accesses func(word unsafe.Pointer)

func (accesses) Owns() bool                             { return false }
func (f accesses) Before(_ Access, word unsafe.Pointer) { f(word) }
func (accesses) Failed()                                {}
func (accesses) Index(Access, any)                      {}
func (accesses) GaveUp()                                {}
func (accesses) TakeIdle() any                          { return nil }
func (accesses) GiveIdle(any)                           {}

// Scheduled reports whether the calling goroutine belongs to the scheduler. Steps that
// depend on time or chance are left out then.
func Scheduled() bool {
	s := scheduler.Load()
	return s != nil && (*s).Owns()
}

// Before announces an access to object. Package internal/debug/hooks/atomic calls it.
func Before(kind Access, object unsafe.Pointer) {
	if s := scheduler.Load(); s != nil {
		(*s).Before(kind, object)
	}
}

// Mutex announces an access to mu: a TryLock or an Unlock. A goroutine that is
// scheduled must not wait for a mutex.
func Mutex(mu *sync.Mutex) { Before(Write, unsafe.Pointer(mu)) }

// Failed says that the write announced last has changed nothing.
func Failed() {
	if s := scheduler.Load(); s != nil {
		(*s).Failed()
	}
}

// Index announces an access to the index at key, if the goroutine is scheduled.
func Index[K any](kind Access, key K) {
	if s := scheduler.Load(); s != nil && (*s).Owns() {
		(*s).Index(kind, key)
	}
}

// Walking announces that a part of the index is read, if the goroutine is scheduled.
func Walking() {
	if s := scheduler.Load(); s != nil && (*s).Owns() {
		(*s).Index(Walk, nil)
	}
}

// GaveUp says that the calling goroutine waits no longer for another one.
func GaveUp() {
	if s := scheduler.Load(); s != nil {
		(*s).GaveUp()
	}
}

// TakeIdle returns an idle object of the calling goroutine, which must be scheduled.
func TakeIdle() any {
	if s := scheduler.Load(); s != nil {
		return (*s).TakeIdle()
	}
	return nil
}

// GiveIdle keeps an idle object for the calling goroutine, which must be scheduled.
func GiveIdle(x any) {
	if s := scheduler.Load(); s != nil {
		(*s).GiveIdle(x)
	}
}

// Looks returns how often a goroutine looks at a word that others may change before it gives up
// waiting: n times, or once if the goroutine is scheduled. The outcomes are the same: a look has no
// effect, and the scheduler may put the single look wherever any of n looks can be.
func Looks(n int) int {
	if Scheduled() {
		return 1
	}
	return n
}
