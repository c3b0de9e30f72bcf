package linear

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// enough is so long that only a check that will never end exceeds it.
const enough = 5 * time.Minute

func newMap(t *testing.T, opts *mvcc.Options) Map {
	t.Helper()
	m := mvcc.New[int, int64](opts)
	t.Cleanup(m.Close)
	return Of(m)
}

func record(t *testing.T, m Map, c Config) *History {
	t.Helper()
	h, err := Record(t.Context(), m, c)
	require.NoError(t, err)
	return h
}

func TestRealMapIsLinearizable(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	m := newMap(t, &mvcc.Options{ReclaimInterval: time.Millisecond})
	ops := 0
	for i := range rounds {
		h := record(t, m, Config{Workers: 2 + i%7, Keys: 1 + i%3, Ops: 300, Seed: uint64(i), Fresh: i == 0})
		r := Check(h, enough)
		require.Nil(t, r.Violation)
		require.Zero(t, r.Unknown)
		require.Equal(t, 1+i%3, r.Keys)
		ops += r.Ops
	}
	t.Logf("%d operations", ops)
}

// Every kind of operation is recorded, every worker has values of its own, and
// choices follow from the seed.
func TestRecord(t *testing.T) {
	c := Config{Workers: 1, Keys: 2, Ops: 2000, Seed: 7, Fresh: true}
	h := record(t, newMap(t, nil), c)
	require.True(t, h.Fresh)
	count := [kinds]int{}
	swapped := 0
	for _, o := range h.Ops {
		count[o.Kind]++
		require.LessOrEqual(t, o.Call, o.Return)
		if o.Kind == CompareAndSwap && o.OK {
			swapped++
		}
	}
	for k, n := range count {
		require.Positive(t, n, Kind(k))
	}
	require.Positive(t, swapped)
	again := record(t, newMap(t, nil), c)
	require.Empty(t, cmp.Diff(h, again, cmpopts.IgnoreFields(Op{}, "Call", "Return"), cmpopts.IgnoreUnexported(Op{})))

	c.Workers = 4
	h = record(t, newMap(t, nil), c)
	wrote := map[string]bool{}
	for _, o := range h.Ops {
		if o.Arg == 0 {
			continue
		}
		id := fmt.Sprint(o.Key, " ", o.Arg)
		require.False(t, wrote[id], o)
		wrote[id] = true
	}
}

func TestRecordEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &counting{Map: newMap(t, nil), at: 1000, then: cancel}
	h, err := Record(ctx, m, Config{Workers: 2, Keys: 1, Ops: 10_000_000, Seed: 1})
	require.NoError(t, err)
	require.NotEmpty(t, h.Ops)
	require.Less(t, len(h.Ops), 20_000_000)
	for _, c := range []Config{{}, {Workers: 1}, {Keys: 1}, {Workers: 1, Keys: 1, Ops: -1}, {Workers: maxWorkers + 1, Keys: 1}} {
		_, err := Record(t.Context(), m, c)
		require.Error(t, err, c)
	}
}

func TestPanicIsAnError(t *testing.T) {
	m := &counting{Map: newMap(t, nil), at: 100, then: func() { panic("on purpose") }}
	_, err := Record(t.Context(), m, Config{Workers: 2, Keys: 1, Ops: 10_000, Seed: 1})
	require.ErrorContains(t, err, "on purpose")
}

type counting struct {
	Map
	n    atomic.Int64
	at   int64
	then func()
}

func (m *counting) Load(key int) (int64, bool) {
	if m.n.Add(1) == m.at {
		m.then()
	}
	return m.Map.Load(key)
}

// A faulty map is found out.
func TestFaultsAreFound(t *testing.T) {
	for name, fault := range map[string]func(m Map) Map{
		"a load returns an older value now and then":  func(m Map) Map { return &stale{Map: m} },
		"a store is lost now and then":                func(m Map) Map { return &lossy{Map: m} },
		"compare-and-swap is two steps":               func(m Map) Map { return torn{m} },
		"a delete is seen late":                       func(m Map) Map { return &late{Map: m} },
		"a failed LoadOrStore returns the wrong side": func(m Map) Map { return wrongSide{m} },
	} {
		t.Run(name, func(t *testing.T) {
			m := fault(newMap(t, nil))
			var v *Violation
			for seed := uint64(1); v == nil; seed++ {
				h := record(t, m, Config{Workers: 4, Keys: 2, Ops: 400, Seed: seed})
				v = Check(h, enough).Violation
			}
			t.Log(v.Detail())
			require.NotEmpty(t, v.Ops)
			require.Contains(t, v.Error(), "not linearizable")
			var page bytes.Buffer
			require.NoError(t, v.Visualize(&page))
			if len(v.Ops) <= maxVisual {
				require.Contains(t, page.String(), "<html")
			}
		})
	}
}

