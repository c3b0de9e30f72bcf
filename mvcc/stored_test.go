package mvcc

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// A file is a value with all that can be changed after it was stored.
type file struct {
	n     int
	tags  []string
	bytes []byte
	attrs map[string][]int
	owner *file
	any   any
	rows  [2]struct{ cells []*int }
	local time.Time
	f     func()
}

// newFile returns a file in a ring, with room behind its slices.
func newFile() file {
	f := file{n: 1, tags: append(make([]string, 0, 8), "a"), bytes: make([]byte, 100),
		attrs: map[string][]int{"a": {1}, "b": nil}, owner: &file{n: 2}, any: []any{&file{n: 3}, 1},
		local: time.Unix(1, 0), f: func() {}}
	f.owner.owner = &file{owner: f.owner}
	f.rows[1].cells = []*int{nil, new(int)}
	return f
}

// A change is one of a value that was stored.
var changesOfFiles = map[string]func(f file){
	"value.tags[1] beyond len, where append writes (append to slices.Clip of it)": func(f file) {
		_ = append(f.tags, "b")
	},
	"value.tags[0]":                           func(f file) { f.tags[0] = "x" },
	"value.bytes[64:100]":                     func(f file) { f.bytes[70]++ },
	`value.attrs["a"]`:                        func(f file) { f.attrs["a"] = []int{2} },
	`value.attrs["a"][0]`:                     func(f file) { f.attrs["a"][0]++ },
	"value.owner.n":                           func(f file) { f.owner.n++ },
	"value.owner.tags":                        func(f file) { f.owner.tags = append(f.owner.tags, "new") },
	"value.any[0].n":                          func(f file) { f.any.([]any)[0].(*file).n++ },
	"value.any[1]":                            func(f file) { f.any.([]any)[1] = int8(1) },
	"value.rows[1].cells[1]":                  func(f file) { *f.rows[1].cells[1]++ },
	"value.owner.owner.n":                     func(f file) { f.owner.owner.n++ }, // in the ring
	"value.owner.f":                           func(f file) { f.owner.f = newFile().f },
	"value.attrs, the number of its elements": func(f file) { f.attrs["c"] = nil },
	"value.attrs, the keys in it": func(f file) {
		delete(f.attrs, "a")
		f.attrs["z"] = []int{1}
	},
}

type (
	fileTable = *Map[int, file]
	fileIndex = *Index[int, int, file]
)

// A value that is changed after it was stored is noticed, by whatever call it came out of the map:
// when it is written over, and at the end.
func TestStrictStoredValues(t *testing.T) {
	update := func(files fileTable, fn func(tx Tx[int, file])) {
		_ = files.Update(bg, nil, func(tx Tx[int, file]) error { fn(tx); return nil })
	}
	for name, call := range map[string]func(files fileTable, ix fileIndex, change func(f file)){
		"Store": func(files fileTable, _ fileIndex, change func(f file)) {
			f, _ := files.Load(1)
			change(f)
			files.Store(1, newFile())
		},
		"Store of another index key": func(files fileTable, _ fileIndex, change func(f file)) {
			f, _ := files.Load(1)
			change(f)
			files.Store(1, file{n: 7})
		},
		"Delete": func(files fileTable, _ fileIndex, change func(f file)) {
			f, _ := files.LoadAndDelete(1)
			files.Store(1, f)
			change(f)
			files.Delete(1)
		},
		"Set": func(files fileTable, _ fileIndex, change func(f file)) {
			update(files, func(tx Tx[int, file]) {
				f, _ := tx.Get(1)
				change(f)
				tx.Set(1, f)
			})
		},
		"Set of what was set": func(files fileTable, _ fileIndex, change func(f file)) {
			var f file
			update(files, func(tx Tx[int, file]) {
				f = newFile()
				tx.Set(1, f)
				tx.Set(2, file{})
			})
			change(f)
			update(files, func(tx Tx[int, file]) { tx.Set(1, file{n: 7}); tx.Set(2, file{}) })
		},
		"Merge": func(files fileTable, _ fileIndex, change func(f file)) {
			files.Merge(1, func(old file, _ bool) file { change(old); return file{n: 1} })
		},
		"Tx.Merge": func(files fileTable, _ fileIndex, change func(f file)) {
			update(files, func(tx Tx[int, file]) {
				tx.Merge(1, func(old file, _ bool) file { change(old); return file{n: 1} })
				tx.Set(2, file{})
			})
		},
		"Compute": func(files fileTable, _ fileIndex, change func(f file)) {
			files.Compute(1, func(old file, _ bool) (file, ComputeOp) { change(old); return file{}, UpdateOp })
		},
		"Compute without a write": func(files fileTable, _ fileIndex, change func(f file)) {
			files.Compute(1, func(old file, _ bool) (file, ComputeOp) { change(old); return old, CancelOp })
		},
		"replica": func(files fileTable, _ fileIndex, change func(f file)) {
			f, _ := files.Load(1)
			change(f)
			_ = replicate.Of(coreOf(files).db).Apply(files.Epoch()+10, func(tx DBTx) error {
				files.In(tx).Delete(1)
				return nil
			})
		},
		"index, before Close": func(_ fileTable, ix fileIndex, change func(f file)) {
			_, f, ok := ix.First(ix.m, 1)
			require.True(t, ok)
			change(f)
		},
		"Close of the table": func(files fileTable, ix fileIndex, change func(f file)) {
			_, f, _ := ix.First(files, 1)
			change(f)
			files.Close()
		},
	} {
		for place, change := range changesOfFiles {
			if strings.Contains(name, "Merge") && strings.Contains(place, "keys in it") {
				continue // its second call finds another value
			}
			db := NewDB(strictly)
			files := NewTable[int, file](db, "files", nil)
			ix, err := NewIndex(files, "n", func(_ int, f file) []int { return []int{f.n} }, nil)
			require.NoError(t, err)
			files.Store(1, newFile())
			text := fmt.Sprint(panicOf(func() {
				call(files, ix, change)
				db.Close()
			}))
			require.Contains(t, text, `mvcc: Strict: table "files", key 1 was changed after it was stored: `+
				place+"; it was stored by ", name)
			require.Regexp(t, `mvcc\.TestStrictStoredValues\S* \(\S*stored_test.go:\d+\)$`, text, name)
			require.Nil(t, panicOf(db.Close), "it is told once")
			require.Empty(t, dbAt(db).shared.strict.stored.of, "%s: %s", name, place)
		}
	}
}

