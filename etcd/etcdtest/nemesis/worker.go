package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/internal/proof/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A worker is a goroutine of a client.
type worker struct {
	*client
	process int
	r       *rand.Rand
	of      *replica // that it has seen last; the next two are of it
	epoch   uint64   // of the last view
	numbers map[int]int
	// Its own records.
	holdings     [kept]holding
	stamps, last int
}

// fresh reports whether a replica is another one than the last time.
func (w *worker) fresh(r *replica) bool {
	other := r != w.of
	w.of = r
	return other
}

// generation says which lists are used at present, in a round that has begun at start: there are others
// each second, so that they do not get long.
func generation(start int64) int { return int(time.Duration(now()-start) / time.Second) }

// append runs a transaction over the lists, or a view.
func (w *worker) append() {
	r := w.replica()
	first := lists * generation(w.Start)
	reads, writes := map[int]bool{}, map[int]int{}
	for range 1 + w.r.IntN(3) {
		key := first + w.r.IntN(lists)
		if w.r.IntN(2) == 0 {
			reads[key] = true
		} else {
			writes[key] = w.process*10_000_000 + int(w.values.Add(1))
		}
	}
	t := history.Tx{Process: w.process, Level: history.LevelSerializable, Status: history.StatusCommitted}
	switch how := w.r.IntN(10); {
	case how < 2 || len(writes) == 0:
		w.view(r, t, first, how > 0)
	case how < 4:
		w.merge(r, t, writes)
	default:
		w.change(r, t, first, reads, writes, how)
	}
	time.Sleep(time.Duration(w.r.IntN(3)) * time.Millisecond)
}

func read(key int, list []int) history.Op {
	if list == nil {
		list = []int{}
	}
	return history.Op{Kind: history.OpRead, Key: key, List: list}
}

// view reads all lists of a generation, of the newest revision there is or of the one that is here:
// that has a moment, too, though it may be long ago.
func (w *worker) view(r *replica, t history.Tx, first int, fresh bool) {
	if fresh {
		t.Begin = now()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := r.Sync(ctx); err != nil {
			time.Sleep(10 * time.Millisecond)
			return
		}
	}
	_ = r.View(func(s mvcc.DBSnapshot) error {
		t.Epoch = s.Epoch()
		for key := first; key < first+lists; key++ {
			list, _ := r.lists.At(s).Get(key)
			t.Ops = append(t.Ops, read(key, list))
		}
		return nil
	})
	t.End = now()
	w.tell(line{End: &t})
}

// merge appends without reading.
func (w *worker) merge(r *replica, t history.Tx, writes map[int]int) {
	t.Begin = now()
	for _, key := range sorted(writes) {
		t.Ops = append(t.Ops, history.Op{Kind: history.OpMerge, Key: key, Value: writes[key]})
	}
	w.tell(line{Begin: &t})
	w.ended(t, w.update(r, func(tx mvcc.DBTx) error {
		for key, value := range writes {
			r.lists.In(tx).Merge(key, func(old []int, _ bool) []int { return append(slices.Clone(old), value) })
		}
		return nil
	}))
}

// change reads some lists, one by one, by a range, or all, and appends to others.
func (w *worker) change(r *replica, t history.Tx, first int, reads map[int]bool, writes map[int]int, how int) {
	t.Begin = now()
	planned := t
	for _, key := range sorted(writes) {
		planned.Ops = append(planned.Ops, history.Op{Kind: history.OpAppend, Key: key, Value: writes[key]})
	}
	w.tell(line{Begin: &planned})
	var ops []history.Op
	end := w.update(r, func(tx mvcc.DBTx) error {
		ops = nil
		in := r.lists.In(tx)
		seen := map[int][]int{}
		for key := range writes {
			seen[key], _ = in.Get(key)
		}
		switch {
		case how == 4: // all of a generation, those that are absent, too
			for key := first; key < first+lists; key++ {
				ops = append(ops, read(key, nil))
			}
			for key, list := range in.Ascend(mvcc.From(first).Before(first + lists)) {
				ops[key-first].List = list
			}
		case how == 5:
			for key, list := range in.All() {
				if key >= first && key < first+lists {
					ops = append(ops, read(key, list))
				}
			}
		default:
			for _, key := range sorted(reads) {
				list, _ := in.Get(key)
				ops = append(ops, read(key, list))
			}
		}
		for _, key := range sorted(writes) {
			ops = append(ops, read(key, seen[key]),
				history.Op{Kind: history.OpAppend, Key: key, Value: writes[key]})
			in.Set(key, append(slices.Clone(seen[key]), writes[key]))
		}
		return nil
	})
	t.Ops = ops
	if end != committed {
		t.Ops = planned.Ops // its reads count for nothing
	}
	w.ended(t, end)
}

func (w *worker) ended(t history.Tx, end ending) {
	t.End = now()
	if end == refused {
		t.Status = history.StatusAborted
	}
	w.tell(line{End: &t, Unknown: end == unknown})
}

func sorted[V any](m map[int]V) (keys []int) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// look checks a view, and that it does not wait.
func (w *worker) look() {
	r := w.replica()
	if w.fresh(r) {
		w.epoch = 0
		clear(w.numbers)
	}
	began := time.Now()
	err := r.View(func(s mvcc.DBSnapshot) error {
		if s.Epoch() < w.epoch {
			return fmt.Errorf("a view of revision %d, after one of %d", s.Epoch(), w.epoch)
		}
		w.epoch = s.Epoch()
		for key, n := range r.stamps.At(s).All() {
			before := w.numbers[key]
			if w.numbers[key] = n; n < before {
				return fmt.Errorf("at revision %d stamp %d goes back from %d to %d", s.Epoch(), key, before, n)
			}
		}
		return r.check(s)
	})
	took := time.Since(began)
	if err != nil {
		w.tell(line{Wrong: err.Error()})
	}
	if took > time.Duration(w.longest.Load()) {
		w.longest.Store(int64(took)) // this worker is the only one that does
	}
	time.Sleep(time.Millisecond)
}
