package bench

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ordersFile has orders with lines in a loop, of which some are rolled back. Keys grow.
const ordersFile = `{
	"name": "orders-in-loops",
	"tables": {
		"next": {"records": 3, "number": 4},
		"stock": {"records": 40, "number": 1000},
		"orders": {"records": 12, "number": 2, "size": 16, "grows": true},
		"lines": {"records": 60, "number": 1, "present": "key % 5 < 2", "grows": true}
	},
	"draws": {
		"district": {"table": "next"}, "item": {"table": "stock", "by": "zipf", "theta": 0.9},
		"many": {"from": 0, "to": 5}, "tenth": {"from": 0, "to": 9}
	},
	"operations": {
		"order": {"weight": 6, "vars": {"d": "district", "n": "many", "wrong": "tenth == 0"}, "steps": [
			{"modify": "next", "key": "d", "value": "old + 1", "as": "number"},
			{"let": "o", "be": "number*3 + d"},
			{"insert": "orders", "key": "o", "value": "n"},
			{"repeat": "n", "as": "i", "steps": [
				{"let": "what", "be": "item"},
				{"modify": "stock", "key": "what", "value": "old - 1"},
				{"insert": "lines", "key": "o*5 + i", "value": 1}
			]},
			{"rollback": "wrong"}]},
		"look": {"vars": {"d": "district"}, "steps": [
			{"get": "next", "key": "d", "as": "number"},
			{"repeat": 2, "as": "j", "steps": [
				{"let": "o", "be": "(number - 1 - j)*3 + d"},
				{"get": "orders", "key": "o", "as": "lines_of"},
				{"repeat": "lines_of", "as": "i", "steps": [{"get": "lines", "key": "o*5 + i", "as": "line"}]}
			]}]},
		"cancel": {"vars": {"d": "district"}, "steps": [
			{"get": "next", "key": "d", "as": "number"},
			{"let": "o", "be": "(number - 1)*3 + d"},
			{"get": "orders", "key": "o", "as": "n"},
			{"repeat": "n", "as": "i", "steps": [
				{"delete": "lines", "key": "o*5 + i", "as": "gone"},
				{"end": "!gone.found"},
				{"modify": "stock", "key": "i", "value": "old + 1"}]},
			{"modify": "orders", "key": "o", "value": 0}]}
	},
	"invariants": [
		{"sum": "next", "equals": {"count": "orders"}},
		{"sum": "orders", "equals": {"count": "lines"}},
		{"sum": ["stock", "lines"], "equals": 40024}
	]
}`

func TestRepeatAndRollBack(t *testing.T) {
	w := fileWorkload(t, ordersFile)
	for _, name := range []string{"mvcc", "rwmutex", "mutex"} {
		e, ok := EngineByName(name)
		require.True(t, ok)
		for _, level := range []Isolation{Serializable, Snapshot} {
			tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 4, Isolation: level, Seed: 1,
				AuditInterval: time.Millisecond})
			m := runOps(t, tr, 20_000)
			require.NoError(t, tr.Verify(), name)
			require.Positive(t, m.Audits)
			ended := uint64(0)
			for _, o := range m.Operations {
				require.Positive(t, o.Ops, o.Name)
				ended += o.Ops
			}
			require.Equal(t, m.Ops, ended, "one that is rolled back is done as well")
		}
	}
}

// neverBack keeps what is rolled back.
type neverBack struct{ *lockedTables[sync.RWMutex] }

func (n neverBack) Session(int) TablesSession { return n }

func (n neverBack) Do(_ bool, fn func(TablesTx) error) error {
	n.lock()
	defer n.unlock()
	return fn(n.lockedTables)
}

