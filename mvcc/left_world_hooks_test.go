//go:build mvcccheck

package mvcc

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/goid"
	"github.com/mvccmap/mvccmap/internal/index"
)

// errAgain is what a second function panics with.
var errAgain = errors.New("again")

// A leaving is a database that some actors use at once, one at a time. Call n of the functions
// of one kind leaves, whoever makes it; and then, in the same goroutine, a later call of any kind.
//
// Each writer has a bit, and adds it to key 0 of the tables that it writes: one with functions for
// its order and indexes, one by interfaces, and one whose records expire.
type leaving struct {
	kind   string
	n      int
	again  int // which call after that leaves as well, or 0
	exits  [2]func()
	sprung int
	who    goid.ID
	what   [2]string

	db    *DB
	a, c  *Map[int, int]
	b     *Map[any, int]
	tags  *Index[int, int, int]
	told  map[int]int // how often OnCommit was called, by writer
	ended map[int]bool
	wrong []string
	// deferred is the goroutine that reads in a deferred function of its own.
	deferred goid.ID
}

func (w *leaving) call(kind string) {
	switch {
	case w.sprung == 0 && w.kind == kind && w.n > 0:
		if w.n--; w.n > 0 {
			return
		}
		w.who = goid.Get()
	case w.sprung == 1 && w.again > 0 && w.who == goid.Get():
		if w.again--; w.again > 0 {
			return
		}
	default:
		return
	}
	if w.deferred == goid.Get() {
		kind = "deferred"
	}
	w.what[w.sprung] = kind
	w.sprung++
	w.exits[w.sprung-1]()
}

func newLeaving(t *testing.T, workers int) *leaving {
	w := &leaving{told: map[int]int{}, ended: map[int]bool{}}
	w.db = NewDB(&Options{ManualReclaim: workers == 0, ReclaimWorkers: workers, PruneThreshold: 2,
		ReclaimInterval: time.Hour, ReclaimQueue: 64})
	compare := func(a, b int) int { w.call("compare"); return cmp.Compare(a, b) }
	w.a = NewOrderedTableFunc[int, int](w.db, "a", compare, nil)
	w.b = NewTable[any, int](w.db, "b", nil)
	w.c = NewOrderedTableFunc[int, int](w.db, "c", compare, nil)
	w.tags = w.newIndex("tags")
	for _, x := range []*index.Index{w.a.index, w.c.index} {
		visit := x.Visit
		x.Visit = func(b *index.Bucket) { visit(b); w.call("visit") } // as if it compared keys
	}
	born := time.Now()
	w.c.Expire(func(_, v int) time.Time {
		w.call("until")
		return born.Add(1000*time.Hour - time.Duration(v)*time.Minute)
	})
	require.NoError(t, w.db.Update(bg, nil, func(tx DBTx) error {
		for i := range 10 {
			w.a.In(tx).Set(i, 0)
			w.b.In(tx).Set(i, 0)
			w.c.In(tx).Set(i, 0)
		}
		return nil
	}))
	return w
}

func (w *leaving) newIndex(name string) *Index[int, int, int] {
	ix, err := NewOrderedIndexFunc(w.a, name,
		func(a, b int) int { w.call("compare index"); return cmp.Compare(a, b) },
		func(_, v int) []int { w.call("keys"); return []int{v % 4, v} }, nil)
	if err != nil {
		panic(err)
	}
	return ix
}

func (w *leaving) merge(bit int) func(int, bool) int {
	return func(old int, _ bool) int { w.call("merge"); return old | bit }
}

// write is what a transaction with a bit does.
func (w *leaving) write(tx DBTx, i int) {
	a, b, c, bit := w.a.In(tx), w.b.In(tx), w.c.In(tx), 1<<i
	n, _ := a.Get(0)
	a.Set(0, n|bit)
	a.Set(100+i, bit)
	a.Delete(1 + i)
	b.Merge(0, w.merge(bit))
	b.Set(100+i, bit)
	n, _ = c.Get(0)
	c.Set(0, n|bit)
	c.Set(100+i, bit)
	tx.OnCommit(func(uint64) { w.told[i]++; w.call("OnCommit") })
	tx.OnCommit(func(uint64) { // which uses the database
		w.told[i]++
		w.b.Compute(50, func(old int, _ bool) (int, ComputeOp) {
			w.call("fn")
			return old + 1, UpdateOp
		})
		_ = w.c.Update(bg, nil, func(tx Tx[int, int]) error { tx.Merge(50, w.merge(bit)); return nil })
		w.call("OnCommit")
	})
	w.call("fn")
}

// leavers are what actors do. Those of writers return whether they have written.
var leavers = map[string]func(w *leaving, i int) bool{
	"Update": func(w *leaving, i int) bool {
		return w.db.Update(bg, nil, func(tx DBTx) error { w.write(tx, i); return nil }) == nil
	},
	"Update, snapshot level": func(w *leaving, i int) bool {
		return w.db.Update(bg, snapshot, func(tx DBTx) error { w.write(tx, i); return nil }) == nil
	},
	"Commit": func(w *leaving, i int) bool {
		tx := w.db.Begin(nil)
		defer tx.Rollback()
		w.write(tx, i)
		for range w.a.In(tx).Ascend(Range[int]{}) {
		}
		return tx.Commit() == nil
	},
	"Savepoint": func(w *leaving, i int) bool {
		return w.db.Update(bg, nil, func(tx DBTx) error {
			_ = tx.Savepoint(func() error { w.write(tx, 20+i); return errTrip })
			defer func() { // even if that leaves
				w.deferred = goid.Get()
				w.a.In(tx).Get(5) // which compares
				w.call("deferred")
				w.deferred = 0
			}()
			return tx.Savepoint(func() error { w.write(tx, i); return nil })
		}) == nil
	},
}

