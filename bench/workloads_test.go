package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every workload with every type of keys and values that it takes, on two engines,
// and the rest of them with a workload of each interface that a session may have.
func TestEveryTypeOfKeysAndValues(t *testing.T) {
	for _, e := range Engines() {
		for _, w := range smallWorkloads() {
			if e.Name != "mvcc" && e.Name != "rwmutex" && !slices.Contains([]string{"mixed", "counter", "ycsb-f", "long-reader"}, w.Name) {
				continue
			}
			for i, p := range typesOf(w) {
				if testing.Short() && i%4 != 1 { // two of nine, with bytes
					continue
				}
				v, err := w.With(p)
				require.NoError(t, err)
				if _, ok := e.Runs(v); !ok {
					continue
				}
				tr, err := New(Config{Workload: v, Engine: e, Threads: 2, Seed: 3, AuditInterval: time.Millisecond})
				require.NoError(t, err, "%s on %s", v.Title(), e.Name)
				_, err = tr.RunOps(t.Context(), 500)
				require.NoError(t, err, "%s on %s", v.Title(), e.Name)
				require.NoError(t, tr.Verify(), "%s on %s", v.Title(), e.Name)
				tr.Close()
			}
		}
	}
}

// typesOf returns the types of keys and values that w takes.
func typesOf(w Workload) []Params {
	sizes := []ValueSize{{}}
	if w.Params.ValueSize != (ValueSize{}) {
		sizes = []ValueSize{words, {100, 100}, {8, 33}}
	}
	var list []Params
	for _, k := range KeyTypes() {
		for _, s := range sizes {
			list = append(list, Params{Keys: Unset, ReadPct: Unset, Theta: Unset, KeyType: k, ValueSize: s})
		}
	}
	return list
}

// Every engine that has transactions over several keys has all types, and the
// others say what they have not.
func TestEnginesSayWhichTypesTheyLack(t *testing.T) {
	w, _ := WorkloadByName("balanced")
	for _, e := range Engines() {
		for _, p := range typesOf(w) {
			v, err := w.With(p)
			require.NoError(t, err)
			why, ok := e.Runs(v)
			if e.Name != "floor" || p.KeyType == StringKeys && p.ValueSize == words {
				require.True(t, ok, "%s, %s", v.Title(), e.Name)
				continue
			}
			require.False(t, ok)
			require.Contains(t, why, string(p.KeyType))
			_, err = New(Config{Workload: v, Engine: e, Threads: 1})
			require.ErrorContains(t, err, why)
		}
	}
}

// A transaction of a workload of several keys does what its Doc says.
func TestTransactionsAreAsDocumented(t *testing.T) {
	for _, c := range []struct {
		name       string
		reads      float64 // of all operations
		kinds      []OpKind
		readOnlies bool // there are some
	}{
		{"ycsb-a", 0.5, []OpKind{OpGet, OpPut}, true},
		{"ycsb-b", 0.95, []OpKind{OpGet, OpPut}, true},
		{"ycsb-c", 1, []OpKind{OpGet}, true},
		{"ycsb-f", 0.5, []OpKind{OpGet, OpModify}, true},
		{"disjoint-batch", 1.0 / 3, []OpKind{OpPut, OpGet, OpHas}, false},
	} {
		w, ok := WorkloadByName(c.name)
		require.True(t, ok)
		w = small(w)
		w.Params.ValueSize = words
		log := &batchLog{kinds: map[OpKind]int{}}
		spec := wrapped("logger", func(e *rwMutexEngine, worker int) Session {
			if worker < 0 {
				return over(e)
			}
			return &batchLogger{over(e), log}
		})
		tr, err := New(Config{Workload: w, Engine: spec, Threads: 1, Seed: 5})
		require.NoError(t, err)
		const n = 10_000
		_, err = tr.RunOps(t.Context(), n)
		require.NoError(t, err)
		require.NoError(t, tr.Verify())
		tr.Close()

		require.Equal(t, n, log.batches, "%s: one transaction an operation", c.name)
		require.Equal(t, c.readOnlies, log.readOnly > 0, c.name)
		total := 0
		for _, count := range log.kinds {
			total += count
		}
		size := 3
		if w.Params.TxnSize > 0 {
			size = w.Params.TxnSize
		}
		require.Equal(t, n*size, total, c.name)
		require.Len(t, log.kinds, len(c.kinds), c.name)
		for _, k := range c.kinds {
			require.Positive(t, log.kinds[k], "%s: kind %d", c.name, k)
		}
		if size == 4 {
			require.InDelta(t, c.reads, float64(log.kinds[OpGet])/float64(total), 0.02, c.name)
		}
	}
}

