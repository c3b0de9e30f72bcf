package mvcc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// errTrip is the panic of a function of the user when the trap goes off.
var errTrip = errors.New("trip")

// A trap makes the n-th call of the functions of one kind leave, by a panic or by Goexit.
type trap struct {
	kind   string
	n      int
	exit   func()
	sprung bool
}

func (t *trap) call(kind string) {
	if t.kind != kind || t.n == 0 {
		return
	}
	if t.n--; t.n == 0 {
		t.sprung = true
		t.exit()
	}
}

// A trapped is a database whose functions step on a trap: an ordered table with indexes, another
// one by interfaces, and one whose records expire.
type trapped struct {
	trap
	db   *DB
	a    *Map[int, int]
	b    *Map[any, int]
	c    *Map[int, int]
	tags *Index[int, int, int]
	told []int
}

func newTrapped(t *testing.T) *trapped {
	f := &trapped{}
	f.db = NewDB(&Options{ManualReclaim: true})
	t.Cleanup(f.db.Close)
	compare := func(a, b int) int { f.call("compare"); return cmp.Compare(a, b) }
	f.a = NewOrderedTableFunc[int, int](f.db, "a", compare, nil)
	f.b = NewTable[any, int](f.db, "b", nil)
	f.c = NewOrderedTable[int, int](f.db, "c", nil)
	var err error
	f.tags, err = NewOrderedIndexFunc(f.a, "tags",
		func(a, b int) int { f.call("compare index"); return cmp.Compare(a, b) },
		func(_, v int) []int { f.call("keys"); return []int{v % 10, v % 7} }, nil)
	require.NoError(t, err)
	_, err = NewIndex(f.a, "own", func(k, _ int) []int { f.call("keys"); return []int{k} },
		&IndexOptions{Unique: true})
	require.NoError(t, err)
	born := time.Now()
	f.c.Expire(func(_, v int) time.Time {
		f.call("until")
		return born.Add(time.Duration(v) * time.Hour)
	})
	f.reset(t)
	return f
}

// reset makes the tables as they are at the begin of each case.
func (f *trapped) reset(t *testing.T) {
	f.trap, f.told = trap{}, nil
	require.NoError(t, f.db.Update(bg, nil, func(tx DBTx) error {
		for key := range maps.Collect(f.a.In(tx).All()) {
			f.a.In(tx).Delete(key)
		}
		for key := range maps.Collect(f.b.In(tx).All()) {
			f.b.In(tx).Delete(key)
		}
		for key := range maps.Collect(f.c.In(tx).All()) {
			f.c.In(tx).Delete(key)
		}
		for i := range 6 {
			f.a.In(tx).Set(10*i, i)
			f.b.In(tx).Set(fmt.Sprint(i), i)
			f.c.In(tx).Set(i, 5)
		}
		return nil
	}))
	require.NoError(t, f.db.Reclaim(bg))
}

// A picture is all that is in the database.
type picture struct {
	a, c map[int]int
	b    map[any]int
}

// look returns it, and checks that ranges, indexes and Len agree.
func (f *trapped) look(t *testing.T) picture {
	p := picture{a: contents(t, f.a), b: contents(t, f.b), c: contents(t, f.c)}
	keys := slices.Sorted(maps.Keys(p.a))
	require.Equal(t, keys, slices.AppendSeq([]int(nil), seqKeys(f.a.Ascend(Range[int]{}))))
	want := map[[2]int]bool{}
	for k, v := range p.a {
		want[[2]int{v % 10, k}], want[[2]int{v % 7, k}] = true, true
	}
	got := map[[2]int]bool{}
	for i := range 10 {
		for k := range f.tags.Get(f.a, i) {
			got[[2]int{i, k}] = true
		}
	}
	require.Equal(t, want, got, "the index has what the table has")
	require.Equal(t, [3]int{len(p.a), len(p.b), len(p.c)}, [3]int{f.a.Len(), f.b.Len(), f.c.Len()})
	return p
}

func seqKeys[K, V any](seq func(yield func(K, V) bool)) func(yield func(K) bool) {
	return func(yield func(K) bool) { seq(func(k K, _ V) bool { return yield(k) }) }
}

// A trappedDecoder decodes records of a, and steps on the trap.
type trappedDecoder struct {
	f *trapped
	n int
}

func (d *trappedDecoder) Decode(v any) error {
	d.f.call("codec")
	d.n++
	*v.(*seam.Saved[int, int]) = seam.Saved[int, int]{K: d.n, V: d.n}
	return nil
}

