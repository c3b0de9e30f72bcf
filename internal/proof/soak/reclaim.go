package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
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
// compares the results of its ways of reading.
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

// violated returns a violation with the statistics of the map.
func violated(s mvcc.Stats, format string, args ...any) *Violation {
	return &Violation{Summary: fmt.Sprintf(format, args...),
		Detail: fmt.Sprintf("Statistics of the map: %+v", s)}
}

func atRest(s mvcc.Stats, format string, args ...any) *Violation {
	return violated(s, "map at rest: "+format, args...)
}

// A Thing is key and value in the reclaim check, by its address. The garbage
// collector tells whether the map still has it.
type Thing struct {
	_    [32]byte // not to share a block of memory with others
	self *Thing
}

// doReclaim inserts and deletes keys, and then looks at the objects that the map keeps alive.
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

// checkKept checks that m, at rest, keeps nothing alive but its contents: its keys, and
// their values.
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

// churner is one goroutine of the reclaim check. It has keys of its own.
type churner struct {
	m      *mvcc.Map[*Thing, *Thing]
	r      Round
	stop   *atomic.Bool
	random *rand.Rand

	own  []*Thing                      // keys that are in the map
	view mvcc.Snapshot[*Thing, *Thing] // open if left is above 0
	left int                           // steps until it is closed

	txs, ops, aborted int
	keys, values      []weak.Pointer[Thing]
	err               error
}

func (c *churner) run() {
	defer func() {
		if p := recover(); p != nil {
			c.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		c.view.Close()
		c.own, c.view = nil, mvcc.Snapshot[*Thing, *Thing]{}
	}()
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
	if c.left--; c.left == 0 {
		c.view.Close()
	} else if c.left < 0 && r.IntN(8) == 0 {
		c.view, c.left = c.m.Snapshot(), 1+r.IntN(64)
	}
	writes := map[*Thing]*Thing{} // nil: deleted
	for range 1 + r.IntN(max(c.r.MaxOps, 1)) {
		switch {
		case len(c.own) < c.r.Keys && r.IntN(2) == 0:
			writes[c.fresh(&c.keys)] = c.fresh(&c.values)
		case len(c.own) == 0:
		case r.IntN(100) < max(c.r.Delete, 5):
			writes[c.own[r.IntN(len(c.own))]] = nil
		default:
			writes[c.own[r.IntN(len(c.own))]] = c.fresh(&c.values)
		}
	}
	c.ops += len(writes)
	if r.IntN(100) < c.r.OneKey {
		for k, v := range writes {
			if v != nil {
				c.m.Store(k, v)
			} else if _, ok := c.m.LoadAndDelete(k); !ok && c.err == nil {
				c.err = errors.New("LoadAndDelete does not find a key that its only writer has stored")
			}
		}
	} else if !c.commit(writes) {
		return
	}
	for k, v := range writes {
		i := slices.Index(c.own, k)
		switch {
		case v != nil && i < 0:
			c.own = append(c.own, k)
		case v == nil:
			c.own = slices.Delete(c.own, i, i+1)
		}
	}
}

// commit writes in a transaction, and reports whether it committed.
func (c *churner) commit(writes map[*Thing]*Thing) bool {
	abandon := c.random.IntN(8) == 0
	tries := 0
	err := c.m.Update(context.Background(), c.r.level(c.random), func(tx mvcc.Tx[*Thing, *Thing]) error {
		tries++
		for k, v := range writes {
			if tx.Get(k); v != nil {
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
		c.err = fmt.Errorf("an Update of keys that nobody else writes: %w", err)
	}
	return false
}

var errAbandoned = errors.New("soak: rolled back on purpose")
