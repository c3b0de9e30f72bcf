package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The consistency conditions of TPC-C hold on a database that conflicts, and fail if a payment
// forgets its history.
func TestTPCC(t *testing.T) {
	w, mvcc := named(t, "tpcc", "mvcc")
	tr := newTrial(t, Config{Workload: w, Engine: mvcc, Threads: 4, Seed: 1})
	m := runOps(t, tr, 3_000)
	require.NoError(t, tr.Verify())
	require.Len(t, m.Operations, 5)
	for i, share := range []float64{0.45, 0.43, 0.04, 0.04, 0.04} {
		require.InDelta(t, share*3_000, m.Operations[i].Ops, 150, m.Operations[i].Name)
	}

	whole := w.Build
	w.Build = func(m *Model) {
		whole(m)
		pay := m.ops[1].do
		m.ops[1].do = func(tx *Tx) error {
			err := pay(tx)
			tx.Set(tx.Get(m.tables[0], 0), 1)
			return err
		}
	}
	tr = newTrial(t, Config{Workload: w, Engine: mvcc, Threads: 1, Seed: 1})
	runOps(t, tr, 100)
	require.ErrorContains(t, tr.Verify(), "years to date of the districts")
}

// A workload of one's own: records come, change and go, attempts repeat their random numbers, and
// errors and misuse end the run.
func TestOwnWorkload(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		table Table
		do    func(tx *Tx, t *Table) error
		says  string // nothing: it is right
	}{
		"all": {Table{Deletes: true, Ordered: true, Size: ValueSize{8, 99}, Number: func(k int64) int64 { return k },
			Present: func(k int64) bool { return k%2 == 0 }}, func(tx *Tx, t *Table) error {
			switch item := tx.Get(t, int64(tx.Below(10))); {
			case !item.OK:
				tx.Set(item, 7)
			case tx.Chance(30):
				tx.Delete(item)
			default:
				tx.Set(item, item.Number*2)
			}
			tx.Insert(t, tx.New(t), 5)
			for _, item := range tx.Range(t, 10, 3) {
				tx.Delete(item)
			}
			return nil
		}, ""},
		"draws": {Table{Number: func(int64) int64 { return 0 }}, func(tx *Tx, t *Table) error {
			for range 50 {
				tx.Set(tx.Get(t, int64(tx.Below(3))), int64(tx.Below(1000)))
			}
			return nil
		}, ""},
		"Set twice": {Table{}, func(tx *Tx, t *Table) error {
			item := tx.Get(t, 1)
			tx.Set(item, 1)
			tx.Set(item, 2)
			return nil
		}, "record records/1: expected Get between"},
		"an error":            {Table{}, func(*Tx, *Table) error { return boom }, "boom"},
		"a panic":             {Table{}, func(*Tx, *Table) error { panic("own") }, "own"},
		"a violation":         {Table{}, func(*Tx, *Table) error { return Violated("%d is odd", 3) }, "violated: workload own, engine mvcc, 2 threads: 3 is odd"},
		"Put with numbers":    {Table{Number: func(int64) int64 { return 1 }}, func(tx *Tx, t *Table) error { tx.Put(t, 1); return nil }, "operation do: Put of table records"},
		"Put with deletions":  {Table{Size: words, Deletes: true}, func(tx *Tx, t *Table) error { tx.Put(t, 1); return nil }, "Put of table records"},
		"Add without numbers": {Table{Size: words}, func(tx *Tx, t *Table) error { tx.Add(t, 1, 1); return nil }, "Add to table records"},
		"Delete":              {Table{}, func(tx *Tx, t *Table) error { tx.Delete(tx.Get(t, 1)); return nil }, "expected Deletes"},
		"a number":            {Table{Size: words}, func(tx *Tx, t *Table) error { tx.Set(tx.Get(t, 1), 5); return nil }, "without numbers"},
	} {
		for _, engine := range []string{"mvcc", "rwmutex"} {
			if name == "a violation" && engine != "mvcc" {
				continue
			}
			_, e := named(t, "counter", engine)
			c.table.Name, c.table.Records = "records", 10
			w := modelOf(func(m *Model) {
				records := m.Table(c.table)
				m.Table(Table{Name: "others", Records: 1})
				m.Update("do", 1, func(tx *Tx) error { return c.do(tx, records) })
			})
			tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, Seed: 1})
			_, err := tr.RunOps(t.Context(), 2_000)
			if err == nil {
				err = tr.Verify()
			}
			if c.says == "" {
				require.NoError(t, err, "%s on %s", name, engine)
				continue
			}
			require.ErrorContains(t, err, c.says)
		}
	}
}

