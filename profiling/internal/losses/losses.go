// Package losses counts the lost attempts of transactions, by their keys and winners, for some time
// after each call of [Look]. The process has one such count, as package mvcc has one observer.
package losses

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	rtrace "runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/internal/seam"
	"github.com/mvccmap/mvccmap/mvcc"
)

const (
	// Reach is how long after the last Look attempts are counted, and how old counts may become.
	Reach = 5 * time.Minute
	step  = 30 * time.Second
	// kept bounds the lost attempts of a step whose key and winner are kept, the newest ones.
	kept = 1024
	// wins bounds the commits among which winners are looked for.
	wins = 1 << 13
	// callers bounds the callers that are told apart in a step: names may come from outside.
	callers = 500
)

// state has the losses of the process; looked has its steps, the newest last.
var state struct {
	mu     sync.Mutex
	until  time.Time // 0 while nobody looks
	looked []*gathered
	now    atomic.Pointer[gathered] // the last of them, nil while nobody looks
	wins   [wins]atomic.Pointer[win]
}

// A caller is who makes a transaction: its name, and the calls that lead to it, leaf first.
type caller struct {
	name   string
	byHand bool
	calls  [12]uintptr
}

// A win is a commit of a caller.
type win struct {
	of    uintptr // the database or map
	epoch uint64
	by    *caller
	times int // how many wins like it are not noted, and this one
}

// noted is how many Updates without a name win at their first attempt for each that is noted:
// finding the name takes a walk over the stack.
const noted = 16

// gathered has the attempts and losses of a step.
type gathered struct {
	began    time.Time
	callers  *xsync.Map[caller, *counts]
	distinct atomic.Int64
	n        atomic.Uint64
	samples  [kept]atomic.Pointer[loss]
}

// counts are the attempts and losses of a caller.
type counts struct {
	caller
	attempts atomic.Uint64
	tables   sync.Map // of *losing by the name of the table
}

// losing counts the attempts that a caller has lost over keys of a table.
type losing struct {
	n            atomic.Uint64
	took, waited atomic.Int64
	kinds        [gaveWay + 1]atomic.Uint64
}

// gaveWay is the kind of a conflict without a winner: the attempt gave way to a transaction that
// had lost often.
const gaveWay = mvcc.ConflictWrite + 1

// A loss is an attempt that was lost. by is nil if the winner is not known.
type loss struct {
	caller
	table string
	key   any
	hash  uint64
	epoch uint64 // of the commit that was in the way
	by    *win
}

// Look has lost attempts counted until Reach has passed. It takes a lock, and starts a timer if
// none were being counted.
func Look() {
	state.mu.Lock()
	defer state.mu.Unlock()
	idle := state.until.IsZero()
	if state.until = time.Now().Add(Reach); idle {
		seam.Look.Store(&seam.Looker{Lost: lost, Won: won})
		advance()
	}
}

// advance begins a step. state.mu is held.
func advance() {
	g := &gathered{began: time.Now(), callers: xsync.NewMap[caller, *counts]()}
	state.looked = append(state.looked, g)
	state.looked = state.looked[max(0, len(state.looked)-int(Reach/step)):]
	state.now.Store(g)
	time.AfterFunc(step, func() { turn(time.Now()) }) // no goroutine of ours waits meanwhile
}

// turn ends a step, and the counting if its time is over.
func turn(now time.Time) {
	state.mu.Lock()
	defer state.mu.Unlock()
	if now.Before(state.until) {
		advance()
		return
	}
	state.until, state.looked = time.Time{}, nil
	seam.Look.Store(nil)
	state.now.Store(nil)
	for i := range state.wins {
		state.wins[i].Store(nil)
	}
}

// An update is a transaction whose attempts package mvcc reports.
type update struct {
	of     uintptr
	by     caller
	losses []*loss
}

