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

// An op becomes an Op when all workers have finished. list is the end of the list that was
// read, and merge the last call of a merge, which is known at the commit.
type op struct {
	Op
	list  *node
	merge *merged
}

// A merged is the last call of the function of a merge.
type merged struct {
	key  int  // of the list that it has made longer
	none bool // it found no list where it was, and has written nothing
}

// A txn becomes a Tx.
type txn struct {
	Tx
	ops   []op
	state uint64 // the epoch of the state that it has read or left; 0 if it has none, or none known
}

// noteOp notes an operation.
func (t *txn) noteOp(kind OpKind, key int, v Version) {
	o := Op{Kind: kind, Key: key, Value: v.Value, Present: v.Present && kind == OpRead}
	t.ops = append(t.ops, op{Op: o})
}

// noteLie notes that the map has given an answer that no order of transactions explains,
// in a form that every check finds: a read of a value that is never written.
func (t *txn) noteLie(key int) {
	never := &node{key: key, n: 1}
	t.ops = append(t.ops, op{Op: Op{Kind: OpRead, Key: key, Present: true}, list: never})
}

// A dialect says how keys and values of histories of one kind are kept in a space with
// values of type V. The functions note their work in t.
type dialect[V any] interface {
	// read reads key slot.
	read(w *worker[V], t *txn, from readers[V], slot int)
	// readAll scans the map.
	readAll(w *worker[V], t *txn, from readers[V])
	// write writes key slot.
	write(w *worker[V], t *txn, to writers[V], slot int)
	// oneKey makes a one-key operation on key slot.
	oneKey(w *worker[V], slot int)
}

// A worker is one goroutine.
type worker[V any] struct {
	cfg   *Config
	id    int
	m     *space[V]
	d     dialect[V]
	rng   *rand.Rand
	start time.Time
	stamp atomic.Int64
	txs   []txn
	slots []int // to choose from, in random order
	last  int   // the last value written, see value

	held *heldSnapshot[V]
	past *recollection
}

// run runs cfg on a new space.
func run[V any](
	ctx context.Context, cfg Config, m *space[V], dialect func(cfg *Config) dialect[V],
) (*History, error) {
	defer m.close()
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
				errs[i] = workers[i].runOne(ctx)
			}
			workers[i].release()
			if errs[i] == nil {
				errs[i] = workers[i].recall()
			}
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

// elapsed returns the time, for the end of something.
func (w *worker[V]) elapsed() int64 { return int64(time.Since(w.start)) }

// begin returns the time, for the beginning of something. The store keeps the processor from
// executing later loads before the clock was read.
func (w *worker[V]) begin() int64 {
	w.stamp.Store(w.elapsed())
	return w.stamp.Load()
}

// open returns a transaction that begins now.
func (w *worker[V]) open(level Level) txn { return txn{Tx: Tx{Level: level, Begin: w.begin()}} }

// percent returns true p times of a hundred.
func (w *worker[V]) percent(p int) bool { return w.rng.IntN(100) < p }

// value returns a value that is never written otherwise.
func (w *worker[V]) value() int {
	w.last++
	return w.last*(w.cfg.Workers+1) + w.id
}

// pickSlots returns the slots that a transaction touches, each once. The first ones
// are more popular than the others.
func (w *worker[V]) pickSlots() []int {
	n := 1 + w.rng.IntN(w.cfg.MaxOps)
	for i := range n {
		j := i + w.rng.IntN(len(w.slots)-i)
		w.slots[i], w.slots[j] = w.slots[j], w.slots[i]
	}
	return w.slots[:n]
}

// pause lets others run now and then: with few processors, transactions would
// hardly ever meet otherwise. In KindOneKey an order is searched for, so not too many may
// meet at a time.
func (w *worker[V]) pause() {
	often := 8
	if w.cfg.Kind == KindOneKey {
		often = 64
	}
	if w.rng.IntN(often) == 0 {
		runtime.Gosched()
	}
}

// finish notes that t has ended, or keeps it in mind to read its state again.
func (w *worker[V]) finish(t *txn, status Status) {
	t.End, t.Status = w.elapsed(), status
	switch {
	case len(t.ops) == 0:
	case status == StatusCommitted && t.state != 0 && w.past == nil && w.percent(w.cfg.Past):
		w.past = &recollection{t: *t, left: 1 + w.rng.IntN(30)}
	default:
		w.txs = append(w.txs, *t)
	}
}

// runOne runs one transaction.
func (w *worker[V]) runOne(ctx context.Context) error {
	if h := w.held; h != nil {
		if h.left--; h.left <= 0 {
			w.release()
		} else if w.percent(30) {
			w.d.read(w, &h.t, h.s.readers, w.rng.IntN(w.cfg.Keys))
		}
	}
	if p := w.past; p != nil {
		if p.left--; p.left <= 0 {
			if err := w.recall(); err != nil {
				return err
			}
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

// single notes a one-key operation.
func (w *worker[V]) single(t *txn) { w.finish(t, StatusCommitted) }

// deliver adds the records of the worker to h.
func (w *worker[V]) deliver(h *History) {
	for _, t := range w.txs {
		t.ID, t.Process = len(h.Txs)+1, w.id
		for _, o := range t.ops {
			if m := o.merge; m != nil {
				if m.none {
					continue
				}
				o.Key = m.key
			}
			o.List = o.list.values()
			t.Ops = append(t.Ops, o.Op)
		}
		h.Txs = append(h.Txs, t.Tx)
	}
}
