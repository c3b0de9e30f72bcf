package history

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

	"github.com/mvccmap/mvccmap/mvcc"
)

// An op is what will become an Op: list is the end of the list that was read, and is
// written out when all have finished.
type op struct {
	Op
	list *node
}

// A txn is what will become a Tx.
type txn struct {
	Tx
	ops []op
}

// note notes an operation.
func (t *txn) note(kind OpKind, key int, v Version) {
	o := Op{Kind: kind, Key: key, Value: v.Value, Present: v.Present && kind == OpRead}
	t.ops = append(t.ops, op{Op: o})
}

// A dialect says how keys and values of histories of one kind are kept in a map
// with values of type V. The functions note in t what they did.
type dialect[V any] interface {
	// read reads key slot.
	read(w *worker[V], t *txn, from mvcc.Reader[int, V], slot int)
	// readAll scans the map.
	readAll(w *worker[V], t *txn, from mvcc.Reader[int, V])
	// write writes key slot.
	write(w *worker[V], t *txn, to mvcc.Tx[int, V], slot int)
	// oneKey makes a one-key operation on key slot.
	oneKey(w *worker[V], slot int)
}

// A worker is one goroutine.
type worker[V any] struct {
	cfg   *Config
	id    int
	m     *mvcc.Map[int, V]
	d     dialect[V]
	rng   *rand.Rand
	start time.Time
	stamp atomic.Int64
	txs   []txn
	slots []int // to choose from, in random order
	last  int   // the last value written, see value

	held *heldSnapshot[V]
}

// A heldSnapshot stays open while its worker does other things.
type heldSnapshot[V any] struct {
	s    mvcc.Snapshot[int, V]
	t    txn
	left int
}

// run runs cfg on a new map.
func run[V any](
	ctx context.Context, cfg Config, dialect func(cfg *Config) dialect[V],
) (*History, error) {
	m := mvcc.New[int, V](cfg.Options)
	defer m.Close()
	start := time.Now()
	workers := make([]*worker[V], cfg.Workers+1)
	for i := range workers {
		w := &worker[V]{cfg: &cfg, id: i, m: m, d: dialect(&cfg), start: start,
			rng: rand.New(rand.NewPCG(cfg.Seed, uint64(i)))}
		for slot := range cfg.Keys {
			w.slots = append(w.slots, slot)
		}
		workers[i] = w
	}
	errs := make([]error, cfg.Workers)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for i := range cfg.Workers {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
					stop()
				}
			}()
			share := cfg.Txs * (i + 1) / cfg.Workers
			for n := cfg.Txs * i / cfg.Workers; n < share && errs[i] == nil && ctx.Err() == nil; n++ {
				errs[i] = workers[i].step(ctx)
			}
			workers[i].release()
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	workers[cfg.Workers].final()
	h := &History{Kind: cfg.Kind}
	for _, w := range workers {
		w.deliver(h)
	}
	return h, nil
}

// now returns the time, for the end of something.
func (w *worker[V]) now() int64 { return int64(time.Since(w.start)) }

// begin returns the time, for the beginning of something. The store keeps the
// processor from making loads that follow before the clock was read.
func (w *worker[V]) begin() int64 {
	w.stamp.Store(w.now())
	return w.stamp.Load()
}

// open returns a transaction that begins now.
func (w *worker[V]) open(level Level) txn { return txn{Tx: Tx{Level: level, Begin: w.begin()}} }

// percent returns true p times of a hundred.
func (w *worker[V]) percent(p int) bool { return w.rng.IntN(100) < p }

// value returns a value that nobody else writes.
func (w *worker[V]) value() int {
	w.last++
	return w.last*(w.cfg.Workers+1) + w.id
}

// pick returns the slots that a transaction touches, each once. The first ones
// are more popular than the others.
func (w *worker[V]) pick() []int {
	n := 1 + w.rng.IntN(w.cfg.MaxOps)
	for i := range n {
		j := i + w.rng.IntN(len(w.slots)-i)
		w.slots[i], w.slots[j] = w.slots[j], w.slots[i]
	}
	return w.slots[:n]
}

// pause lets others run now and then: with few processors, transactions would
// hardly ever meet. Where an order is searched for, too many must not meet at a time.
func (w *worker[V]) pause() {
	often := 8
	if w.cfg.Kind == KindOneKey {
		often = 64
	}
	if w.rng.IntN(often) == 0 {
		runtime.Gosched()
	}
}

// done notes that t has ended.
func (w *worker[V]) done(t *txn, status Status) {
	t.End, t.Status = w.now(), status
	if len(t.ops) > 0 {
		w.txs = append(w.txs, *t)
	}
}

