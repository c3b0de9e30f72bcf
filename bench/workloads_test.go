package bench

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
		if w.kind == plain {
			w.Params.TxnSize = 4
		}
		log := batchLog{kinds: map[OpKind]int{}}
		tr := newTrial(t, Config{Workload: w, Threads: 1, Seed: 5, Engine: faulty(func(s *numberSession) {
			s.batch = func(ops []numberOp, readOnly bool) error {
				log.note(ops, readOnly)
				return s.rwMutex.Batch(ops, readOnly)
			}
		})})
		const n = 10_000
		runOps(t, tr, n)
		require.NoError(t, tr.Verify())

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

func (l *batchLog) note(ops []numberOp, readOnly bool) {
	l.batches++
	if readOnly {
		l.readOnly++
	}
	for _, op := range ops {
		l.kinds[op.Kind]++
		if readOnly && op.Kind != OpGet && op.Kind != OpHas {
			panic("a write in a read-only transaction")
		}
	}
}

// free-batch deletes all batches and then puts them back, each in a transaction. The keys of a
// goroutine are whole batches, at least one.
func TestFreeBatchDeletesAndPutsBack(t *testing.T) {
	w, e := named(t, "free-batch", "rwmutex")
	w.Params.Keys, w.Params.TxnSize = 5, 8
	require.Equal(t, 2*8, w.keyCount(2))
	w.Params.Keys = 35 // 4 batches of 8
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 3, AuditInterval: time.Millisecond})
	rig := tr.rig.(*rigOf[uint64])
	require.Len(t, rig.list, 3*4*8)
	present := func() (n int) {
		require.NoError(t, rig.each(func(_ int, _ stamp, ok bool) error {
			if ok {
				n++
			}
			return nil
		}))
		return n
	}
	for round := range 3 {
		for gone := range 4 {
			require.Equal(t, 3*8*(4-gone), present(), "round %d", round)
			runOps(t, tr, 3)
			require.NoError(t, tr.Verify())
		}
		require.Zero(t, present())
		runOps(t, tr, 3*4)
		require.NoError(t, tr.Verify())
	}
}

// What a run held in memory is measured, and a snapshot keeps one version of each
// key, not all.
func TestMemoryIsReported(t *testing.T) {
	for _, name := range []string{"long-reader", "overwrite"} {
		for _, engine := range []string{"mvcc", "mvcc-direct", "rwmutex"} {
			w, e := named(t, name, engine)
			w.Params.Keys = 100
			require.True(t, w.ReportsMemory())
			tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, AuditInterval: time.Millisecond})
			m := runOps(t, tr, 20_000)
			require.NoError(t, tr.Verify())
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
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1})
	require.Nil(t, runOps(t, tr, 100).Memory)
}

// Byte slices are the only thing that the harness allocates: one for each write.
func TestOneAllocationForEachValue(t *testing.T) {
	for _, name := range []string{"write-heavy", "disjoint", "disjoint-batch", "overwrite"} {
		w, e := named(t, name, "rwmutex")
		w.Params.ValueSize = ValueSize{64, 64}
		if w.Params.ReadPct != Unset {
			w.Params.ReadPct = 0
		}
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1})
		require.EqualValues(t, 1, testing.AllocsPerRun(2_000, func() {
			if err := tr.workers[0].task.do(); err != nil {
				t.Error(err)
			}
		}), name)
	}
}

// A workload takes the parameters that it has, if they are in range; what is not its
// default is in its name.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     Params
		takes bool   // one of them
		want  string // the name, or what the error contains if it begins with "takes"
	}{
		{"read-heavy", Params{Keys: Unset, ReadPct: Unset, Theta: Unset}, false, "ReadHeavy"},
		{"read-heavy", Params{Keys: 4, ReadPct: 90, Theta: Unset}, true, "ReadHeavy"},
		{"read-heavy", Params{Keys: 16, ReadPct: 95, Theta: 0.5}, true, "ReadHeavy/keys=16/read-pct=95"},
		{"zipf-write", Params{Keys: Unset, ReadPct: Unset, Theta: 0.5}, true, "ZipfWrite/theta=0.5"},
		{"zipf-write", Params{Keys: Unset, ReadPct: Unset, Theta: 0}, true, "ZipfWrite/theta=0"},
		{"transfer", Params{Keys: 2, ReadPct: Unset, Theta: Unset}, true, "Transfer/keys=2"},
		{"disjoint", Params{Keys: 16, ReadPct: 50, Theta: 0.5}, false, "Disjoint"},
		{"ycsb-a", types(16, ValueSize{16, 64}), true, "YcsbA/txn-size=16/value-size=16-64"},
		{"ycsb-a", types(1, ValueSize{}), true, "YcsbA/txn-size=1"},
		{"counter", types(16, ValueSize{100, 100}), false, "Counter"},
		{"counter", Params{Keys: 5, ReadPct: Unset, Theta: Unset}, true, "takes from 1 to 4 keys, not 5"},
		{"transfer", Params{Keys: 1, ReadPct: Unset, Theta: Unset}, true, "takes from 2 to"},
		{"read-heavy", Params{Keys: Unset, ReadPct: 101, Theta: Unset}, true,
			"takes a read percentage from 0 to 100"},
		{"zipf-read", Params{Keys: Unset, ReadPct: Unset, Theta: -0.5}, true,
			"takes a theta from 0 to 10, not -0.5"},
		{"zipf-read", Params{Keys: Unset, ReadPct: Unset, Theta: math.NaN()}, true,
			"takes a theta from 0 to 10"},
		{"ycsb-b", types(-1, ValueSize{}), true, "takes transactions of 1 to"},
		{"ycsb-b", types(maxTxnSize+1, ValueSize{}), true, "takes transactions of 1 to"},
		{"balanced", types(0, ValueSize{7, 7}), true, "takes values of 8 to"},
		{"balanced", types(0, ValueSize{8, MaxValueSize + 1}), true, "takes values of 8 to"},
	} {
		w, ok := WorkloadByName(c.name)
		require.True(t, ok)
		require.Equal(t, c.takes, w.Takes(c.p), "%s, %+v", c.name, c.p)
		got, err := w.With(c.p)
		if strings.HasPrefix(c.want, "takes") {
			require.ErrorContains(t, err, "workload "+c.name+" "+c.want)
			continue
		}
		require.NoError(t, err)
		name, _, _ := strings.Cut(Config{Workload: got, AuditInterval: DefaultAuditInterval}.Name(),
			"/engine=")
		require.Equal(t, c.want, name)
	}
}

func types(txnSize int, size ValueSize) Params {
	return Params{Keys: Unset, ReadPct: Unset, Theta: Unset, TxnSize: txnSize,
		ValueSize: size}
}

// Every workload and engine can be named, and says what it does; a workload what is
// verified, too.
func TestNamesAreUniqueAndDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Workloads() {
		require.False(t, seen[w.Name])
		seen[w.Name] = true
		require.Regexp(t, `verified|must|checks|read back`, strings.ToLower(w.Doc), w.Name)
	}
	for _, e := range Engines() {
		require.False(t, seen[e.Name])
		seen[e.Name] = true
		require.NotEmpty(t, e.Doc)
		for name := range e.Lacks {
			require.True(t, seen[name], name)
		}
	}
	_, ok := WorkloadByName("no such")
	require.False(t, ok)
	_, ok = EngineByName("no such")
	require.False(t, ok)
}
