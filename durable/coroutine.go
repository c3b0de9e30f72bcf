package durable

import (
	"fmt"
	"iter"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/debug/goid"
)

// A coroutine is a goroutine whose waits are not in the program's block profile: it switches back to
// the goroutine that runs it, which ends then. Only the coroutine itself calls Await and call.
type coroutine struct {
	body  func()
	next  func() (struct{}, bool)
	yield func(struct{}) bool

	// resumes counts the calls of Resume that the coroutine has not yet followed with another look
	// at its condition. While it is 0 the coroutine waits, or has ended.
	resumes atomic.Int64
	bubbled bool        // the coroutine is in a bubble of testing/synctest
	look    *time.Timer // resumes a coroutine that is in no bubble now and then, see Resume
}

// lookPause is the time after which a coroutine outside a bubble looks again.
const lookPause = time.Second

// start starts the coroutine.
func (c *coroutine) start(body func()) {
	c.body, c.bubbled = body, goid.InBubble()
	c.Resume()
}

// Resume has the coroutine look at its condition after the call. It never waits. Between a bubble
// of testing/synctest and the outside it does nothing, as the runtime crashes on such a switch; the
// coroutine looks within lookPause.
func (c *coroutine) Resume() {
	if c == nil || c.bubbled != goid.InBubble() {
		return
	}
	if c.resumes.Add(1) == 1 { // the linearization point
		go c.run()
	}
}

// run switches to the coroutine until that has followed all calls of Resume. One goroutine at most
// is in run: the one of the call that has found 0. The coroutine may have looked before the calls
// made during a switch, so another switch follows them.
func (c *coroutine) run() {
	if c.next == nil { // not in start: the program may have locked that goroutine to its thread
		c.next, _ = iter.Pull(func(yield func(struct{}) bool) {
			c.yield = yield
			if !c.bubbled { // else a bubble in which all goroutines wait for ever would not end
				c.look = time.AfterFunc(lookPause, c.Resume)
				defer c.look.Stop()
			}
			defer func() {
				if p := recover(); p != nil { // the crash shows the stack of run, not this one
					panic(fmt.Sprintf("%v\n\n%s", p, debug.Stack()))
				}
			}()
			c.body()
		})
	}
	for n := c.resumes.Load(); n > 0; n = c.resumes.Add(-n) {
		c.next()
	}
}

// Await waits until cond is true. For a nil coroutine it returns at once.
func (c *coroutine) Await(cond func() bool) {
	for c != nil && !cond() {
		if c.look != nil {
			c.look.Reset(lookPause)
		}
		c.yield(struct{}{})
	}
}

// call calls f in a goroutine of its own, which f may end, and waits for it.
func (c *coroutine) call(f func()) {
	ended := make(chan struct{}, 1)
	go func() {
		defer func() {
			ended <- struct{}{}
			c.Resume()
		}()
		f()
	}()
	c.Await(func() bool { return len(ended) > 0 })
	<-ended
}