func (f *trapped) merge(old int, _ bool) int { f.call("merge"); return old + 100 }

func (f *trapped) tell(i int) func(uint64) {
	return func(uint64) { f.told = append(f.told, i); f.call("OnCommit") }
}

// work is the function of the test's transactions.
func (f *trapped) work(tx DBTx) error {
	a, b, c := f.a.In(tx), f.b.In(tx), f.c.In(tx)
	n := 0
	for range a.Ascend(From(5).Before(35)) {
		n++
	}
	a.Set(20, 12)
	a.Set(21, 13)
	a.Delete(40)
	a.Set(1, 14)
	for range a.Descend(Range[int]{}) {
		n++
	}
	b.Set("new", n)
	b.Delete("3")
	b.Merge("1", f.merge)
	b.Merge("2", f.merge)
	b.Merge("none", f.merge)
	c.Set(1, 3)
	c.Set(9, 4)
	_, _ = c.Get(2)
	for i := range 3 {
		tx.OnCommit(f.tell(i))
	}
	f.call("fn")
	return nil
}

// trappedCalls are the calls in which functions of the user run.
var trappedCalls = map[string]func(f *trapped){
	"DB.Update": func(f *trapped) { _ = f.db.Update(bg, nil, f.work) },
	"DB.Update, snapshot level": func(f *trapped) {
		_ = f.db.Update(bg, &TxOptions{Isolation: LevelSnapshot}, f.work)
	},
	"Begin": func(f *trapped) {
		tx := f.db.Begin(nil)
		defer tx.Rollback()
		_ = f.work(tx)
		_ = tx.Commit()
	},
	"Commit alone": func(f *trapped) { // with nothing that is deferred
		tx := f.db.Begin(nil)
		kind := f.kind
		f.kind = ""
		_ = f.work(tx)
		f.kind = kind
		_ = tx.Commit()
	},
	"Commit with an alarm": func(f *trapped) {
		tx := f.db.Begin(nil)
		defer tx.Rollback()
		_ = f.work(tx)
		stateOf(tx.st).rare().revoked = maxRevocations // as if readers had pushed it
		_ = tx.Commit()
	},
	"Update": func(f *trapped) {
		_ = f.b.Update(bg, nil, func(tx Tx[any, int]) error {
			tx.Get("1")
			tx.Merge("1", f.merge)
			tx.OnCommit(f.tell(0))
			tx.OnCommit(f.tell(1))
			return nil
		})
	},
	"Update, of one merge": func(f *trapped) {
		_ = f.b.Update(bg, nil, func(tx Tx[any, int]) error { tx.Merge("none", f.merge); return nil })
	},
	"Update, of one record that expires": func(f *trapped) {
		_ = f.c.Update(bg, nil, func(tx Tx[int, int]) error {
			tx.Get(1)
			tx.Set(1, 7)
			return nil
		})
	},
	"Savepoint": func(f *trapped) {
		_ = f.db.Update(bg, nil, func(tx DBTx) error {
			return tx.Savepoint(func() error { return f.work(tx) })
		})
	},
	"Store":         func(f *trapped) { f.a.Store(7, 7) },
	"Store, same":   func(f *trapped) { f.a.Store(20, 2) },
	"Store, expire": func(f *trapped) { f.c.Store(7, 7) },
	"Swap, expire":  func(f *trapped) { f.c.Swap(1, 7) },
	"Delete":        func(f *trapped) { f.a.Delete(20) },
	"LoadOrStore":   func(f *trapped) { f.a.LoadOrStore(8, 8) },
	"CompareAndSwap": func(f *trapped) {
		CompareAndSwap(f.a, 20, 2, 3)
	},
	"Compute": func(f *trapped) {
		f.a.Compute(9, func(old int, _ bool) (int, ComputeOp) { f.call("fn"); return 5, UpdateOp })
	},
	"Compute, deletes": func(f *trapped) {
		f.c.Compute(1, func(int, bool) (int, ComputeOp) { f.call("fn"); return 0, DeleteOp })
	},
	"LoadOrCompute": func(f *trapped) {
		f.a.LoadOrCompute(9, func() (int, bool) { f.call("fn"); return 5, false })
	},
	"DeleteFunc": func(f *trapped) {
		f.b.DeleteFunc(func(key any, _ int) bool { f.call("fn"); return key == "4" })
	},
	"Clear": func(f *trapped) { f.a.Clear() },
	"Load": func(f *trapped) {
		records, from := seamOf(coreOf(f.a)).Loader(), &trappedDecoder{f, 0}
		records.Renew()
		for range 3 {
			_ = records.Add(from, true)
		}
		_, _, _ = door{f.db}.Load(bg, func(tx DBTx) { records.Apply(tx, 0, -1) })
	},
	"Save": func(f *trapped) {
		s := door{f.db}.SparedSnapshot()
		defer s.Close()
		for _, table := range (door{f.db}).Tables(s) {
			door{f.db}.Scan(table, s, DBSnapshot{}, func(*seam.Version, bool) bool {
				f.call("codec")
				return true
			})
		}
	},
	"NewIndex": func(f *trapped) {
		ix, err := NewOrderedIndexFunc(f.a, "more",
			func(a, b int) int { f.call("compare index"); return cmp.Compare(a, b) },
			func(_, v int) []int { f.call("keys"); return []int{v} }, nil)
		if err == nil {
			ix.drop()
		}
	},
}

