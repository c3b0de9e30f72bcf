package mvcc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// OnExpire has fn called for each record that [Map.Expire] deletes, in the transaction that
// deletes it. What fn writes through tx is committed together with the deletion, or not at all. So
// the lease goes, and the job is back in its queue, in one step.
//
//	leases.OnExpire(func(tx mvcc.DBTx, job int, l Lease) error {
//		queue.In(tx).Set(job, Job{Attempts: l.Attempts + 1})
//		return nil
//	})
//
// fn finds the record deleted already. If it sets the key again, say with a later time, the record
// stays. If somebody writes the record meanwhile, nothing of fn's is committed, and fn is called
// again if the record that is there then is due. fn may be called again in any case, as a function
// of [Map.Update] may; what should happen once goes to [DBTx.OnCommit]. tx is of level
// serializable. [Map.In] gives the Tx of a map by itself, as it does of a table. fn is not called
// for records that are deleted in another way.
//
// A record stays if fn returns an error, panics or calls runtime.Goexit for it, or if its
// transaction cannot be committed for another reason than a conflict, such as a unique index.
// Nothing that fn has written for it stays. The others go. [Stats.ExpireFailures] counts it.
// [Options.Logger], or [slog.Default] if there is none, is told at level Error. It is tried again
// after a second, and then after twice as long each time, up to a minute. While fn blocks, no
// other record of the table expires, and Reclaim and Close wait, but nobody else does;
// [Options.MaxTxAge] counts.
//
// Call it once, before [Map.Expire], so that no record goes without. It panics if it was called
// before, or fn is nil. Some hundred records are deleted at a time. If one of these fails, or
// conflicts, fn is called for them again, in smaller transactions. fn gives way to others, so
// [Tx.Merge] is better for what many write all the time. A deletion costs what it does without fn,
// and a goroutine for each transaction.
func (m *Map[K, V]) OnExpire(fn func(tx DBTx, key K, value V) error) {
	m.engine()
	if fn == nil {
		panic("mvcc: OnExpire: fn is nil")
	}
	m.at.onExpire(func(tx DBTx, v *chain.Node) error {
		return fn(tx, chain.KeyOf[K](v), chain.ValueOf[K, V](v))
	})
}

// An onExpire is the function of OnExpire.
type onExpire struct {
	call func(tx DBTx, v *chain.Node) error
}

func (m *core) setOnExpire(fn func(tx DBTx, v *chain.Node) error) {
	if s := m.shared.strict; m.strict {
		of := fn
		fn = func(tx DBTx, v *chain.Node) (err error) {
			s.run(scope{what: "the function of OnExpire", beside: "transaction"},
				func() { err = of(tx, v) })
			return err
		}
	}
	if !m.onExpire.CompareAndSwap(nil, &onExpire{fn}) {
		panic("mvcc: OnExpire: it was called before" + mayRunAgain())
	}
}

// A refusal is the error of the function of OnExpire: whatever that wraps, it is no conflict.
type refusal struct {
	err   error
	stack string // if it has panicked
}

func (r *refusal) Error() string { return r.err.Error() }

// deleteCalling is deleteDue, with calls of on.
func (x *expiry) deleteCalling(
	ctx context.Context, keys []unsafe.Pointer, on *onExpire, told *telling,
) (later []noteOf, err error) {
	// In a goroutine: what on ends is that one.
	d := deletion{x: x, keys: keys, on: on, told: told}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.run(ctx)
	}()
	<-done
	switch {
	case !d.asking:
	case d.panics != nil:
		panic(d.panics) // of until, as it does without on
	default:
		runtime.Goexit()
	}
	return d.later, d.err
}

// A deletion is a transaction that deletes what is due, with calls of on.
type deletion struct {
	x    *expiry
	keys []unsafe.Pointer
	on   *onExpire

	gone  uint64
	later []noteOf
	err   error
	// asking says that until was called, and has not returned, or that the engine has found itself
	// broken; panics is with what value.
	asking bool
	panics any
	told   *telling
}

// run runs the transaction, once, and sets later and err.
func (d *deletion) run(ctx context.Context) {
	m, returned := d.x.m, false
	defer func() {
		p := recover()
		d.told.end()
		if _, broken := p.(*invariant.Violation); broken || d.asking {
			d.asking, d.panics = true, p
			return
		}
		switch {
		case p != nil:
			d.err = &refusal{panicked(p), string(debug.Stack())}
		case !returned:
			d.err = &refusal{err: errGoexit}
		}
	}()
	of := m
	if m.db != nil { // on may use the other tables
		of = dbAt(m.db).root
	}
	if d.err = d.rehearse(of); d.err != nil {
		returned = true
		return
	}
	d.err = of.update(ctx, sweepOptions, func(tx DBTx) error {
		if err := d.delete(tx); err != nil || d.gone == 0 {
			return err
		}
		return d.told.begin(tx) // the hub is not locked while on is called
	})
	returned = true
	if d.err == nil {
		m.counters.expired.Add(d.gone)
	}
}