// An operation that rolls back counts as done and leaves nothing, on every engine.
func TestRollBack(t *testing.T) {
	for _, e := range Engines() {
		w := ownWorkloads["rolling"]()
		if _, ok := e.Runs(w); !ok {
			continue
		}
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 3, Seed: 1})
		require.EqualValues(t, 5_000, runOps(t, tr, 5_000).Ops)
		require.NoError(t, tr.Verify())
	}
}

// An attempt draws the numbers of the one before, and the next operation something else.
func TestAttemptsDrawTheSame(t *testing.T) {
	var drawn []int
	w := modelOf(func(m *Model) {
		m.Table(Table{Name: "records", Records: 1})
		m.View("draw", 1, func(tx *Tx) error {
			drawn = append(drawn, tx.Below(1<<30))
			return nil
		})
	})
	twice := faulty(func(s *tampered) {
		s.do = func(readOnly bool, fn func(Access) error) error {
			return s.done(readOnly, func(tx Access) error {
				_ = fn(tx)
				return fn(tx)
			})
		}
	})
	runOps(t, newTrial(t, Config{Workload: w, Engine: twice, Threads: 1, Seed: 1}), 10)
	require.Len(t, drawn, 20)
	for i := 0; i < len(drawn); i += 2 {
		require.Equal(t, drawn[i], drawn[i+1])
	}
	require.NotEqual(t, drawn[0], drawn[2])
}

// Records of a workload, and models that cannot be run.
func TestInvalidWorkloads(t *testing.T) {
	_, e := named(t, "counter", "mvcc")
	op := func(m *Model) { m.Update("do", 1, func(*Tx) error { return nil }) }
	for says, build := range map[string]func(m *Model){
		"expected a table":                      op,
		"expected an operation":                 func(m *Model) { m.Table(Table{Name: "t", Records: 1}) },
		"table t: expected from 1 to 100000000": func(m *Model) { m.Table(Table{Name: "t"}); op(m) },
		"values of 8 to 1048576 bytes, not 4-9": func(m *Model) { m.Table(Table{Name: "t", Records: 1, Size: ValueSize{4, 9}}); op(m) },
		"at most 100000000 records": func(m *Model) {
			m.Table(Table{Name: "t", Records: manyKeys})
			m.Table(Table{Name: "u", Records: 1})
			op(m)
		},
	} {
		_, err := New(Config{Workload: modelOf(build), Engine: e, Threads: 1})
		require.ErrorContains(t, err, says)
	}
	w := modelOf(nil)
	_, err := New(Config{Workload: w, Engine: e, Threads: 1})
	require.ErrorContains(t, err, "workload own: expected Build")
}