type stale struct {
	Map
	old atomic.Int64
}

func (m *stale) Load(key int) (int64, bool) {
	v, ok := m.Map.Load(key)
	if key != 0 || !ok {
		return v, ok
	}
	if old := m.old.Swap(v); old != 0 && rand.IntN(50) == 0 {
		return old, true
	}
	return v, ok
}

type lossy struct{ Map }

func (m *lossy) Store(key int, value int64) {
	if rand.IntN(20) > 0 {
		m.Map.Store(key, value)
	}
}

type torn struct{ Map }

func (m torn) CompareAndSwap(key int, old, value int64) bool {
	if got, ok := m.Load(key); !ok || got != old {
		return false
	}
	time.Sleep(time.Microsecond)
	m.Store(key, value)
	return true
}

type late struct{ Map }

func (m *late) Delete(key int) { go m.Map.Delete(key) }

type wrongSide struct{ Map }

func (m wrongSide) LoadOrStore(key int, value int64) (int64, bool) {
	_, loaded := m.Map.LoadOrStore(key, value)
	return value, loaded
}

// at makes an operation that lasts from call to ret.
func at(call, ret int64, o Op) Op {
	o.Call, o.Return = call, ret
	return o
}

func TestHistories(t *testing.T) {
	load := func(v int64) Op { return Op{Kind: Load, Got: v, OK: v != 0} }
	store := func(v int64) Op { return Op{Kind: Store, Arg: v} }
	for _, c := range []struct {
		name  string
		want  bool
		fresh bool
		ops   []Op
	}{
		{"nothing", true, true, nil},
		{"load of nothing", true, true, []Op{at(0, 1, load(0))}},
		{"load out of nowhere", false, true, []Op{at(0, 1, load(3))}},
		{"load of what was there before", true, false, []Op{at(0, 1, load(3)), at(2, 3, load(3))}},
		{"load of two that were there before", false, false, []Op{at(0, 1, load(3)), at(2, 3, load(4))}},
		{"load after store", true, true, []Op{at(0, 1, store(1)), at(2, 3, load(1))}},
		{"load before store", false, true, []Op{at(0, 1, load(1)), at(2, 3, store(1))}},
		{"load beside store", true, true, []Op{at(0, 5, store(1)), at(1, 2, load(0)), at(3, 4, load(1))}},
		{"load goes back", false, true, []Op{at(0, 5, store(1)), at(1, 2, load(1)), at(3, 4, load(0))}},
		{"load is stale", false, true, []Op{at(0, 1, store(1)), at(2, 3, store(2)), at(4, 5, load(1))}},
		{"the ends of an interval belong to it", true, true, []Op{at(0, 2, load(1)), at(2, 3, store(1))}},
		{"value with absence", false, true, []Op{at(0, 1, Op{Kind: Load, Got: 1})}},

		{"swap", true, true, []Op{at(0, 1, Op{Kind: Swap, Arg: 1}), at(2, 3, Op{Kind: Swap, Arg: 2, Got: 1, OK: true})}},
		{"two swaps of the same", false, true, []Op{at(0, 1, store(1)), at(2, 5, Op{Kind: Swap, Arg: 2, Got: 1, OK: true}), at(2, 5, Op{Kind: Swap, Arg: 3, Got: 1, OK: true})}},
		{"lost update", false, true, []Op{at(0, 1, store(1)), at(2, 5, Op{Kind: Update, Arg: 2, Got: 1, OK: true}), at(2, 5, Op{Kind: Update, Arg: 3, Got: 1, OK: true})}},
		{"view is stale", false, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: View})}},
		{"blind", true, true, []Op{at(0, 1, Op{Kind: Blind, Arg: 1}), at(2, 3, load(1))}},

		{"LoadOrStore", true, true, []Op{at(0, 1, Op{Kind: LoadOrStore, Arg: 1, Got: 1}), at(2, 3, Op{Kind: LoadOrStore, Arg: 2, Got: 1, OK: true}), at(4, 5, load(1))}},
		{"LoadOrStore stores twice", false, true, []Op{at(0, 5, Op{Kind: LoadOrStore, Arg: 1, Got: 1}), at(0, 5, Op{Kind: LoadOrStore, Arg: 2, Got: 2})}},
		{"LoadOrStore returns nothing", false, true, []Op{at(0, 1, Op{Kind: LoadOrStore, Arg: 1})}},
		{"LoadOrStore overwrites", false, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: LoadOrStore, Arg: 2, Got: 1, OK: true}), at(4, 5, load(2))}},
		{"LoadOrStore on what was there before", true, false, []Op{at(0, 1, Op{Kind: LoadOrStore, Arg: 2, Got: 1, OK: true}), at(4, 5, load(1))}},
		{"LoadOrStore on what was not there before", false, false, []Op{at(0, 1, Op{Kind: LoadOrStore, Arg: 2, Got: 2}), at(4, 5, load(1))}},

		{"deleted twice", false, true, []Op{at(0, 1, store(1)), at(2, 5, Op{Kind: LoadAndDelete, Got: 1, OK: true}), at(2, 5, Op{Kind: LoadAndDelete, Got: 1, OK: true})}},
		{"delete", true, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: Delete}), at(4, 5, load(0)), at(6, 7, Op{Kind: LoadAndDelete})}},
		{"delete is seen late", false, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: Delete}), at(4, 5, load(1))}},

		{"compare and swap", true, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: CompareAndSwap, Old: 1, Arg: 2, OK: true}), at(4, 5, load(2))}},
		{"compare and swap of another", false, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: CompareAndSwap, Old: 3, Arg: 2, OK: true})}},
		{"compare and swap fails for nothing", false, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: CompareAndSwap, Old: 1, Arg: 2})}},
		{"compare and swap of an absent key", false, true, []Op{at(2, 3, Op{Kind: CompareAndSwap, Arg: 2, OK: true})}},
		{"compare and swap fails", true, true, []Op{at(0, 1, store(1)), at(2, 3, Op{Kind: CompareAndSwap, Old: 3, Arg: 2}), at(4, 5, load(1))}},
		{"compare and swap of what was there before", true, false, []Op{at(0, 1, Op{Kind: CompareAndSwap, Old: 3, Arg: 2}), at(2, 3, Op{Kind: CompareAndSwap, Old: 1, Arg: 2, OK: true}), at(4, 5, load(2))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := at(0, 100, Op{Key: 9, Kind: LoadOrStore, Arg: 5, Got: 5})
			h := &History{Fresh: c.fresh, Ops: append(c.ops, other)}
			r := Check(h, enough)
			require.Zero(t, r.Unknown)
			if c.want {
				require.Nil(t, r.Violation)
				return
			}
			require.NotNil(t, r.Violation)
			require.Zero(t, r.Violation.Key)

			// Saved and read again it is judged alike.
			var file bytes.Buffer
			require.NoError(t, h.Write(&file))
			again, err := Read(&file)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(h, again, cmpopts.IgnoreUnexported(Op{})))
			require.Equal(t, r.Violation.Detail(), Check(again, enough).Violation.Detail())
		})
	}
}