// step runs one transaction.
func (w *worker[V]) step(ctx context.Context) error {
	if h := w.held; h != nil {
		if h.left--; h.left <= 0 {
			w.release()
		} else if w.percent(30) {
			w.d.read(w, &h.t, h.s, w.rng.IntN(w.cfg.Keys))
		}
	}
	switch n := w.rng.IntN(100); {
	case n < w.cfg.OneKey:
		w.d.oneKey(w, w.rng.IntN(w.cfg.Keys))
		w.pause()
		return nil
	case n < w.cfg.OneKey+w.cfg.ReadOnly:
		w.readOnly()
		return nil
	}
	opts := &mvcc.TxOptions{Isolation: mvcc.LevelSerializable}
	level := LevelSerializable
	if w.percent(w.cfg.Snapshot) {
		opts.Isolation, level = mvcc.LevelSnapshot, LevelSnapshot
	}
	if w.percent(50) {
		return w.update(ctx, opts, level)
	}
	return w.byHand(opts, level)
}

// readOnly runs a view, or opens a snapshot that stays for a while.
func (w *worker[V]) readOnly() {
	t := w.open(LevelSerializable)
	if w.held == nil && w.cfg.Kind != KindOneKey && w.percent(10) {
		s := w.m.Snapshot()
		t.Epoch = s.Epoch()
		w.held = &heldSnapshot[V]{s: s, t: t, left: 1 + w.rng.IntN(50)}
		return
	}
	_ = w.m.View(func(s mvcc.Snapshot[int, V]) error {
		t.Epoch = s.Epoch()
		if w.percent(w.cfg.Scan) {
			w.d.readAll(w, &t, s)
			return nil
		}
		for _, slot := range w.pick() {
			w.pause()
			w.d.read(w, &t, s, slot)
		}
		return nil
	})
	w.done(&t, StatusCommitted)
}

// release ends the snapshot that is held, if there is one, with a last scan.
func (w *worker[V]) release() {
	if h := w.held; h != nil {
		w.d.readAll(w, &h.t, h.s)
		h.s.Close()
		w.done(&h.t, StatusCommitted)
		w.held = nil
	}
}

// final reads everything in the end.
func (w *worker[V]) final() {
	t := w.open(LevelSerializable)
	s := w.m.Snapshot()
	defer s.Close()
	t.Epoch = s.Epoch()
	w.d.readAll(w, &t, s)
	w.done(&t, StatusCommitted)
}

// body is what a transaction that may write does.
func (w *worker[V]) body(t *txn, m mvcc.Tx[int, V]) {
	t.Epoch = m.Epoch()
	if w.percent(w.cfg.Scan) {
		w.d.readAll(w, t, m)
	}
	for _, slot := range w.pick() {
		w.pause()
		if w.percent(w.cfg.Write) {
			w.d.write(w, t, m, slot)
		} else {
			w.d.read(w, t, m, slot)
		}
	}
	w.pause()
}

// rollbacks is how many of a hundred transactions are rolled back on purpose.
const rollbacks = 5

var errRollback = errors.New("rolled back on purpose")

// update runs a transaction by Update. Each attempt is recorded as a transaction
// of its own: only the last one may have committed.
func (w *worker[V]) update(ctx context.Context, opts *mvcc.TxOptions, level Level) error {
	t := w.open(level)
	give := w.percent(rollbacks)
	runs := 0
	err := w.m.Update(ctx, opts, func(m mvcc.Tx[int, V]) error {
		if runs++; runs > 1 {
			// The attempt before this one has ended; this one has begun
			// some time after it, as of when is not known.
			again := txn{Tx: Tx{Level: level, Begin: t.End}}
			w.done(&t, StatusAborted)
			t = again
		}
		w.body(&t, m)
		// Nothing can have begun again before this.
		t.End = w.begin()
		if give {
			return errRollback
		}
		return nil
	})
	switch {
	case err == nil:
		w.done(&t, StatusCommitted)
	case errors.Is(err, errRollback), errors.Is(err, mvcc.ErrConflict), ctx.Err() != nil:
		w.done(&t, StatusAborted)
	default:
		return err
	}
	return nil
}

// byHand runs a transaction by Begin and Commit, once.
func (w *worker[V]) byHand(opts *mvcc.TxOptions, level Level) error {
	t := w.open(level)
	m := w.m.Begin(opts)
	defer m.Rollback()
	w.body(&t, m)
	if w.percent(rollbacks) {
		m.Rollback()
		w.done(&t, StatusAborted)
		return nil
	}
	switch err := m.Commit(); {
	case err == nil:
		w.done(&t, StatusCommitted)
	case errors.Is(err, mvcc.ErrConflict):
		w.done(&t, StatusAborted)
	default:
		return err
	}
	return nil
}

// single notes a one-key operation.
func (w *worker[V]) single(t *txn) { w.done(t, StatusCommitted) }

// deliver adds what the worker has recorded to h.
func (w *worker[V]) deliver(h *History) {
	for _, t := range w.txs {
		t.ID, t.Process = len(h.Txs)+1, w.id
		for _, o := range t.ops {
			o.List = o.list.values()
			t.Ops = append(t.Ops, o.Op)
		}
		h.Txs = append(h.Txs, t.Tx)
	}
}