// A transaction of which values are noted conflicts as any other, also at snapshot level, and
// leaves no note.
func TestStrictStoredConflicts(t *testing.T) {
	for _, level := range []Level{LevelSnapshot, LevelSerializable} {
		m := New[int, []int](strictly)
		defer m.Close()
		tx := m.Begin(&TxOptions{Isolation: level})
		tx.Get(1)
		for k := range 9 {
			if k != 1 || level == LevelSnapshot {
				tx.Set(k, nil)
			}
		}
		m.Store(1, nil)
		require.ErrorIs(t, tx.Commit(), ErrConflict)
		require.Len(t, coreOf(m).shared.strict.stored.of, 1)
	}
}

// Values that were not changed, that are made to be, or that have left the map, are no mistake.
func TestStrictValuesOfGoodPrograms(t *testing.T) {
	type base struct {
		mu sync.Mutex //lint:ignore U1000 that it is there is enough
	}
	for name, do := range map[string]func(m *Map[int, any]){
		"append to Clip": func(m *Map[int, any]) {
			for i := range 20 {
				m.Merge(1, func(old any, _ bool) any {
					list, _ := old.([]int)
					return append(slices.Clip(list), i)
				})
			}
		},
		"a copy is changed": func(m *Map[int, any]) {
			f := newFile()
			m.Store(1, f)
			f.n, f.tags = 2, nil
			f.rows[1].cells = nil
		},
		"a part that is cut off": func(m *Map[int, any]) {
			f := newFile()
			m.Store(1, f.tags[:0:1])
			m.Store(1, f.tags[:0:0])
			f.tags[0] = "x"
		},
		"it has left the map": func(m *Map[int, any]) {
			for range 3 {
				m.Store(1, new(int))
				p, _ := m.Swap(1, new(int))
				*p.(*int)++
				p, _ = m.LoadAndDelete(1)
				*p.(*int)++
				require.NoError(t, m.Update(bg, nil, func(tx Tx[int, any]) error {
					p, _ = tx.Get(2)
					tx.Set(2, new(int))
					tx.Delete(1)
					return nil
				}))
				if p != nil {
					*p.(*int)++
				}
			}
		},
		"lock": func(m *Map[int, any]) {
			p := &struct {
				of *file
				n  int
				mu sync.RWMutex
			}{of: &file{}}
			m.Store(1, p)
			p.n++
			p.of.n++
		},
		"pointer to a lock": func(m *Map[int, any]) {
			p := &struct {
				n  int
				mu *sync.Mutex
			}{}
			m.Store(1, p)
			p.n++
		},
		"sync.Locker": func(m *Map[int, any]) {
			p := &struct {
				n int
				l sync.Locker
			}{}
			m.Store(1, p)
			p.n++
		},
		"embedded": func(m *Map[int, any]) {
			p := &struct {
				n int
				*base
			}{}
			m.Store(1, p)
			p.n++
		},
		"atomic": func(m *Map[int, any]) {
			p, q := &struct{ n [2]atomic.Int64 }{}, new(atomic.Pointer[int])
			m.Store(1, []any{p, q})
			p.n[1].Add(1)
			q.Store(new(int))
		},
		"channel": func(m *Map[int, any]) {
			p := &struct {
				turn chan bool
				n    []int
			}{n: make([]int, 1)}
			m.Store(1, *p)
			p.n[0]++
		},
		"xsync": func(m *Map[int, any]) {
			c, x := xsync.NewCounter(), xsync.NewMap[int, int]()
			m.Store(1, []any{c, x})
			c.Add(1)
			x.Store(1, 1)
		},
		"time zone": func(m *Map[int, any]) {
			was := time.Local
			defer func() { time.Local = was }()
			place := *time.UTC
			m.Store(1, time.Unix(1, 0).In(&place))
			place = *time.FixedZone("x", 1)
		},
		"template": func(m *Map[int, any]) {
			page := template.Must(template.New("x").Parse("{{.}}"))
			m.Store(1, page)
			require.NoError(t, page.Execute(io.Discard, 1))
		},
		"handles": func(m *Map[int, any]) {
			other := New[int, int](nil)
			defer other.Close()
			s := other.Snapshot()
			defer s.Close()
			ctx, cancel := context.WithCancel(bg)
			m.Store(1, []any{other, s, ctx, t, reflect.TypeOf(0), reflect.ValueOf(t), rand.New})
			other.Store(1, 1)
			other.View(func(s Snapshot[int, int]) error { return nil })
			cancel()
		},
		"keys in any order": func(m *Map[int, any]) {
			x := map[any]any{math.NaN(): 1, [1]any{math.NaN()}: 2, math.Inf(1): 3, new(int): &file{}, "k": "v"}
			x[math.NaN()] = 4
			for i := range 1000 {
				x[i] = fmt.Sprint(i)
			}
			for i := range 100 {
				m.Store(i%2, x)
			}
		},
		"large": func(m *Map[int, any]) {
			var list *file
			for range 2 * mostPlaces {
				list = &file{owner: list}
			}
			large := map[int]int{}
			for i := range 2 * mostPlaces {
				large[i] = i
			}
			for range 3 {
				m.Store(1, list)
				m.Store(2, large)
				m.Store(3, make([]struct{}, math.MaxInt))
				m.Store(4, make([]int, 2*mostPlaces))
			}
		},
		"nil and zero": func(m *Map[int, any]) {
			for _, v := range []any{nil, (*int)(nil), []int(nil), map[int]int(nil), file{}, [0]int{},
				(func())(nil), (chan int)(nil), 1i, float32(math.NaN()), uint8(1), true, ""} {
				m.Store(1, v)
				m.Store(1, v)
			}
		},
	} {
		m := New[int, any](strictly)
		require.NotPanics(t, func() {
			do(m)
			m.Close()
		}, name)
		require.Empty(t, coreOf(m).shared.strict.stored.of, name)
	}
	db := newDB(t, strictly)
	numbers, locks := NewTable[int, [2]int](db, "numbers", nil), NewTable[int, *sync.Mutex](db, "locks", nil)
	numbers.Store(1, [2]int{})
	locks.Store(1, new(sync.Mutex))
	require.False(t, coreOf(numbers).watched, "nothing can be changed")
	require.Empty(t, dbAt(db).shared.strict.stored.of[nil].fingerprint)
	require.False(t, leadsOn(reflect.TypeFor[struct {
		mu sync.Mutex
		s  string
	}]()))
}

