package mvcc

import (
	"context"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// An engine is the [core] of a [Map] as its methods see it, see txn.
type engine struct{ _ byte }

func hide(c *core) *engine { return (*engine)(unsafe.Pointer(c)) }

func coreAt(e *engine) *core { return (*core)(unsafe.Pointer(e)) }

//go:noinline
func (e *engine) typed() any { return coreAt(e).typed }

//go:noinline
func (e *engine) name() string { return coreAt(e).counters.name }

//go:noinline
func (e *engine) epoch() uint64 { return uint64(coreAt(e).Slots.Now()) }

//go:noinline
func (e *engine) len() int {
	e.use(useRead)
	c := coreAt(e)
	return max(int(c.counters.keys.Value()), 0)
}

//go:noinline
func (e *engine) stats() Stats { return coreAt(e).stats() }

//go:noinline
func (e *engine) close() { coreAt(e).close() }

//go:noinline
func (e *engine) reclaim(ctx context.Context) error { return coreAt(e).reclaim(ctx) }

// use panics for a zero map, and checks the use of a strict one.
//
//go:noinline
func (e *engine) use(u use) {
	if e == nil {
		panic(errZeroMap)
	}
	if c := coreAt(e); c.strict {
		c.beside(u)
	}
}

// strict returns the strict of the map, or nil.
//
//go:noinline
func (e *engine) strict() *strict {
	if c := coreAt(e); c.strict {
		return c.shared.strict
	}
	return nil
}

// order returns the order of the keys, nil if they have none.
//
//go:noinline
func (e *engine) order() *order { return coreAt(e).order }

// within reports whether the key at key is in s: always if the keys have no order.
//
//go:noinline
func (e *engine) within(s *span, key unsafe.Pointer) bool {
	o := coreAt(e).order
	return o == nil || o.Side(s, key) == 0
}

//go:noinline
func (e *engine) checkOrdered(prefix bool) { coreAt(e).checkOrdered(prefix) }

//go:noinline
func (e *engine) newest(v *chain.Node) *chain.Node { return coreAt(e).Newest(v) }

//go:noinline
func (e *engine) write(
	p index.Place, h uint64, head, v *chain.Node, cond condition, touches *bool,
) (base *chain.Node, written bool) {
	return coreAt(e).write(p, h, head, v, cond, touches)
}

//go:noinline
func (e *engine) writeIndexed(v *chain.Node, cond condition) error {
	_, _, err := coreAt(e).writeIndexed(v, cond)
	return err
}

//go:noinline
func (e *engine) clear() { coreAt(e).clearingAll(DBTx.deleteAll) }

//go:noinline
func (e *engine) deleteRange(r span, prefix bool) (deleted int) {
	e.checkOrdered(prefix)
	coreAt(e).clearingAll(func(tx DBTx) { deleted = tx.deleteRange(r, prefix) })
	return deleted
}

//go:noinline
func (e *engine) beginTx(opts *TxOptions) DBTx { return coreAt(e).beginTx(opts) }

//go:noinline
func (e *engine) update(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) error {
	return coreAt(e).update(ctx, opts, fn)
}

//go:noinline
func (e *engine) snapshot(kind uint64) moment { return coreAt(e).snapshotFor(kind) }

//go:noinline
func (e *engine) snapshotAt(at uint64) (moment, error) { return coreAt(e).snapshotAt(at) }

// open opens a snapshot of a map that is not guarded, see core.
//
//go:noinline
func (e *engine) open() moment {
	st, gen := coreAt(e).open(forProgram)
	return moment{&st.own.txn, gen}
}

//go:noinline
func (e *engine) view(fn func(s moment) error) error { return coreAt(e).view(fn) }

//go:noinline
func (e *engine) end(last bool) *chain.Node {
	s := e.snapshot(forCall)
	defer s.Close()
	return s.end(last)
}

// in is [Map.In], inside is in without its checks, and at is [Map.At].
//
//go:noinline
func (e *engine) in(tx DBTx) DBTx {
	tx.check()
	c, of := coreAt(e), stateOf(tx.st).m
	if c != of || c.db != nil { // else tx is given to OnExpire of a map by itself
		c.checkTable("In", of.shared)
	}
	return c.inside(tx)
}

//go:noinline
func (e *engine) inside(tx DBTx) DBTx { return coreAt(e).inside(tx) }

//go:noinline
func (e *engine) at(s DBSnapshot) moment {
	s.check()
	coreAt(e).checkTable("At", stateOf(s.st).m.shared)
	return e.seen(s)
}

//go:noinline
func (e *engine) expire(until func(v *chain.Node) time.Time) { coreAt(e).expire(until) }

//go:noinline
func (e *engine) onExpire(fn func(tx DBTx, v *chain.Node) error) { coreAt(e).setOnExpire(fn) }

// seen returns the table, which may have been closed, as a snapshot of the database sees it.
//
//go:noinline
func (e *engine) seen(s DBSnapshot) moment {
	return moment{&stateOf(s.st).part(coreAt(e)).txn, s.gen}
}

// watch begins a watch of the map, see [Map.Watch]: wants returns the changes of a commit that the
// watch gives. Unless since is zero, diff returns all changes from since to now.
//
//go:noinline
func (e *engine) watch(
	ctx context.Context, since moment, buffer int, wants func(all any) (some any, n int),
	diff func(now moment) (all any),
) func(yield func(DBCommit, error) bool) {
	c, begun := coreAt(e), false
	loop := newSubscription(ctx, &c.shared.hub, buffer, c, func(all DBCommit) (DBCommit, int) {
		only, n := wants(all.of(e))
		return DBCommit{Epoch: all.Epoch, Summary: all.Summary, Expired: all.Expired, only: only}, n
	})
	s := loop.s
	if since.st != nil {
		since.check()
		if partOf(since.st).m != c {
			panic("mvcc: Watch: WatchOptions.Since is a snapshot of another map")
		}
	}
	var now moment
	s.begin(func() { c.fed().own++ }, func(at uint64) {
		if since.st != nil {
			now = c.snapshotAtHub(at)
		}
	})
	defer s.endUnless(&begun)
	if since.st != nil {
		defer now.Close()
		if only, n := wants(diff(now)); n > 0 {
			s.first = []DBCommit{{Epoch: now.Epoch(), Summary: true, only: only}}
		}
	}
	begun = true
	return loop.all
}

// along visits, of the keys of r, the versions that s sees. If tx is set s is a transaction, and
// otherwise a snapshot, seen through its slot. If the keys have no order, along may visit all keys.
//
//go:noinline
func (e *engine) along(c *chunk, s moment, tx bool, r *span, down bool, visit func() bool) {
	ordered := coreAt(e).order != nil
	switch {
	case tx && ordered:
		coreAt(e).inside(DBTx(s)).ranged(c, r, down, visit)
	case tx:
		coreAt(e).inside(DBTx(s)).scanAll(c, visit)
	default:
		e.through(s).ranged(c, r, down, visit)
	}
}

// endOf returns the version of the lowest key that along visits, or of the highest if last is set,
// or nil if there is none.
//
//go:noinline
func (e *engine) endOf(s moment, tx bool, r *span, last bool) *chain.Node {
	if tx {
		return coreAt(e).inside(DBTx(s)).endOf(r, last)
	}
	return e.through(s).endOf(r, last)
}

// plain reports whether k == k for every key.
func (e *engine) plain() bool { return coreAt(e).plain }

// through returns the map as it is seen through the slot of a snapshot.
//
//go:noinline
func (e *engine) through(s moment) moment {
	return moment{&stateOf(s.st).part(coreAt(e)).txn, s.gen}
}