// Every workload has a name for each parameter and its range, and refuses a value out of it.
func TestParams(t *testing.T) {
	w, _ := WorkloadByName("ycsb-a")
	for key, want := range map[string]string{
		"keys": "1 to 100000000", "read-pct": "0 to 100", "theta": "0 to 10", "txn-size": "1 to 1000000",
		"value-size": "8 to 1048576", "rate": "",
	} {
		require.Equal(t, want, w.Range(key), key)
	}
	p := NoParams
	require.False(t, w.Takes(p))
	p.Theta = 2
	require.True(t, w.Takes(p))
	other, _ := WorkloadByName("counter")
	require.False(t, other.Takes(p))
	varied, err := w.With(p)
	require.NoError(t, err)
	require.Equal(t, 2.0, varied.Params.Theta)
	e, _ := EngineByName("mvcc")
	require.Equal(t, "YcsbA/theta=2/engine=mvcc/threads=1",
		Config{Workload: varied, Engine: e, Threads: 1}.Name())
	for _, bad := range []func(p *Params){
		func(p *Params) { p.Keys = 0 }, func(p *Params) { p.ReadPct = 101 }, func(p *Params) { p.Theta = 11 },
		func(p *Params) { p.TxnSize = -1 }, func(p *Params) { p.ValueSize = ValueSize{9, 8} },
	} {
		p := NoParams
		bad(&p)
		_, err := w.With(p)
		require.ErrorContains(t, err, "workload ycsb-a takes")
		w := w
		w.Params = p
		_, err = New(Config{Workload: w, Engine: e, Threads: 1})
		require.Error(t, err)
	}
	transfer, _ := WorkloadByName("transfer")
	require.Equal(t, "2 to 100000000", transfer.Range("keys"))
}

// A transaction of several operations does as many, and is read-only if all of them are.
func TestTransactionsOfSeveral(t *testing.T) {
	w, _ := WorkloadByName("ycsb-b")
	w.Params.Keys, w.Params.TxnSize = 100, 4
	calls, reads, all := 0, 0, 0
	tr := newTrial(t, Config{Workload: w, Threads: 1, Seed: 5, Engine: faulty(func(s *tampered) {
		s.do = func(readOnly bool, fn func(Access) error) error {
			if all++; readOnly {
				reads++
			}
			return s.done(readOnly, fn)
		}
		s.get = func(table int, key int64) (Record, bool) { calls++; return s.Access.Get(table, key) }
		s.put = func(table int, key int64, r Record) { calls++; s.Access.Put(table, key, r) }
	})})
	runOps(t, tr, 10_000)
	require.NoError(t, tr.Verify())
	require.Equal(t, 10_000, all)
	require.Equal(t, 40_000, calls)
	require.InDelta(t, 8_145, reads, 200, "0.95 to the fourth")
	e, _ := EngineByName("xsync")
	_, ok := e.Runs(w)
	require.False(t, ok, "it has no transactions")
}

// The memory of a run is measured, and a snapshot keeps one version of each record, not all.
func TestMemoryIsReported(t *testing.T) {
	for _, engine := range []string{"mvcc", "rwmutex"} {
		w, e := named(t, "long-reader", engine)
		w.Params.Keys = 100
		require.True(t, w.ReportsMemory())
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, AuditInterval: time.Millisecond})
		m := runOps(t, tr, 20_000)
		require.NoError(t, tr.Verify())
		require.NotNil(t, m.Memory)
		require.Positive(t, m.Audits)
		require.Positive(t, m.Memory.HeapStart)
		require.GreaterOrEqual(t, m.Memory.HeapPeak, max(m.Memory.HeapStart, m.Memory.HeapEnd))
		if engine == "rwmutex" {
			require.Zero(t, m.Memory.VersionsPeak, "it keeps none")
			require.Zero(t, tr.MapStats(""))
			continue
		}
		require.Equal(t, 100, m.Memory.VersionsStart)
		require.GreaterOrEqual(t, m.Memory.VersionsPeak, m.Memory.VersionsEnd)
		require.Less(t, m.Memory.VersionsEnd, 100*40, "20,000 were written")
		require.Equal(t, 100, tr.MapStats("").Keys)
	}
	w, e := named(t, "smallbank", "mvcc")
	w.Params.Keys = 10
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1})
	require.Nil(t, runOps(t, tr, 100).Memory)
	require.Equal(t, []string{"savings", "checking"}, w.Tables())
	require.Equal(t, 10, tr.MapStats("/checking").Keys)
}

