package record

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// An op is what will become a history.Op: list is the end of the list that was
// read, and is written out when all have finished.
type op struct {
	kind    history.OpKind
	key     int
	value   int
	present bool
	list    *node
}

// A tx is what will become a history.Tx.
type tx struct {
	level      history.Level
	status     history.Status
	scan       bool
	begin, end int64
	epoch      uint64
	ops        []op
}

// A dialect says how keys and values of histories of one kind are kept in a map
// with values of type V. The functions note in t what they did.
type dialect[V any] interface {
	// read reads key slot.
	read(w *worker[V], t *tx, from mvcc.Reader[int, V], slot int)
	// readAll scans the map.
	readAll(w *worker[V], t *tx, from mvcc.Reader[int, V])
	// write writes key slot.
	write(w *worker[V], t *tx, to mvcc.Tx[int, V], slot int)
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
	txs   []tx
	slots []int // to choose from, in random order
	last  int   // the last value written, see value

	held *heldSnapshot[V]
}

// A heldSnapshot stays open while its worker does other things.
type heldSnapshot[V any] struct {
	s    mvcc.Snapshot[int, V]
	t    tx
	left int
}

// run runs cfg on a new map.
func run[V any](ctx context.Context, cfg Config, dialect func(cfg *Config) dialect[V]) (*history.History, error) {
	m := mvcc.New[int, V](cfg.Options)
	defer m.Close()
	start := time.Now()
	workers := make([]*worker[V], cfg.Workers+1)
	for i := range workers {
		w := &worker[V]{cfg: &cfg, id: i, m: m, d: dialect(&cfg), start: start, rng: rand.New(rand.NewPCG(cfg.Seed, uint64(i)))}
		for slot := range cfg.Keys {
			w.slots = append(w.slots, slot)
		}
		workers[i] = w
	}
	errs := make([]error, cfg.Workers)
	var all sync.WaitGroup
	for i := range cfg.Workers {
		all.Go(func() {
			share := cfg.Txs * (i + 1) / cfg.Workers
			for n := cfg.Txs * i / cfg.Workers; n < share && errs[i] == nil && ctx.Err() == nil; n++ {
				errs[i] = workers[i].step(ctx)
			}
			workers[i].release()
		})
	}
	all.Wait()
	workers[cfg.Workers].final()
	h := &history.History{Kind: cfg.Kind}
	for _, w := range workers {
		w.deliver(h)
	}
	return h, errors.Join(errs...)
}

// now returns the time, for the end of something.
func (w *worker[V]) now() int64 { return int64(time.Since(w.start)) }

// begin returns the time, for the beginning of something. The store keeps the
// processor from making loads that follow before the clock was read.
func (w *worker[V]) begin() int64 {
	w.stamp.Store(w.now())
	return w.stamp.Load()
}

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
// hardly ever meet.
func (w *worker[V]) pause() {
	if w.rng.IntN(8) == 0 {
		runtime.Gosched()
	}
}

// done notes that t has ended.
func (w *worker[V]) done(t *tx, status history.Status) {
	t.end, t.status = w.now(), status
	if len(t.ops) > 0 || t.scan {
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
	level := history.LevelSerializable
	if w.percent(w.cfg.Snapshot) {
		opts.Isolation, level = mvcc.LevelSnapshot, history.LevelSnapshot
	}
	if w.percent(50) {
		return w.update(ctx, opts, level)
	}
	return w.byHand(opts, level)
}

// readOnly runs a view, or opens a snapshot that stays for a while.
func (w *worker[V]) readOnly() {
	t := tx{level: history.LevelSerializable, begin: w.begin()}
	if w.held == nil && w.percent(10) {
		s := w.m.Snapshot()
		t.epoch = s.Epoch()
		w.held = &heldSnapshot[V]{s: s, t: t, left: 1 + w.rng.IntN(50)}
		return
	}
	_ = w.m.View(func(s mvcc.Snapshot[int, V]) error {
		t.epoch = s.Epoch()
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
	w.done(&t, history.StatusCommitted)
}

// release ends the snapshot that is held, if there is one, with a last scan.
func (w *worker[V]) release() {
	if h := w.held; h != nil {
		w.d.readAll(w, &h.t, h.s)
		h.s.Close()
		w.done(&h.t, history.StatusCommitted)
		w.held = nil
	}
}

// final reads everything in the end.
func (w *worker[V]) final() {
	t := tx{level: history.LevelSerializable, begin: w.begin()}
	s := w.m.Snapshot()
	defer s.Close()
	t.epoch = s.Epoch()
	w.d.readAll(w, &t, s)
	w.done(&t, history.StatusCommitted)
}

// body is what a transaction that may write does.
func (w *worker[V]) body(t *tx, m mvcc.Tx[int, V]) {
	t.epoch = m.Epoch()
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
func (w *worker[V]) update(ctx context.Context, opts *mvcc.TxOptions, level history.Level) error {
	t := tx{level: level, begin: w.begin()}
	give := w.percent(rollbacks)
	runs := 0
	err := w.m.Update(ctx, opts, func(m mvcc.Tx[int, V]) error {
		if runs++; runs > 1 {
			// The attempt before this one has ended; this one has begun
			// some time after it, as of when is not known.
			again := tx{level: level, begin: t.end}
			w.done(&t, history.StatusAborted)
			t = again
		}
		w.body(&t, m)
		// Nothing can have begun again before this.
		t.end = w.begin()
		if give {
			return errRollback
		}
		return nil
	})
	switch {
	case err == nil:
		w.done(&t, history.StatusCommitted)
	case errors.Is(err, errRollback), errors.Is(err, mvcc.ErrConflict), ctx.Err() != nil:
		w.done(&t, history.StatusAborted)
	default:
		return err
	}
	return nil
}

// byHand runs a transaction by Begin and Commit, once.
func (w *worker[V]) byHand(opts *mvcc.TxOptions, level history.Level) error {
	t := tx{level: level, begin: w.begin()}
	m := w.m.Begin(opts)
	defer m.Rollback()
	w.body(&t, m)
	if w.percent(rollbacks) {
		m.Rollback()
		w.done(&t, history.StatusAborted)
		return nil
	}
	switch err := m.Commit(); {
	case err == nil:
		w.done(&t, history.StatusCommitted)
	case errors.Is(err, mvcc.ErrConflict):
		w.done(&t, history.StatusAborted)
	default:
		return err
	}
	return nil
}

// single notes a one-key operation that ran since begin.
func (w *worker[V]) single(begin int64, ops ...op) {
	t := tx{level: history.LevelOneKey, begin: begin, ops: ops}
	w.done(&t, history.StatusCommitted)
}

// deliver adds what the worker has recorded to h.
func (w *worker[V]) deliver(h *history.History) {
	for i := range w.txs {
		t := &w.txs[i]
		ops := make([]history.Op, len(t.ops))
		for j, o := range t.ops {
			ops[j] = history.Op{Kind: o.kind, Key: o.key, Value: o.value, Present: o.present, List: o.list.values()}
		}
		h.Txs = append(h.Txs, history.Tx{ID: len(h.Txs) + 1, Process: w.id, Level: t.level, Status: t.status,
			Begin: t.begin, End: t.end, Ops: ops, Scan: t.scan, Epoch: t.epoch})
	}
}