type batchLog struct {
	kinds             map[OpKind]int
	batches, readOnly int
}

type batchLogger struct {
	rwMutexSession
	log *batchLog
}

func (s *batchLogger) Batch(ops []Op, readOnly bool) error {
	s.log.batches++
	if readOnly {
		s.log.readOnly++
	}
	for _, op := range ops {
		s.log.kinds[op.Kind]++
		if readOnly && op.Kind != OpGet && op.Kind != OpHas {
			panic("a write in a read-only transaction")
		}
	}
	return s.rwMutexSession.Batch(ops, readOnly)
}

// free-batch deletes all batches and then puts them back, each in a transaction.
func TestFreeBatchDeletesAndPutsBack(t *testing.T) {
	w, e := named(t, "free-batch", "rwmutex")
	w.Params.Keys, w.Params.TxnSize = 35, 8 // 4 batches of 8
	tr, err := New(Config{Workload: w, Engine: e, Threads: 3, AuditInterval: time.Millisecond})
	require.NoError(t, err)
	defer tr.Close()
	require.Equal(t, 3*4*8, tr.count())
	present := func() int {
		n := 0
		for k := range tr.count() {
			_, ok, err := tr.rig.get(k)
			require.NoError(t, err)
			if ok {
				n++
			}
		}
		return n
	}
	for round := range 3 {
		for gone := range 4 {
			require.Equal(t, 3*8*(4-gone), present(), "round %d", round)
			_, err := tr.RunOps(t.Context(), 3)
			require.NoError(t, err)
			require.NoError(t, tr.Verify())
		}
		require.Zero(t, present())
		_, err := tr.RunOps(t.Context(), 3*4)
		require.NoError(t, err)
		require.NoError(t, tr.Verify())
	}
}

// The keys of a goroutine are whole batches, at least one.
func TestFreeBatchRounds(t *testing.T) {
	w, _ := WorkloadByName("free-batch")
	for _, c := range []struct{ keys, size, batches int }{{100, 10, 10}, {105, 10, 10}, {5, 10, 1}, {10, 10, 1}} {
		w.Params.Keys, w.Params.TxnSize = c.keys, c.size
		require.Equal(t, c.batches, w.batches())
		require.Equal(t, 2*c.batches*c.size, w.keyCount(2))
	}
	w.Params.Keys = manyKeys
	_, err := New(Config{Workload: w, Engine: idleSpec(), Threads: 2})
	require.ErrorContains(t, err, "at most")
}

// What a run held in memory is measured, and a snapshot keeps one version of each
// key, not all.
func TestMemoryIsReported(t *testing.T) {
	for _, name := range []string{"long-reader", "overwrite"} {
		for _, engine := range []string{"mvcc", "mvcc-direct", "rwmutex"} {
			w, e := named(t, name, engine)
			w.Params.Keys = 100
			require.True(t, w.ReportsMemory())
			tr, err := New(Config{Workload: w, Engine: e, Threads: 2, AuditInterval: time.Millisecond})
			require.NoError(t, err)
			m, err := tr.RunOps(t.Context(), 20_000)
			require.NoError(t, err)
			require.NoError(t, tr.Verify())
			tr.Close()
			require.NotNil(t, m.Memory)
			require.Positive(t, m.Audits)
			require.Positive(t, m.Memory.HeapStart)
			require.Positive(t, m.Memory.HeapEnd)
			require.GreaterOrEqual(t, m.Memory.HeapPeak, max(m.Memory.HeapStart, m.Memory.HeapEnd))
			if engine == "rwmutex" {
				require.Zero(t, m.Memory.VersionsPeak, "it keeps none")
				continue
			}
			require.Equal(t, 100, m.Memory.VersionsStart, "%s on %s", name, engine)
			require.GreaterOrEqual(t, m.Memory.VersionsPeak, m.Memory.VersionsEnd)
			require.Less(t, m.Memory.VersionsEnd, 100*40, "%s on %s: 20,000 were written", name, engine)
		}
	}
	w, e := named(t, "balanced", "mvcc")
	tr, err := New(Config{Workload: w, Engine: e, Threads: 1})
	require.NoError(t, err)
	defer tr.Close()
	m, err := tr.RunOps(t.Context(), 100)
	require.NoError(t, err)
	require.Nil(t, m.Memory)
}

