package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/mvccmap/mvccmap/mvcc"
)

// restPatience is how long an unused map may take to come to rest. It bounds nothing:
// only a map that never comes to rest exceeds it.
var restPatience = time.Minute

// checkQuiet waits until m, which is not used any more, has nothing left to do, and
// compares what its ways of reading say.
func checkQuiet[K, V comparable](m *mvcc.Map[K, V]) *Violation {
	s := m.Stats()
	for end := time.Now().Add(restPatience); ; s = m.Stats() {
		if s.LiveTx != 0 || s.Leaked != 0 {
			return atRest(s, "%d transactions or snapshots are open, %d were ended by the garbage "+
				"collector", s.LiveTx, s.Leaked)
		}
		if s.QueueDepth == 0 && s.Aside == 0 && s.OldestPin == 0 {
			break
		}
		if time.Now().After(end) {
			return atRest(s, "after %v, %d keys wait to be pruned, %d for a read epoch to end, the oldest "+
				"of which is %d",
				restPatience, s.QueueDepth, s.Aside, s.OldestPin)
		}
		time.Sleep(100 * time.Microsecond)
	}
	sn := m.Snapshot()
	defer sn.Close()
	n := 0
	for k, v := range sn.All() {
		n++
		if got, ok := sn.Get(k); !ok || got != v {
			return atRest(s, "key %v: the scan of a snapshot found %v, Get %v, %t", k, v, got, ok)
		}
		if got, ok := m.Load(k); !ok || got != v {
			return atRest(s, "key %v: a snapshot has %v, Load found %v, %t", k, v, got, ok)
		}
	}
	if got := sn.Len(); got != n {
		return atRest(s, "a scan of a snapshot found %d keys, Len %d", n, got)
	}
	return nil
}

func atRest(s mvcc.Stats, format string, args ...any) *Violation {
	return &Violation{
		Summary: "map at rest: " + fmt.Sprintf(format, args...),
		Detail:  fmt.Sprintf("Statistics of the map: %+v", s),
	}
}

// A Thing is key and value in the reclaim check, by its address. The garbage
// collector tells whether the map still has it.
type Thing struct {
	_    [32]byte // not to share a block of memory with others
	self *Thing
}

// doReclaim inserts and deletes keys, and then looks at what the map keeps alive.
func (t Target) doReclaim(ctx context.Context, r Round) Outcome {
	m := mvcc.New[*Thing, *Thing](r.Options())
	defer m.Close()
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	crew := make([]*churner, r.Workers)
	var wg sync.WaitGroup
	for i := range crew {
		c := &churner{m: m, r: r, stop: &stop, random: rand.New(rand.NewPCG(r.Seed, uint64(i)+1))}
		crew[i] = c
		wg.Go(c.run)
	}
	wg.Wait()
	t.Hold(m)
	var o Outcome
	var keys, values []weak.Pointer[Thing]
	for _, c := range crew {
		if c.err != nil && o.Violation == nil {
			o.Violation = failed(c.err)
		}
		o.Transactions += c.txs
		o.Operations += c.ops
		o.Aborted += c.aborted
		keys, values = append(keys, c.keys...), append(values, c.values...)
	}
	if o.Violation == nil {
		o.Violation = checkQuiet(m)
	}
	if o.Violation == nil {
		o.Violation = checkKept(m, keys, values)
	}
	return o
}

// checkKept checks that m, at rest, keeps nothing alive but what is in it: its
// keys, and their values.
func checkKept(m *mvcc.Map[*Thing, *Thing], keys, values []weak.Pointer[Thing]) *Violation {
	n := 0
	_ = m.View(func(s mvcc.Snapshot[*Thing, *Thing]) error {
		n = s.Len()
		return nil
	})
	for end := time.Now().Add(restPatience); ; {
		runtime.GC()
		k, v := alive(keys), alive(values)
		if k <= n && v <= n {
			break
		}
		if time.Now().After(end) {
			return atRest(m.Stats(), "it has %d keys, and keeps alive %d of %d keys and %d of %d values "+
				"that were ever in it", n, k, len(keys), v, len(values))
		}
	}
	runtime.KeepAlive(m)
	return nil
}