// What is shown of a long history is what is wrong with it.
func TestViolationIsShort(t *testing.T) {
	var ops []Op
	for i := range int64(2000) {
		v, now := i/4+1, 10*i
		switch i % 4 {
		case 0:
			ops = append(ops, at(now, now+5, Op{Worker: 1, Kind: Store, Arg: v}))
		case 1:
			ops = append(ops, at(now, now+1, Op{Worker: 1, Kind: CompareAndSwap, Old: 1 << 40, Arg: 7}))
		default:
			ops = append(ops, at(now, now+13, Op{Worker: 2 + int(i%2), Kind: Load, Got: v, OK: true}))
		}
	}
	require.Nil(t, Check(&History{Fresh: true, Ops: ops}, enough).Violation)
	ops[1003].Got--
	want := "not linearizable: 3 operations on key 0 have no order that explains what they returned:\n" +
		"  worker 2             0s .. 13ns           Load(0) = 251\n" +
		"  worker 3           10ns .. 23ns           Load(0) = 250\n" +
		"  worker 1           20ns .. still running  Store(0, 252)\n" +
		"Nothing is assumed of what the key held before.\n"
	rand.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	v := Check(&History{Fresh: true, Ops: ops}, enough).Violation
	require.NotNil(t, v)
	require.Equal(t, 2000, v.Of)
	require.Equal(t, want, v.Detail())
	var page bytes.Buffer
	require.NoError(t, v.Visualize(&page))
	require.Contains(t, page.String(), "Load(0) = 250")

	v.Ops = make([]Op, maxVisual+1)
	page.Reset()
	require.NoError(t, v.Visualize(&page))
	require.Empty(t, page.String())
}