// many-goroutines can be run with as many as it is named for, at a rate, and
// costs little memory for each.
func TestManyGoroutines(t *testing.T) {
	w, e := named(t, "many-goroutines", "mvcc")
	require.Equal(t, 100_000, w.Threads())
	require.LessOrEqual(t, w.Threads(), MaxThreads)
	require.Positive(t, w.Rate())
	threads := 10_000
	if testing.Short() {
		threads = 1_000
	}
	tr, err := New(Config{Workload: w, Engine: e, Threads: threads, Rate: 1e6})
	require.NoError(t, err)
	defer tr.Close()
	m, err := tr.RunOps(t.Context(), uint64(threads))
	require.NoError(t, err)
	require.EqualValues(t, threads, m.Ops)
	require.EqualValues(t, threads, m.Response.Count())
	require.NoError(t, tr.Verify())
}

// The sizes of values come from a stream of their own: they do not follow from
// the keys, and other seeds and goroutines have others.
func TestSizesAreIndependent(t *testing.T) {
	sizes := func(seed uint64, worker int) string {
		tr := &Trial{config: Config{Seed: seed, Workload: Workload{Params: Params{ValueSize: ValueSize{8, 40}}}}}
		v := newValues[[]byte](tr, worker)
		var b strings.Builder
		for range 64 {
			b.WriteByte(byte(len(v.make(1))))
		}
		return b.String()
	}
	require.Equal(t, sizes(1, 0), sizes(1, 0))
	require.NotEqual(t, sizes(1, 0), sizes(2, 0))
	require.NotEqual(t, sizes(1, 0), sizes(1, 1))
}

// Byte slices are the only thing that the harness allocates: one for each write.
func TestOneAllocationForEachValue(t *testing.T) {
	for _, name := range []string{"write-heavy", "disjoint", "disjoint-batch", "overwrite"} {
		w, e := named(t, name, "rwmutex")
		w.Params.ValueSize = ValueSize{64, 64}
		if w.Params.ReadPct != Unset {
			w.Params.ReadPct = 0
		}
		tr, err := New(Config{Workload: w, Engine: e, Threads: 1})
		require.NoError(t, err)
		require.EqualValues(t, 1, testing.AllocsPerRun(2_000, func() {
			if err := tr.workers[0].task.do(); err != nil {
				t.Error(err)
			}
		}), name)
		tr.Close()
	}
}

func TestNewParameters(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		want string // the title, or what the error contains
		bad  bool
	}{
		{"ycsb-a", Params{TxnSize: 16, ValueSize: ValueSize{16, 64}, KeyType: Uint64Keys}, "YcsbA/txn-size=16/value-size=16-64/key-type=uint64", false},
		{"ycsb-a", Params{TxnSize: 4, ValueSize: ValueSize{100, 100}, KeyType: StringKeys}, "YcsbA", false},
		{"balanced", Params{TxnSize: 16, ValueSize: ValueSize{100, 100}}, "Balanced/value-size=100", false},
		{"counter", Params{TxnSize: 16, ValueSize: ValueSize{100, 100}, KeyType: StructKeys}, "Counter/key-type=struct", false},
		{"ycsb-b", Params{TxnSize: -1}, "transactions of 1 to", true},
		{"ycsb-b", Params{TxnSize: maxTxnSize + 1}, "transactions of 1 to", true},
		{"balanced", Params{ValueSize: ValueSize{7, 7}}, "values of 8 to", true},
		{"balanced", Params{ValueSize: ValueSize{20, 10}}, "values of 8 to", true},
		{"balanced", Params{ValueSize: ValueSize{8, MaxValueSize + 1}}, "values of 8 to", true},
		{"balanced", Params{KeyType: "float"}, "string, uint64 or struct", true},
	} {
		c.p.Keys, c.p.ReadPct, c.p.Theta = Unset, Unset, Unset
		w, _ := WorkloadByName(c.name)
		w, err := w.With(c.p)
		if c.bad {
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, c.name)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, w.Title())
	}
	w, _ := WorkloadByName("counter")
	require.False(t, w.Takes(Params{Keys: Unset, ReadPct: Unset, Theta: Unset, TxnSize: 4, ValueSize: words}))
	require.True(t, w.Takes(Params{Keys: Unset, ReadPct: Unset, Theta: Unset, KeyType: Uint64Keys}))
	w, _ = WorkloadByName("ycsb-a")
	require.True(t, w.Takes(Params{Keys: Unset, ReadPct: Unset, Theta: Unset, TxnSize: 4}))
	require.True(t, w.Takes(Params{Keys: Unset, ReadPct: Unset, Theta: Unset, ValueSize: words}))
	require.False(t, w.Takes(NoParams))
}

// The Doc of a workload says what is verified.
func TestDocsSayWhatIsVerified(t *testing.T) {
	for _, w := range Workloads() {
		doc := strings.ToLower(w.Doc)
		require.Regexp(t, `verified|must|checks|read back`, doc, w.Name)
	}
}
