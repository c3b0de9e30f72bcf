package mvcc

import (
	"runtime"
	stdatomic "sync/atomic"
	"unsafe"
	"weak"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// droppedListeners are listeners that their users cannot reach any more: nobody would see the
// changes. The garbage collector finds them, and the hub takes them out in its next round. If
// nobody watches there is no round, and a new goroutine takes them out.
type droppedListeners struct {
	head stdatomic.Pointer[droppedListener]
}

type droppedListener struct {
	of   listener
	next *droppedListener
}

// hasDropped notes w. The garbage collector's goroutine calls it, so it must not wait.
func (h *hub) hasDropped(w listener) {
	n := &droppedListener{of: w}
	for {
		n.next = h.dropped.head.Load()
		if h.dropped.head.CompareAndSwap(n.next, n) {
			break
		}
	}
	if h.work.Load() == nil && !hooks.Scheduled() { // must follow, see rest
		go h.takeDropped()
	}
}

// takeDropped calls forgetDropped if no round does.
func (h *hub) takeDropped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetDropped()
}

// forgetDropped takes out the listeners that were dropped. h.mu is held.
func (h *hub) forgetDropped() {
	first := h.dropped.head.Swap(nil)
	if first == nil {
		return
	}
	for n := first; n != nil; n = n.next {
		h.drop(n.of)
		n.of.dropped()
	}
	h.sweep()
}

// A weakChan refers to a channel without keeping it reachable: if nobody else can reach the
// channel, nobody waits. (A channel is a pointer in all but its type, and a goroutine that waits
// for a channel reaches the channel.)
type weakChan struct{ at weak.Pointer[byte] }

// weakTo returns a reference to c, and arranges that w is dropped when nobody can reach c.
func weakTo(c chan struct{}, h *hub, w listener) (weakChan, runtime.Cleanup) {
	at := (*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&c)))
	return weakChan{weak.Make(at)}, runtime.AddCleanup(at, h.hasDropped, w)
}

// close closes the channel, if anybody can see that.
func (c weakChan) close() {
	if at := c.at.Value(); at != nil {
		close(*(*chan struct{})(unsafe.Pointer(&at)))
	}
}

// lag returns by how many epochs the watches are behind now.
func (h *hub) lag(now epoch.Epoch) uint64 {
	if h.listening.Load() == 0 {
		return 0
	}
	told := epoch.Epoch(h.told.Load())
	return uint64(max(now, told) - told)
}