// operationNow returns the label of the one goroutine that has it, "" if none has.
func operationNow() string {
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return err.Error()
	}
	key := fmt.Appendf(nil, "%q:", operationLabel)
	_, rest, found := bytes.Cut(text.Bytes(), key)
	if !found {
		return ""
	}
	var label string
	fmt.Sscanf(string(rest), "%q", &label)
	if bytes.Contains(rest, key) {
		return "several"
	}
	return label
}

// A goroutine that gets and puts is labelled with its operation while that is asked for, and
// not before or afterwards; one that only puts, always.
func TestLabelOperations(t *testing.T) {
	for _, w := range []Workload{halves(t), {Name: "put"}} {
		if w.Name == "put" {
			w = puts(t)
			w.Build = func(m *Model) {
				t := m.Table(Table{Name: "records", Records: 4, Size: words})
				m.Update("put", 1, func(tx *Tx) error { tx.Put(t, 1); return nil })
			}
		}
		var tr *Trial
		n, seen := 0, map[string]int{}
		always := len(w.model().ops) == 1
		done := func(what string) {
			if on := n >= 20 && n < 120; on || always {
				seen[what]++
				assert.Equal(t, what, operationNow(), "operation %d", n)
			} else {
				assert.Empty(t, operationNow(), "operation %d", n)
			}
			n++
			tr.LabelOperations(n >= 20 && n < 120)
		}
		tr = newTrial(t, Config{Workload: w, Threads: 1, Seed: 1, Engine: faulty(func(s *tampered) {
			s.get = func(table int, key int64) (Record, bool) { done("get"); return s.Access.Get(table, key) }
			s.put = func(table int, key int64, r Record) { done("put"); s.Access.Put(table, key, r) }
		})})
		runOps(t, tr, 150)
		require.Equal(t, 150, n)
		require.Equal(t, !always, seen["get"] > 0)
		require.NotZero(t, seen["put"])
	}
}

// Each operation of a measured run is reported with the time that is kept of it,
// in a closed and an open loop; those of a warm-up are not.
func TestWatch(t *testing.T) {
	_, e := named(t, "read-heavy", "rwmutex")
	for _, rate := range []float64{0, 1e6} {
		tr := newTrial(t, Config{Workload: halves(t), Engine: e, Threads: 2, Seed: 1,
			LatencySample: 1, Rate: rate})
		var n, longest atomic.Int64
		tr.Watch(func(took time.Duration) {
			n.Add(1)
			for {
				old := longest.Load()
				if int64(took) <= old || longest.CompareAndSwap(old, int64(took)) {
					return
				}
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := tr.RunFor(ctx, time.Hour, false)
		require.NoError(t, err)
		require.Zero(t, n.Load(), "a warm-up was reported")
		m := runOps(t, tr, 1_000)
		require.Equal(t, int64(m.Ops), n.Load())
		require.Equal(t, int64(m.Service.Max()), longest.Load())
	}
}

// The engines say which workloads they cannot run, and such a trial is refused.
func TestEnginesSayWhatTheyCannotRun(t *testing.T) {
	for engine, cannot := range map[string][]string{
		"mvcc": nil, "rwmutex": nil,
		"mvcc-direct": {"transfer", "range-audit", "long-reader", "ycsb-e", "tpcc"},
		"sync.Map":    {"transfer", "long-reader", "ycsb-f"},
		"xsync":       {"audited", "long-reader", "smallbank", "tatp"},
	} {
		e, _ := EngineByName(engine)
		for _, name := range cannot {
			w, _ := WorkloadByName(name)
			why, ok := e.Runs(w)
			require.False(t, ok, "%s on %s", name, engine)
			_, err := New(Config{Workload: w, Engine: e, Threads: 1})
			require.ErrorContains(t, err, "cannot run "+name+": "+why)
		}
	}
}