func TestFaultsOfRepeatsAreCaught(t *testing.T) {
	w := fileWorkload(t, ordersFile)
	for _, fault := range []string{"loses a transaction", "loses a write", "does not delete",
		"does not find a record", "shows an old number", "damages bytes", "does not roll back"} {
		for _, threads := range []int{1, 3} {
			e := lockedAs(func(l *lockedTables[sync.RWMutex]) Tables {
				if fault == "does not roll back" {
					l.undo = nil
					return neverBack{l}
				}
				return &brokenBank{l, fault, every(50), threads}
			})
			requireCaught(t, fault, Config{Workload: w, Engine: e, Threads: threads, Seed: 1,
				AuditInterval: time.Millisecond})
		}
	}
}

// What is drawn in a repeat is the same in each attempt of a transaction, another one each time, and
// another one in the next transaction.
func TestRepeatsDrawOnce(t *testing.T) {
	w := fileWorkload(t, `{"name": "draws", "tables": {"a": {"records": 1, "number": 0}},
		"draws": {"any": {"from": 0, "to": 1000000000000}},
		"operations": {"o": {"steps": [{"repeat": 3, "steps": [
			{"let": "x", "be": "any"}, {"put": "a", "key": 0, "value": "x"}]}]}}}`)
	var puts []int64
	e := lockedAs(func(l *lockedTables[sync.RWMutex]) Tables { return twice{l, &puts} })
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1, Seed: 1})
	runOps(t, tr, 2)
	seen := map[int64]int{}
	for _, x := range puts {
		seen[x]++
	}
	require.Len(t, seen, len(puts)/2)
	require.Equal(t, puts[:3], puts[3:6])
}

// twice runs each transaction twice, and notes what it puts.
type twice struct {
	*lockedTables[sync.RWMutex]
	puts *[]int64
}

func (e twice) Session(int) TablesSession { return e }

func (e twice) Do(readOnly bool, fn func(TablesTx) error) error {
	return e.lockedTables.Do(readOnly, func(TablesTx) error {
		if err := fn(e); err != nil {
			return err
		}
		return fn(e)
	})
}

func (e twice) Put(table int, key RecordKey, r Record) {
	*e.puts = append(*e.puts, r.Number)
	e.lockedTables.Put(table, key, r)
}

// A file that repeats without end is stopped, and says where.
func TestRepeatsAreBounded(t *testing.T) {
	w := fileWorkload(t, `{"name": "long", "tables": {"a": {"records": 1, "number": 1000}},
		"operations": {"o": {"steps": [{"get": "a", "key": 0, "as": "n"},
			{"repeat": "n", "steps": [{"repeat": "n", "steps": [{"get": "a", "key": 0}]}]}]}}}`)
	_, e := named(t, "transfer", "rwmutex")
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1})
	_, err := tr.RunOps(t.Context(), 1)
	require.ErrorContains(t, err, "operation o, line 3: repeat 1000; expected at most 100000 times")
}

// The shipped file is right on engines that roll back in different ways.
func TestTPCC(t *testing.T) {
	if testing.Short() {
		t.Skip("fills 1,400,000 records")
	}
	w := mustFile(t, "tpcc")
	w.Params.Keys = 2
	for _, name := range []string{"mvcc", "rwmutex"} {
		e, _ := EngineByName(name)
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, Seed: 1})
		runOps(t, tr, 500)
		require.NoError(t, tr.Verify(), name)
	}
}

// What runs the steps of a file allocates nothing of its own, so that it measures the engine.
func TestScriptAllocatesNothing(t *testing.T) {
	w := fileWorkload(t, `{"name": "still", "tables": {"a": {"records": 9, "number": 1}},
		"draws": {"any": {"table": "a"}},
		"operations": {"o": {"steps": [{"modify": "a", "key": "any", "value": "old + 1"},
			{"repeat": 3, "as": "i", "steps": [{"get": "a", "key": "any", "as": "x"}]}]}}}`)
	_, e := named(t, "transfer", "rwmutex")
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1})
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if err := tr.workers[0].task.do(); err != nil {
			t.Error(err)
		}
	}))
}