// A history is cut only where nothing runs.
func TestQuiescent(t *testing.T) {
	ops := []Op{at(0, 10, Op{}), at(1, 2, Op{}), at(5, 10, Op{}), at(10, 11, Op{}), at(12, 13, Op{}), at(14, 20, Op{}), at(15, 16, Op{}), at(21, 22, Op{pending: true}), at(30, 31, Op{})}
	require.Equal(t, []int{4, 5}, quiescent(ops))
}

// An operation that had not returned when the inexplicable happened may have had
// its effect, or not.
func TestPendingOperations(t *testing.T) {
	pending := func(o Op) Op { o.pending = true; return at(0, 1000, o) }
	load := func(v int64) []Op { return []Op{at(10, 11, Op{Kind: Load, Got: v, OK: v != 0})} }
	for _, c := range []struct {
		o        Op
		may, not []int64
	}{
		{Op{Kind: Load}, []int64{0}, []int64{1}},
		{Op{Kind: Store, Arg: 1}, []int64{0, 1}, []int64{2}},
		{Op{Kind: Swap, Arg: 1}, []int64{0, 1}, []int64{2}},
		{Op{Kind: LoadOrStore, Arg: 1}, []int64{0, 1}, []int64{2}},
		{Op{Kind: LoadAndDelete}, []int64{0}, []int64{1}},
		{Op{Kind: CompareAndSwap, Arg: 1}, []int64{0}, []int64{1}},
	} {
		for _, v := range c.may {
			require.Nil(t, Check(&History{Fresh: true, Ops: append(load(v), pending(c.o))}, enough).Violation, "%v, %d", c.o, v)
		}
		for _, v := range c.not {
			require.NotNil(t, Check(&History{Fresh: true, Ops: append(load(v), pending(c.o))}, enough).Violation, "%v, %d", c.o, v)
		}
		require.NotContains(t, pending(c.o).String(), "=")
	}
	for _, k := range []Kind{CompareAndSwap, LoadOrStore} {
		ops := append(load(5), pending(Op{Kind: k, Old: 4, Arg: 5}))
		require.Nil(t, Check(&History{Ops: ops}, enough).Violation)
	}
	require.Contains(t, describe([]Op{pending(Op{Kind: Load})}), "still running")
	require.Empty(t, describe(nil))
}

// What cannot be decided in time is not called right.
func TestTimeout(t *testing.T) {
	h := &History{}
	for i := range int64(40) { // all at once, and one that no order explains
		h.Ops = append(h.Ops, at(0, 10, Op{Kind: Swap, Arg: i + 1, Got: i + 100, OK: true}))
	}
	for i := range int64(40) {
		h.Ops = append(h.Ops, at(0, 10, Op{Kind: Store, Arg: i + 100}))
	}
	h.Ops = append(h.Ops, at(20, 21, Op{Kind: Load, Got: 7777, OK: true}))
	r := Check(h, time.Nanosecond)
	require.Nil(t, r.Violation)
	require.Equal(t, 1, r.Unknown)
	require.Zero(t, r.Keys)
}

func TestReadRefuses(t *testing.T) {
	h := &History{Fresh: true, Ops: []Op{at(0, 1, Op{Kind: Swap, Arg: 1}), at(2, 3, Op{Kind: Swap, Arg: 2, Got: 1, OK: true})}}
	var file strings.Builder
	require.NoError(t, h.Write(&file))
	lines := strings.SplitAfter(file.String(), "\n")
	for name, text := range map[string]string{
		"empty":        "",
		"not JSON":     "hello",
		"another kind": `{"format":"something else"}`,
		"another one":  strings.Replace(lines[0], `"version":1`, `"version":2`, 1) + lines[1] + lines[2],
		"cut":          lines[0] + lines[1],
		"cut in two":   lines[0] + lines[1] + lines[2][:20],
		"no such op":   lines[0] + strings.Replace(lines[1], "Swap", "Swop", 1) + lines[2],
		"backwards":    lines[0] + strings.Replace(lines[1], `"return":1`, `"return":-1`, 1) + lines[2],
	} {
		_, err := Read(strings.NewReader(text))
		require.Error(t, err, name)
	}
	require.Error(t, h.Write(full{}))
	h.Ops[0].Kind = kinds
	require.Error(t, h.Write(io.Discard))
	require.Contains(t, kinds.String(), "10")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