func alive(list []weak.Pointer[Thing]) (n int) {
	for _, p := range list {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// churner is one goroutine of the reclaim check. It has keys of its own, and knows
// what they hold.
type churner struct {
	m      *mvcc.Map[*Thing, *Thing]
	r      Round
	stop   *atomic.Bool
	random *rand.Rand

	own  []*Thing          // keys that are in the map
	held map[*Thing]*Thing // their values

	view mvcc.Snapshot[*Thing, *Thing] // open if left is above 0
	left int                           // steps until it is closed

	txs, ops, aborted int
	keys, values      []weak.Pointer[Thing]
	err               error
}

func (c *churner) run() {
	defer func() {
		if p := recover(); p != nil {
			c.fail("panic: %v\n%s", p, debug.Stack())
		}
		if c.left > 0 {
			c.view.Close()
		}
		c.own, c.held, c.view = nil, nil, mvcc.Snapshot[*Thing, *Thing]{}
	}()
	c.held = map[*Thing]*Thing{}
	for n := 0; n < max(c.r.Size/c.r.Workers, 1) && !c.stop.Load() && c.err == nil; n++ {
		c.step()
	}
}

func (c *churner) fresh(list *[]weak.Pointer[Thing]) *Thing {
	t := new(Thing)
	t.self = t
	*list = append(*list, weak.Make(t))
	return t
}

// step writes some keys: it inserts, overwrites or deletes them, one by one or in
// a transaction, and opens and closes snapshots meanwhile.
func (c *churner) step() {
	c.txs++
	r := c.random
	switch {
	case c.left > 1:
		c.left--
	case c.left == 1:
		c.view.Close()
		c.left = 0
	case r.IntN(8) == 0:
		c.view, c.left = c.m.Snapshot(), 1+r.IntN(64)
	}
	writes := map[*Thing]*Thing{} // nil: deleted
	for range 1 + r.IntN(max(c.r.MaxOps, 1)) {
		if len(c.own) < c.r.Keys && r.IntN(2) == 0 {
			k := c.fresh(&c.keys)
			c.own = append(c.own, k)
			writes[k] = c.fresh(&c.values)
			continue
		}
		if len(c.own) == 0 {
			continue
		}
		k := c.own[r.IntN(len(c.own))]
		if _, ok := writes[k]; ok {
			continue
		}
		writes[k] = nil
		if r.IntN(100) >= max(c.r.Delete, 5) {
			writes[k] = c.fresh(&c.values)
		}
	}
	c.ops += len(writes)
	if r.IntN(100) < c.r.OneKey {
		c.direct(writes)
	} else if !c.commit(writes) {
		clear(writes)
	}
	for k, v := range writes {
		if v != nil {
			c.held[k] = v
		} else {
			delete(c.held, k)
		}
	}
	own := c.own[:0]
	for _, k := range c.own {
		if c.held[k] != nil {
			own = append(own, k)
		}
	}
	clear(c.own[len(own):])
	c.own = own
}

// direct writes by one-key operations.
func (c *churner) direct(writes map[*Thing]*Thing) {
	for k, v := range writes {
		if v != nil {
			c.m.Store(k, v)
		} else if got, ok := c.m.LoadAndDelete(k); !ok || got != c.held[k] {
			c.wrong("LoadAndDelete", k, got, ok)
		}
	}
}

// commit writes in a transaction, and reports whether it committed.
func (c *churner) commit(writes map[*Thing]*Thing) bool {
	opts := c.r.level(c.random)
	abandon := c.random.IntN(8) == 0
	tries := 0
	err := c.m.Update(context.Background(), opts, func(tx mvcc.Tx[*Thing, *Thing]) error {
		tries++
		for k, v := range writes {
			if got, ok := tx.Get(k); got != c.held[k] || ok != (got != nil) {
				c.wrong("Get", k, got, ok)
			}
			if v != nil {
				tx.Set(k, v)
			} else {
				tx.Delete(k)
			}
		}
		if abandon {
			return errAbandoned
		}
		return nil
	})
	if err == nil {
		c.aborted += tries - 1
		return true
	}
	c.aborted += tries
	if !abandon {
		// No other goroutine writes these keys: there is nothing to conflict with.
		c.fail("an Update of keys that nobody else writes: %v", err)
	}
	return false
}

var errAbandoned = errors.New("soak: rolled back on purpose")

func (c *churner) wrong(what string, k, got *Thing, ok bool) {
	c.fail("%s: key %p gives %p, %t, which is not what its only writer made of it", what, k, got, ok)
}

func (c *churner) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}