// rehearse calls on as often as a trial has an Update conflict, in transactions that are rolled back.
func (d *deletion) rehearse(of *core) error {
	s := of.shared.strict
	if s == nil || s.trial == nil {
		return nil
	}
	for range s.trial.Conflicts {
		err := of.rehearse(sweepOptions, d.delete)
		if d.later, d.gone = nil, 0; err != nil {
			return err
		}
	}
	return nil
}

// delete deletes what is due, and calls on for each.
func (d *deletion) delete(tx DBTx) error {
	m, now := d.x.m, d.x.wallClock()
	in := m.inside(tx)
	deleted := d.keys[:0:0]
	for _, key := range d.keys {
		if own, merge := in.st.toRead(key); own != nil || merge != nil { // by on, for another one
			d.later = append(d.later, noteOf{now, key})
			continue
		}
		v := in.read(key)
		if !v.There() {
			continue
		}
		d.asking = true
		at, ok := millis(d.x.until(v))
		d.asking = false
		switch {
		case !ok:
			continue
		case at > now:
			d.later = append(d.later, noteOf{at, key})
			continue
		}
		in.write(m.types.tombstone(key))
		if err := d.on.call(tx, v); err != nil {
			return &refusal{err: err}
		}
		deleted = append(deleted, key)
	}
	for _, key := range deleted {
		if own, merge := in.st.toRead(key); merge == nil && !own.There() {
			d.gone++
		} else { // on has set it again: E3
			d.later = append(d.later, noteOf{now, key})
		}
	}
	return nil
}

// inTime says that a record is not overdue any more, if it was.
func (x *expiry) inTime(key unsafe.Pointer) {
	if x.overdue.Load() == 0 {
		return
	}
	hash := x.m.index.Hash.Sum(key)
	x.mu.Lock()
	_, was := x.tries[hash]
	delete(x.tries, hash)
	x.mu.Unlock()
	if was {
		x.overdue.Add(^uint64(0))
	}
}

// Refusals are records that were not deleted, of which the logger is to be told.
type refusals struct {
	list []refused
	more int
}

type refused struct {
	key   any
	err   error
	tries int
}

// toldAtOnce is how many refusals the logger is told of one by one; a record is
// tried again after firstDelay milliseconds, and then after twice as long each time, up to
// longestDelay.
const (
	toldAtOnce   = 10
	firstDelay   = 1000
	longestDelay = 60_000
)

// refused notes that a record is not deleted, and returns when it is looked at again. now is when
// it was found to be due.
func (x *expiry) refused(key unsafe.Pointer, err error, now, soon int64) (later []noteOf) {
	hash := x.m.index.Hash.Sum(key)
	x.mu.Lock()
	if x.tries == nil {
		x.tries = map[uint64]int{}
	}
	x.tries[hash]++
	tries := x.tries[hash]
	if len(x.untold.list) < toldAtOnce {
		x.untold.list = append(x.untold.list, refused{x.m.index.Hash.Boxed(key), err, tries})
	} else {
		x.untold.more++
	}
	x.mu.Unlock()
	if tries == 1 {
		x.overdue.Add(1)
	}
	x.m.counters.unexpired.Add(1)
	at, ok := x.nextLook(key, soon) // must follow: E4
	switch {
	case !ok: // it has gone meanwhile
		x.inTime(key)
		return nil
	case at == soon: // a writer is on top that has not decided: nobody knows yet
	case at <= now:
		at = now + min(int64(firstDelay)<<min(tries-1, 10), longestDelay)
	}
	return []noteOf{{at, key}}
}

// tell tells the logger of refusals, unless it is being told of others, and then of these. It waits
// for that only if there is no background work.
func (x *expiry) tell() {
	if !x.hasUntold() || !x.telling.CompareAndSwap(false, true) {
		return
	}
	say := func() {
		// What is noted after the last look, by somebody who finds that the logger is being told, is
		// told by the look after telling is false.
		for again := true; again; again = x.hasUntold() && x.telling.CompareAndSwap(false, true) {
			x.sayAll()
		}
	}
	if x.m.gc.Go(say) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		say()
	}()
	<-done
}

func (x *expiry) hasUntold() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.untold.list) > 0
}

// sayAll tells the logger until there is nothing more to tell.
func (x *expiry) sayAll() {
	defer x.telling.Store(false) // the logger may end the goroutine
	for x.hasUntold() {
		x.say()
	}
}

// say tells the logger of the refusals that there are.
func (x *expiry) say() {
	x.mu.Lock()
	of := x.untold
	x.untold = refusals{}
	x.mu.Unlock()
	logger, name := x.m.shared.logger, x.m.counters.name
	if logger == nil {
		logger = slog.Default()
	}
	for _, one := range of.list {
		attrs := []slog.Attr{slog.String("table", name), slog.Any("key", one.key),
			slog.Any("error", one.err), slog.Int("tries", one.tries)}
		if r, ok := one.err.(*refusal); ok && r.stack != "" {
			attrs = append(attrs, slog.String("stack", r.stack))
		}
		logger.LogAttrs(background, slog.LevelError,
			"mvcc: a record stays although its time has come: the function of OnExpire has failed", attrs...)
	}
	if of.more > 0 {
		logger.Error(fmt.Sprintf("mvcc: %d more records stay although their time has come", of.more),
			"table", name)
	}
}
