package mvcc

import (
	"context"
	"errors"
	"time"
	"unsafe"
	"weak"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

const (
	// sweepBatch is how many notes are taken at once.
	sweepBatch = 256
	// Useless notes are dropped if there are more notes than twice the keys plus crowd.
	crowd = 4096
	// If the clock was set back by more milliseconds than setBack, the wheel is made anew.
	setBack = 1000
	// The ticker may stop if nothing is due within restful, which is in milliseconds. It looks at
	// the clock again after longestRest, since the clock may have been set.
	restful     = 1000
	longestRest = time.Minute
)

// waits reports whether something is due soon. If not, the ticker may stop: a timer wakes it,
// or a writer that notes a key.
func (x *expiry) waits() bool {
	x.awake.Store(0)     // must precede: a writer that notes a key afterwards wakes
	if !x.mu.TryLock() { // another goroutine is at it
		x.awake.Store(1)
		return true
	}
	defer x.mu.Unlock()
	x.gather()
	next, ok := x.wheel.next()
	switch rest := next - x.wallClock(); { // the wheel may stand still yet
	case !ok:
		x.stop()
	case rest <= restful || len(x.wheel.ready) > 0:
		x.awake.Store(1)
		return true
	default:
		x.stop()
		lasting := weak.Make(x)
		x.timer = time.AfterFunc(min(time.Duration(min(rest, 1<<40))*time.Millisecond, longestRest),
			func() {
				if x := lasting.Value(); x != nil {
					x.rouse()
				}
			})
	}
	return false
}

// stop stops the timer. x.mu is held.
func (x *expiry) stop() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

// gather moves the notes from the lists to the wheel. x.mu is held.
func (x *expiry) gather() {
	for i := range x.lists {
		for n := takeAll(&x.lists[i].head); n != nil; n = n.next {
			x.wheel.add(n.at, n.key)
		}
	}
}

// look moves the time on, and reports whether there is something to do. keys is the number of keys
// of the map.
func (x *expiry) look(keys int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gather()
	now := x.wallClock()
	if now < x.wheel.now-setBack {
		for _, one := range x.wheel.reset(now) {
			x.wheel.add(one.at, one.what)
		}
	}
	x.wheel.advance(now)
	return len(x.wheel.ready) > 0 || x.crowded(keys)
}

func (x *expiry) crowded(keys int64) bool { return int64(x.wheel.n) > 2*max(keys, 0)+crowd }

// take returns some notes whose time has come, or all notes if all is set.
func (x *expiry) take(all bool) []noteOf {
	x.mu.Lock()
	defer x.mu.Unlock()
	if all {
		return x.wheel.reset(x.wheel.now)
	}
	return x.wheel.take(sweepBatch)
}

// put adds notes.
func (x *expiry) put(list []noteOf) {
	if len(list) == 0 {
		return
	}
	x.mu.Lock()
	for _, one := range list {
		x.wheel.add(one.at, one.what)
	}
	x.mu.Unlock()
	x.rouse()
}

// soon is a time that comes with the next tick.
func (x *expiry) soon() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wheel.now + 1
}

// expireDue, called at each tick, expires records in a goroutine, unless such a goroutine runs.
func (m *core) expireDue() {
	x := m.expiry()
	if x == nil || x.awake.Load() == 0 || x.sweeping.Swap(true) {
		return
	}
	// look runs in the goroutine as well: the wheel may have a lot to do.
	if !m.gc.Go(func() {
		defer x.sweeping.Store(false)
		_ = m.expireNow(background)
	}) {
		x.sweeping.Store(false)
	}
}

// expireNow deletes the records that are due now. Reclaim and expireDue call it.
func (m *core) expireNow(ctx context.Context) error {
	if x := m.expiry(); x != nil && x.look(m.counters.keys.Value()) {
		return x.sweep(ctx)
	}
	return nil
}

// expires reports whether there is something that will expire.
func (m *core) expires() bool {
	x := m.expiry()
	return x != nil && !m.gc.Manual() && x.waits()
}

func (m *core) endExpiry() {
	if x := m.expiry(); x != nil {
		m.expiryAt.Store(nil)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.stop()
	}
}