var trappedKinds = []string{"fn", "compare", "compare index", "keys", "merge", "until", "OnCommit",
	"codec"}

// Whichever function of the user leaves, in whichever call of it: its panic or Goexit goes on,
// nobody is in the way of others, and commits are seen whole or not at all, later ones too.
func TestCalled(t *testing.T) {
	sprang := map[string]bool{} // the kinds of which some function has left
	f := newTrapped(t)
	f.testCalls(t, sprang)
	f.db.Close() // committers prune the keys that they write from now on
	f.testCalls(t, sprang)
	for _, kind := range trappedKinds {
		require.True(t, sprang[kind], kind)
	}
}

func (f *trapped) testCalls(t *testing.T, sprang map[string]bool) {
	owned := coreOf(f.a).Slots.Owned()
	stride := 1 // each call, or in short some of them, other ones in each run
	if testing.Short() {
		stride = 3 + rand.IntN(5)
	}
	if stage.Race { // one goroutine does almost everything
		stride *= 10
	}
	for name, call := range trappedCalls {
		f.reset(t)
		before := f.look(t)
		call(f)
		after, told := f.look(t), f.told
		for _, kind := range trappedKinds {
			for _, how := range []string{"panic", "Goexit"} {
				exit := runtime.Goexit
				if how == "panic" {
					exit = func() { panic(errTrip) }
				}
				for n := 1; ; n += stride {
					f.reset(t)
					f.trap = trap{kind: kind, n: n, exit: exit}
					returned, panicked := run(func() { call(f) })
					sprung := f.sprung
					f.trap = trap{}
					sprang[kind] = sprang[kind] || sprung
					where := fmt.Sprintf("%s: %s in call %d of %s", name, how, n, kind)
					switch {
					case !sprung || kind == "until" && how == "panic": // the record is due
						require.True(t, returned, where)
					case how == "panic":
						require.Equal(t, errTrip, panicked, where)
					default:
						require.Nil(t, panicked, where)
						require.False(t, returned, where)
					}
					require.Zero(t, f.db.Stats().LiveTx, where)
					require.Nil(t, coreOf(f.a).alarms.list.Load(), where)
					require.Zero(t, coreOf(f.a).favour.Stats().Held, where)
					now := f.look(t)
					done := !equalPictures(now, before)
					if done {
						require.Equal(t, after, now, where)
						require.Equal(t, told, f.told, where)
					} else {
						require.Empty(t, f.told, where)
					}
					if n/stride%7 == 0 { // as if nothing had been
						if done {
							f.reset(t)
						}
						call(f)
						require.NoError(t, f.db.Reclaim(bg))
						require.Equal(t, after, f.look(t), where)
					}
					if !sprung {
						break
					}
				}
			}
		}
	}
	// Each goroutine may leave one in another shard of the pool, which keeps 16; each call that
	// loses one loses one in nearly all of its cases.
	if !stage.Race { // pools forget at random there
		most := owned + 16*(shardsPerP*runtime.GOMAXPROCS(0)+1)
		require.LessOrEqual(t, coreOf(f.a).Slots.Owned(), most, "slots are not given back")
	}
	checkQuiet(t, f.a)
	checkQuiet(t, f.b)
	checkQuiet(t, f.c)
}

func equalPictures(x, y picture) bool {
	return maps.Equal(x.a, y.a) && maps.Equal(x.b, y.b) && maps.Equal(x.c, y.c)
}

// run calls f in a goroutine of its own.
func run(f func()) (returned bool, panicked any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
		returned = true
	}()
	<-done
	return returned, panicked
}
