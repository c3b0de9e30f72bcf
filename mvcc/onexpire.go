package mvcc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/debug/invariant"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// OnExpire has fn called for each record that [Map.Expire] deletes, in the transaction that deletes
// it: the writes of fn through tx are committed with the deletion, or not at all.
//
// The transaction is that of an Update of level serializable, for one record. fn finds the record
// deleted; if it sets the key again, the record stays. It may be called again, as a function of
// [Map.Update] may. [Map.In] gives the Tx of a map by itself, too.
//
// A record stays if fn returns an error, panics or calls runtime.Goexit for it, or if its
// transaction cannot be committed: because of a unique index, or a hundred conflicts.
// [Stats.ExpireFailures] counts it, and Options.Logger, or slog.Default, is told at level Error.
// Retries come after a second, then after twice as long each time, up to a minute. While fn blocks,
// no other record of the table expires, and Reclaim and Close wait; Options.MaxTxAge counts.
//
// Call it once, before [Map.Expire]; a second call panics. A deletion costs a goroutine more.
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

// A refusal is the failure of a function of OnExpire. It is no conflict, whatever error it wraps.
type refusal struct {
	err   error
	stack string // if it has panicked
}

func (r *refusal) Error() string { return r.err.Error() }

// calling runs the transaction of the deletion, with the function of OnExpire, in a new goroutine,
// since the function may end its goroutine.
func (d *deletion) calling(ctx context.Context) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = seam.ErrGoexit
		defer d.left(&err)
		d.x.m.gc.Within(func() { err = d.run(ctx) })
	}()
	<-done
	switch {
	case !d.asking:
	case d.panics != nil:
		panic(d.panics) // of until, as it does without on
	default:
		runtime.Goexit()
	}
	return err
}

// left is deferred by run's goroutine: it turns a panic that has ended run into its error.
func (d *deletion) left(err *error) {
	p := recover()
	if _, broken := p.(*invariant.Violation); broken || d.asking {
		d.asking, d.panics = true, p
	} else if p != nil {
		*err = &refusal{seam.Panicked(p), string(debug.Stack())}
	}
}

// run runs the transaction of the deletion. In a trial it first runs the transaction and rolls it
// back, as often as the trial makes an Update conflict.
func (d *deletion) run(ctx context.Context) error {
	of := d.x.m
	if of.db != nil { // on may use the other tables
		of = dbAt(of.db).root
	}
	opts := &TxOptions{Isolation: LevelSerializable, own: true} // not spared: on may take its time
	if s := of.shared.strict; s != nil && s.trial != nil {
		for range s.trial.Conflicts {
			if err := of.rehearse(opts, d.delete); err != nil {
				return err
			}
		}
	}
	return of.update(ctx, opts, d.delete)
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

// refused notes that the record at key was not deleted. With ok, it returns when to look at key
// again. now is when the record was found to be due.
func (x *expiry) refused(key unsafe.Pointer, err error, now, soon int64) (at int64, ok bool) {
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
	at, ok = x.nextLook(key, soon) // must follow: E4
	switch {
	case !ok: // it has gone meanwhile
		x.inTime(key)
	case at == soon: // a writer is on top that has not decided: nobody knows yet
	case at <= now:
		at = now + min(int64(firstDelay)<<min(tries-1, 10), longestDelay)
	}
	return at, ok
}

// tell has the logger told of refusals, by the goroutine that is telling it already or by a new
// one. tell waits for a new goroutine only if there is no background work.
func (x *expiry) tell() {
	if !x.hasUntold() || !x.telling.CompareAndSwap(false, true) {
		return
	}
	say := func() {
		// Somebody may note a refusal after the last look of sayAll, and find telling true. The
		// look here, after telling is false, finds that refusal.
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