// sweep deletes the records that are due, one after the other.
func (x *expiry) sweep(ctx context.Context) error {
	defer x.tell()
	for x.m.expiry() == x {
		x.mu.Lock()
		crowded := x.crowded(x.m.counters.keys.Value())
		x.mu.Unlock()
		if crowded {
			x.thin(ctx)
		}
		if more := x.sweepSome(ctx); !more {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sweepSome looks at some of the notes that are due, and reports whether there may be more. It puts
// back the notes that it did not come to, or must look at again, for the next tick or later.
func (x *expiry) sweepSome(ctx context.Context) (more bool) {
	list, soon := x.take(false), x.soon()
	var again []noteOf
	defer func() { // even if until leaves
		for _, one := range list {
			again = append(again, noteOf{soon, one.what})
		}
		for i := range again {
			again[i].at = max(again[i].at, soon)
		}
		x.put(again)
	}()
	for more = len(list) > 0; len(list) > 0; list = list[1:] {
		at, looks, goOn := x.sweepOne(ctx, list[0].what, soon)
		if !goOn {
			return false
		}
		if looks {
			again = append(again, noteOf{at, list[0].what})
		}
	}
	return more
}

// sweepOne deletes the record at key if its time has come. at says when to look at the key again,
// if again is set. goOn is false if the sweep has to stop: the caller then puts the note back.
func (x *expiry) sweepOne(
	ctx context.Context, key unsafe.Pointer, soon int64,
) (at int64, again, goOn bool) {
	hold := &x.m.shared.expiryHold
	if ctx.Err() != nil || x.m.expiry() != x || !hold.begin() {
		return 0, false, false
	}
	defer hold.end()
	now := x.wallClock()
	if at, again = x.nextLook(key, soon); !again || at > now {
		x.inTime(key)
		return at, again, true
	}
	hooks.At(hooks.Swept)
	d := deletion{x: x, key: key, on: x.m.onExpire.Load()}
	switch err := d.deleteRecord(ctx); {
	case err == nil:
		x.inTime(key)
		return d.lookAt, d.looks, true
	case d.on != nil && ctx.Err() == nil:
		at, again = x.refused(key, err, now, soon)
		return at, again, true
	case errors.Is(err, ErrConflict):
		return soon, true, true
	}
	return 0, false, false
}

// thin drops the notes that are of no use, some at a time.
func (x *expiry) thin(ctx context.Context) {
	list := x.take(true)
	defer func() { x.put(list) }() // the rest, even if until ends the goroutine
	var met hasher.Set
	for len(list) > 0 && ctx.Err() == nil && x.m.expiry() == x {
		n := min(len(list), crowd)
		rest := x.ofUse(list[:n], &met)
		list = list[n:]
		x.put(rest)
	}
}

// A deletion is a transaction that deletes one record, and calls on unless on is nil.
type deletion struct {
	x   *expiry
	key unsafe.Pointer
	on  *onExpire

	gone   bool
	lookAt int64 // when the key is to be looked at again, if looks is set
	looks  bool
	// asking says that until was called, and has not returned, or that the engine has found itself
	// broken; panics is the value of the panic.
	asking bool
	panics any
}

// deleteRecord runs the transaction.
func (d *deletion) deleteRecord(ctx context.Context) (err error) {
	m := d.x.m
	if d.on != nil {
		err = d.calling(ctx)
	} else {
		err = m.update(ctx, forLibrary(DefaultMaxAttempts), d.delete)
	}
	if err == nil && d.gone {
		m.counters.expired.Add(1)
	}
	return err
}

// delete deletes the record, if its time has come, and calls on.
func (d *deletion) delete(tx DBTx) error {
	m, now := d.x.m, d.x.wallClock()
	in := m.inside(tx)
	d.gone, d.looks = false, false
	v := in.read(d.key)
	if !v.There() {
		return nil
	}
	d.asking = true
	at, ok := millis(d.x.until(v))
	d.asking = false
	if !ok || at > now {
		d.lookAt, d.looks = at, ok
		return nil
	}
	in.write(m.types.tombstone(d.key))
	if d.on != nil {
		if err := d.on.call(tx, v); err != nil {
			return &refusal{err: err}
		}
		if own, merge := in.st.toRead(d.key); merge != nil || own.There() { // on has set it again: E3
			d.lookAt, d.looks = now, true
			return nil
		}
	}
	d.gone = true
	stateOf(tx.st).markExpired()
	return nil
}

// markExpired marks all versions of the transaction as those of a commit that deletes expired
// records, so that the watches of any map are told.
func (st *txState) markExpired() {
	for i := range st.writes {
		v := st.writes[i].v
		chain.SetWord(&v.State, chain.Load(&v.State)|chain.ExpiredBit)
	}
}