// others are the ones that write no bit, and what they see must be whole.
var others = map[string]func(w *leaving){
	"View": func(w *leaving) {
		_ = w.db.View(func(s DBSnapshot) error {
			for range 2 {
				w.whole(w.a.At(s).Get, w.b.At(s).Get, w.c.At(s).Get)
				for range w.c.At(s).Ascend(Range[int]{}) {
				}
			}
			w.call("fn")
			return nil
		})
	},
	"transaction": func(w *leaving) {
		_ = w.db.Update(bg, &TxOptions{MaxAttempts: 3}, func(tx DBTx) error {
			w.whole(w.a.In(tx).Get, w.b.In(tx).Get, w.c.In(tx).Get)
			for range w.tags.Get(w.a.In(tx), 1) {
			}
			w.c.In(tx).Get(7)
			_ = tx.Savepoint(func() error { w.c.In(tx).Get(8); return nil })
			w.c.In(tx).Set(60, 1)
			return tx.Err()
		})
	},
	"Store":   func(w *leaving) { w.c.Store(7, 7); w.c.Store(8, 8); w.c.Swap(7, 90); w.c.Delete(8) },
	"records": func(w *leaving) { w.a.Store(7, 7); w.a.Delete(8); w.a.LoadOrStore(71, 1) },
	"Reclaim": func(w *leaving) { _ = w.db.Reclaim(bg) },
	"NewIndex": func(w *leaving) {
		ix := w.newIndex("more")
		defer ix.Drop()
		_ = w.db.View(func(s DBSnapshot) error { w.indexed(ix, w.a.At(s)); return nil })
	},
}

// whole checks that of each writer all is seen, or nothing.
func (w *leaving) whole(
	a func(int) (int, bool), b func(any) (int, bool), c func(int) (int, bool),
) (bits int) {
	bits, _ = a(0)
	inB, _ := b(0)
	inC, _ := c(0)
	for i := range 3 {
		_, kept := a(1 + i)
		_, inA := a(100 + i)
		_, alsoB := b(100 + i)
		_, alsoC := c(100 + i)
		if has := bits>>i&1 == 1; inB != bits || inC != bits || inA != has || alsoB != has ||
			alsoC != has || kept == has {
			w.wrong = append(w.wrong, fmt.Sprint("torn: ", bits, inB, inC, inA, alsoB, alsoC, kept))
		}
	}
	return bits
}

// indexed checks that an index agrees with its table.
func (w *leaving) indexed(ix *Index[int, int, int], r Reader[int, int]) {
	var want, got []string
	for k, v := range r.All() {
		for _, i := range slices.Compact([]int{v % 4, v}) {
			want = append(want, fmt.Sprint(i, k))
		}
	}
	for i := range 100 {
		for k := range ix.Get(r, i) {
			got = append(got, fmt.Sprint(i, k))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		w.wrong = append(w.wrong, fmt.Sprint("index: ", want, got))
	}
}

// check checks what must be true when all have ended.
func (w *leaving) check(t *testing.T, where string) {
	require.Empty(t, w.wrong, where)
	require.Zero(t, w.db.Stats().LiveTx, where)
	bits := w.whole(w.a.Load, w.b.Load, w.c.Load)
	for i := range 3 {
		if ended, there := w.ended[i]; there {
			require.Equal(t, bits>>i&1 == 1, ended, where)
		}
		require.Equal(t, 2*(bits>>i&1), w.told[i], where)
		require.Zero(t, w.told[20+i], where)
	}
	require.Len(t, contents(t, w.a), w.a.Len(), where)
	require.Len(t, contents(t, w.b), w.b.Len(), where)
	require.Len(t, contents(t, w.c), w.c.Len(), where)
	w.indexed(w.tags, w.a)
	require.NoError(t, w.db.Update(bg, &TxOptions{MaxAttempts: 1}, func(tx DBTx) error {
		for i := range 130 {
			w.a.In(tx).Set(i, 1)
			w.b.In(tx).Set(i, 1)
			w.c.In(tx).Set(i, 1)
		}
		return nil
	}), where)
	require.Equal(t, [3]int{130, 130, 130}, [3]int{w.a.Len(), w.b.Len(), w.c.Len()}, where)
	w.indexed(w.tags, w.a)
	require.NoError(t, w.db.Reclaim(bg))
	checkQuiet(t, w.a)
	checkQuiet(t, w.b)
	checkQuiet(t, w.c)
	require.Empty(t, w.wrong, where)
}

// pick returns one of the names.
func pick[F any](r *rand.Rand, from map[string]F) string {
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[r.IntN(len(names))]
}