// Goroutines that take a value out of the map, and change it, are its owners: the look at a value
// does not race with them, whatever else is committed, and neither does Close. To be run with
// -race.
func TestStrictOwnersOfValues(t *testing.T) {
	for range 20 {
		m := New[int, *file](strictly)
		const files, goroutines = 3, 4
		for k := range files {
			f := newFile()
			m.Store(k, &f)
		}
		use := func(f *file) {
			if f != nil {
				f.n++
				f.tags[0] += "x"
				f.attrs["a"][0]++
			}
		}
		var wg sync.WaitGroup
		for g := range goroutines {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			wg.Go(func() {
				f := newFile()
				mine := &f
				for range 100 {
					use(mine)
					k := r.IntN(files)
					switch r.IntN(4) {
					case 0:
						mine, _ = m.Swap(k, mine)
					case 1:
						if _, loaded := m.LoadOrStore(k, mine); !loaded {
							mine = nil
						}
					case 2:
						var got *file
						require.NoError(t, m.Update(bg, nil, func(tx Tx[int, *file]) error {
							got, _ = tx.Get(k)
							tx.Set(k, mine)
							tx.Delete((k + 1) % files)
							return nil
						}))
						mine = got
					default:
						if mine == nil {
							mine, _ = m.LoadAndDelete(k)
						}
					}
				}
			})
		}
		wg.Go(m.Close)
		wg.Wait()
	}
}