// lost returns a function that counts the attempts of one transaction; it is for [seam.Looker].
func lost(of uintptr) (tell func(any)) {
	u := &update{of: of}
	runtime.Callers(3, u.by.calls[:]) // most of package mvcc is left out
	return func(a any) { u.told(a.(*mvcc.Attempt)) }
}

// won counts and notes a commit; it is for [seam.Looker]. It allocates the win.
func won(of uintptr, name string, epoch uint64) {
	g, by, times := state.now.Load(), caller{name: name}, 1
	if name == "" {
		if times = noted; rand.IntN(noted) > 0 {
			return
		}
		runtime.Callers(3, by.calls[:])
	}
	if g != nil {
		c := g.count(by)
		c.attempts.Add(uint64(times))
		c.win(of, epoch, times)
	}
}

// count returns the counts of a caller or, beyond a number of callers, those of all others.
func (g *gathered) count(by caller) *counts {
	c, ok := g.callers.Load(by)
	if ok {
		return c
	}
	if g.distinct.Add(1) > callers {
		by = caller{name: "other transactions"}
	}
	c, _ = g.callers.LoadOrStore(by, &counts{caller: by})
	return c
}

func winAt(of uintptr, epoch uint64) *atomic.Pointer[win] {
	return &state.wins[(epoch^uint64(of>>4))%wins]
}

// win notes a commit. The first of an epoch stays: others with the same epoch have only read.
func (c *counts) win(of uintptr, epoch uint64, times int) {
	at := winAt(of, epoch)
	if w := at.Load(); epoch > 0 && (w == nil || w.of != of || w.epoch != epoch) {
		at.CompareAndSwap(w, &win{of, epoch, &c.caller, times})
	}
}

// told counts an attempt.
func (u *update) told(a *mvcc.Attempt) {
	g := state.now.Load()
	if g == nil {
		return
	}
	u.by.name, u.by.byHand = a.Name, a.Began.IsZero()
	c := g.count(u.by)
	c.attempts.Add(1)
	// The error of a function may be a conflict elsewhere, and the error of an Update that has
	// given up wraps a conflict that was counted already.
	if e, ok := a.Err.(*mvcc.ConflictError); ok && e.Attempts == a.Number {
		u.lose(c, a, e)
	} else if a.Err == nil {
		c.win(u.of, a.Epoch, 1)
	}
	if a.Last && len(u.losses) > 0 {
		u.settle(g, a.Number)
	}
}

var seed = maphash.MakeSeed()

// lose counts a lost attempt.
func (u *update) lose(c *counts, a *mvcc.Attempt, e *mvcc.ConflictError) {
	at, ok := c.tables.Load(e.Table)
	if !ok {
		at, _ = c.tables.LoadOrStore(e.Table, new(losing))
	}
	l, kind := at.(*losing), e.Kind
	if e.CommitEpoch == 0 {
		kind = gaveWay
	}
	l.n.Add(1)
	l.took.Add(int64(a.Took))
	if len(u.losses) > 0 {
		l.waited.Add(int64(a.Waited))
	}
	l.kinds[min(kind, gaveWay)].Add(1)
	u.losses = append(u.losses, &loss{caller: c.caller, table: e.Table, key: e.Key,
		hash: maphash.Comparable(seed, e.Key), epoch: e.CommitEpoch})
}

// settle finds the winners of the losses, as most winners have been noted by now, and keeps the
// losses. In an execution trace it leaves a note for the report on a slow operation.
func (u *update) settle(g *gathered, attempts int) {
	for _, l := range u.losses {
		if w := winAt(u.of, l.epoch).Load(); w != nil && w.of == u.of && w.epoch == l.epoch {
			l.by = w
		}
		g.samples[g.n.Add(1)%kept].Store(l)
	}
	if rtrace.IsEnabled() {
		rtrace.Log(context.Background(), Category,
			fmt.Sprint(attempts, " ", len(u.losses), " ", sentence(u.losses)))
	}
}

// Category marks notes in an execution trace: attempts, lost ones, and a sentence about them.
const Category = "lost attempts"
