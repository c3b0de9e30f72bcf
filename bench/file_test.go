package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fileWorkload returns the workload of a file with that text.
func fileWorkload(t *testing.T, text string) Workload {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	w, err := ReadWorkload(file)
	require.NoError(t, err)
	return w
}

// bankFile has every kind of step, over tables of which records come and go.
const bankFile = `{
	"name": "bank",
	"params": {"keys": 30},
	"tables": {
		"accounts": {"records": "keys", "number": 100, "size": 16},
		"reserve": {"key": "string", "records": 3, "number": "1000*key"},
		"notes": {"records": "keys", "present": "key % 2", "number": "key", "size": "8-24"},
		"log": {"key": "string", "records": 10, "size": 8}
	},
	"draws": {
		"account": {"table": "accounts", "by": "hot", "share": 0.2, "of": 0.7, "moves": 50},
		"pool": {"table": "reserve"},
		"note": {"table": "notes"},
		"entry": {"table": "log", "by": "latest", "theta": 0.8},
		"first": {"from": 0, "to": 9},
		"amount": {"from": 1, "to": 9}
	},
	"operations": {
		"transfer": {"weight": 4, "vars": {"a": "account", "b": {"draw": "account", "not": "a"}, "n": "amount"},
			"steps": [
				{"modify": "accounts", "key": "a", "value": "old - n", "as": "x"},
				{"get": "accounts", "key": "a"},
				{"modify": "accounts", "key": "b", "value": "old + n"}]},
		"save": {"vars": {"p": "pool", "q": {"draw": "pool", "not": "p"}, "n": "amount"}, "steps": [
			{"add": "reserve", "key": "p", "value": "n"},
			{"add": "reserve", "key": "q", "value": "-n"}]},
		"write": {"steps": [{"insert": "notes", "key": "note", "value": "amount", "as": "n"},
			{"insert": "log", "key": "new", "if": "!n.found"}]},
		"erase": {"steps": [{"delete": "notes", "key": "note", "as": "n"}]},
		"change": {"steps": [{"modify": "notes", "key": "note", "value": "old + 1"}]},
		"look": {"weight": 2, "vars": {"k": "account"}, "steps": [
			{"range": "accounts", "key": "k", "count": "amount", "as": "r"},
			{"end": "r == 0"},
			{"let": "low", "be": "min(r.sum, 3)"},
			{"get": "log", "key": "entry"}]},
		"pages": {"steps": [{"range": "log", "key": "first", "count": "amount"}]},
		"close": {"steps": [{"range": "notes", "key": "note", "count": 5}, {"put": "log", "key": "first"}]}
	},
	"invariants": [
		{"sum": "accounts"},
		{"sum": "reserve", "equals": 3000},
		{"count": ["accounts", "reserve"], "equals": "keys + 3"},
		{"sum": "accounts", "equals": {"sum": "accounts"}},
		{"count": "accounts", "equals": 30, "at": "end"}
	]
}`

// Every kind of step is right on every engine that has tables, at both levels.
func TestScript(t *testing.T) {
	w := fileWorkload(t, bankFile)
	ran := 0
	for _, e := range Engines() {
		if _, ok := e.Runs(w); !ok {
			continue
		}
		ran++
		for _, level := range []Isolation{Serializable, Snapshot} {
			tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 4, Isolation: level, Seed: 1,
				AuditInterval: time.Millisecond, LatencySample: 2})
			m := runOps(t, tr, 20_000)
			require.NoError(t, tr.Verify())
			require.Positive(t, m.Audits)
			sum := uint64(0)
			require.Len(t, m.Operations, 8)
			for _, o := range m.Operations {
				require.Positive(t, o.Ops, o.Name)
				require.Positive(t, o.Service.Count(), o.Name)
				sum += o.Ops
			}
			require.Equal(t, m.Ops, sum)
		}
	}
	require.Equal(t, 3, ran)
}

// Which engines run which files: those whose operations are of single keys run everywhere.
func TestEnginesOfFiles(t *testing.T) {
	all := []string{"mvcc", "mvcc-direct", "rwmutex", "mutex", "sync.Map", "xsync"}
	ordered := []string{"mvcc", "rwmutex", "mutex"}
	for name, want := range map[string][]string{
		"ycsb-a": all, "ycsb-b": all, "ycsb-c": all, "ycsb-d": all, "ycsb-f": all, "ycsb-e": ordered,
		"smallbank": ordered, "tatp": ordered, "tpcc": ordered,
	} {
		w, ok := WorkloadByName(name)
		require.True(t, ok)
		var got []string
		for _, e := range Engines() {
			if _, ok := e.Runs(w); ok {
				got = append(got, e.Name)
			}
		}
		require.Equal(t, want, got, name)
	}
	w, _ := WorkloadByName("ycsb-a")
	w.Params.TxnSize = 2
	e, _ := EngineByName("xsync")
	why, ok := e.Runs(w)
	require.False(t, ok)
	require.Equal(t, noMultiTx, why)
}

// A brokenBank is tables whose sessions, but for the runner's and the auditor's, do one thing wrong.
type brokenBank struct {
	*lockedTables[sync.RWMutex]
	fault   string
	now     func() bool
	threads int
}

func (b *brokenBank) Session(worker int) TablesSession {
	if worker < 0 || worker >= b.threads {
		return b.lockedTables
	}
	return b
}

func (b *brokenBank) does(fault string) bool { return b.fault == fault && b.now() }

func (b *brokenBank) Do(readOnly bool, fn func(TablesTx) error) error {
	if b.does("loses a transaction") {
		own := *b
		own.fault, own.now = "writes nothing", func() bool { return true }
		return b.lockedTables.Do(readOnly, func(TablesTx) error { return fn(&own) })
	}
	readOnly = readOnly && b.fault != "tears transactions" // which lets go of the other lock
	return b.lockedTables.Do(readOnly, func(TablesTx) error { return fn(b) })
}

func (b *brokenBank) Get(table int, key RecordKey) (Record, bool) {
	r, ok := b.lockedTables.Get(table, key)
	if b.does("tears transactions") {
		b.unlock()
		runtime.Gosched()
		b.lock()
	}
	switch {
	case b.does("does not find a record"):
		return Record{}, false
	case b.does("damages bytes") && len(r.Bytes) > 0:
		r.Bytes = slices.Clone(r.Bytes)
		r.Bytes[len(r.Bytes)-1] ^= 1
	case b.does("shows another record"):
		other, _ := b.lockedTables.Get(table, RecordKey{1, "key-000000001"})
		r.Bytes = other.Bytes
	case b.does("shows an old number"):
		r.Number--
	}
	return r, ok
}

func (b *brokenBank) Put(table int, key RecordKey, r Record) {
	if !b.does("loses a write") && b.fault != "writes nothing" {
		b.lockedTables.Put(table, key, r)
	}
}

func (b *brokenBank) Add(table int, key RecordKey, delta int64) {
	if !b.does("loses an addition") && b.fault != "writes nothing" {
		b.lockedTables.Add(table, key, delta)
	}
}

func (b *brokenBank) Delete(table int, key RecordKey) {
	if !b.does("does not delete") && b.fault != "writes nothing" {
		b.lockedTables.Delete(table, key)
	}
}

func (b *brokenBank) Range(table int, low RecordKey, visit func(RecordKey, Record) bool) {
	n := 0
	b.lockedTables.Range(table, low, func(key RecordKey, r Record) bool {
		switch n++; {
		case n == 2 && b.does("leaves a record out of a range"):
			return true
		case n == 2 && b.does("ends a range early"):
			return false
		case n == 2 && b.does("gives a record twice"):
			visit(key, r)
		}
		return visit(key, r)
	})
}

// lockedAs is an engine whose tables are what as makes of those under a RWMutex.
func lockedAs(as func(l *lockedTables[sync.RWMutex]) Tables) EngineSpec {
	e, _ := EngineByName("rwmutex")
	e.NewTables = func(setup TablesSetup) (Tables, error) {
		made, err := newLockedTables[sync.RWMutex](setup)
		return as(made.(*lockedTables[sync.RWMutex])), err
	}
	return e
}

// Each fault is found in one file or another.
func TestFaultyTablesAreCaught(t *testing.T) {
	const only = `{"name": "only", "tables": {"accounts": {"records": 30, "number": 100}},
		"draws": {"account": {"table": "accounts"}, "amount": {"from": 1, "to": 9}},
		"operations": {"transfer": {
			"vars": {"a": "account", "b": {"draw": "account", "not": "a"}, "n": "amount"}, "steps": [
				{"get": "accounts", "key": "a", "as": "x"}, {"get": "accounts", "key": "b", "as": "y"},
				{"put": "accounts", "key": "a", "value": "x - n"},
				{"put": "accounts", "key": "b", "value": "y + n"}]}},
		"invariants": [{"sum": "accounts"}]}`
	small := func(name string) Workload {
		w := mustFile(t, name)
		w.Params.Keys = 20
		return w
	}
	bank, sums := fileWorkload(t, bankFile), fileWorkload(t, only)
	for _, c := range []struct {
		fault     string
		workloads []Workload
	}{
		{"loses a transaction", []Workload{bank, small("smallbank"), small("tatp")}},
		{"loses a write", []Workload{bank, sums, small("smallbank"), small("tatp")}},
		{"loses an addition", []Workload{bank}},
		{"does not delete", []Workload{bank, small("tatp")}},
		{"tears transactions", []Workload{bank, sums, small("smallbank")}},
		{"does not find a record", []Workload{bank, sums, small("smallbank"), small("tatp")}},
		{"shows another record", []Workload{bank, small("tatp")}},
		{"shows an old number", []Workload{bank, sums, small("smallbank")}},
		{"damages bytes", []Workload{bank, small("tatp")}},
		{"leaves a record out of a range", []Workload{bank}},
		{"ends a range early", []Workload{bank}},
		{"gives a record twice", []Workload{bank}},
	} {
		for _, w := range c.workloads {
			for _, threads := range []int{1, 3} {
				if threads == 1 && c.fault == "tears transactions" {
					continue
				}
				e := lockedAs(func(l *lockedTables[sync.RWMutex]) Tables {
					return &brokenBank{l, c.fault, every(50), threads}
				})
				requireCaught(t, c.fault, Config{Workload: w, Engine: e, Threads: threads, Seed: 1,
					AuditInterval: time.Millisecond})
			}
		}
	}
}

// An invariant that only snapshots see, while it runs, is found by them: at the end all is well.
func TestInvariantWhileItRuns(t *testing.T) {
	w := fileWorkload(t, bankFile)
	e := lockedAs(func(l *lockedTables[sync.RWMutex]) Tables { return lagging{l} })
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1, AuditInterval: time.Microsecond})
	var v *Violation
	_, err := tr.RunFor(t.Context(), 5*time.Second, true)
	require.ErrorAs(t, err, &v)
	require.Contains(t, v.Detail, "invariant: the sum of accounts is what it was at first: ")
}

// An invariant of the end is not audited, and is found then.
func TestInvariantAtTheEnd(t *testing.T) {
	w := fileWorkload(t, `{"name": "grows", "tables": {"a": {"records": 2, "number": 1}},
		"operations": {"o": {"steps": [{"insert": "a", "key": "new", "value": 1}]}},
		"invariants": [{"count": "a", "equals": 2, "at": "end"}]}`)
	require.False(t, w.HasAudits())
	_, e := named(t, "transfer", "mvcc")
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1, AuditInterval: time.Microsecond})
	require.Zero(t, runOps(t, tr, 10).Audits)
	var v *Violation
	require.ErrorAs(t, tr.Verify(), &v)
	require.Equal(t, "invariant: the count of a equals 2: 12 is not 2", v.Detail)
}

// lagging shows auditors, which look at all of a table, one record less.
type lagging struct{ *lockedTables[sync.RWMutex] }

func (l lagging) Session(worker int) TablesSession {
	if worker == 1 {
		return l
	}
	return l.lockedTables
}

func (l lagging) Do(readOnly bool, fn func(TablesTx) error) error {
	return l.lockedTables.Do(readOnly, func(TablesTx) error { return fn(l) })
}

func (l lagging) All(table int, visit func(RecordKey, Record)) {
	first := true
	l.lockedTables.All(table, func(k RecordKey, r Record) {
		if !first {
			visit(k, r)
		}
		first = false
	})
}

// What inserts and ranges of a plain file may get wrong is found.
func TestFaultsOfNewKeys(t *testing.T) {
	for _, c := range []struct {
		workload, fault string
		threads         int
		with            func(s *numberSession)
	}{
		{"ycsb-d", "loses new keys", 1, badPut(func(*numberSession, string, uint64) error { return nil })},
		{"ycsb-e", "loses new keys", 3, badPut(func(*numberSession, string, uint64) error { return nil })},
		{"ycsb-d", "puts new keys elsewhere", 3, badPut(func(s *numberSession, key string, v uint64) error {
			return s.rwMutex.Put(key+"x", v)
		})},
		{"ycsb-d", "makes values up", 1, badGet(func(s *numberSession, key string) (uint64, bool, error) {
			v, ok, err := s.rwMutex.Get(key)
			return v + 1<<seqBits, ok, err
		})},
		{"ycsb-e", "leaves a key out", 2, leavesOut}, {"ycsb-e", "gives a key twice", 2, givesTwice},
		{"ycsb-e", "makes a key up", 2,
			badRange(func(s *numberSession, low string, n int, visit func(string, uint64)) error {
				return s.ranged(low, n, func(key string, v uint64) { visit(key+"0", v) })
			})},
		{"ycsb-e", "ends early", 2, endsEarly},
	} {
		w, ok := WorkloadByName(c.workload)
		require.True(t, ok)
		w.Params.Keys, w.Params.ValueSize = 50, words
		if c.workload == "ycsb-d" && c.fault != "makes values up" {
			file := *w.file
			file.Operations = slices.Clone(file.Operations)
			file.Operations[0].Weight = 5
			w.file = &file
		}
		requireCaught(t, c.fault, Config{Workload: w, Engine: faulty(c.with), Threads: c.threads, Seed: 1})
	}
}

// New keys are among the others in the order of hashed keys, and ranges find them.
func TestNewKeysAreScattered(t *testing.T) {
	w, _ := WorkloadByName("ycsb-e")
	w.Params.Keys = 100
	for _, name := range []string{"mvcc", "rwmutex"} {
		e, _ := EngineByName(name)
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, Seed: 1})
		runOps(t, tr, 4_000)
		require.NoError(t, tr.Verify())
		job := tr.rig.(*rigOf[[]byte]).job.(*plainJob[[]byte])
		before := 0
		for k := len(job.rig.list); k < int(job.next.Load()); k++ {
			if hashedKey(k) < job.rig.list[50] {
				before++
			}
		}
		require.InDelta(t, 100, before, 40, "half of 200")
	}
}

// Results of files that do different work have different names.
func TestNamesOfFiles(t *testing.T) {
	name := func(w Workload) string { return Config{Workload: w, AuditInterval: DefaultAuditInterval}.Name() }
	a := fileWorkload(t, bankFile)
	b := fileWorkload(t, strings.Replace(bankFile, `"moves": 50`, `"moves": 51`, 1))
	require.Regexp(t, `^Bank/file=[0-9a-f]{8}/`, name(a))
	require.NotEqual(t, name(a), name(b))
	p := NoParams
	p.Keys = 40
	more, err := a.With(p)
	require.NoError(t, err)
	require.Regexp(t, `^Bank/keys=40/file=`, name(more))
	w, _ := WorkloadByName("tatp")
	require.Regexp(t, `^Tatp/engine=`, name(w))
}

// What a file asks for and its parameters do not allow is refused before the run.
func TestBadLayouts(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"records": "keys", "number": 100`, `"records": "keys - 30", "number": 100`,
			"a.json: table accounts: records: expected from 1 to 100000000, not 0"},
		{`{"from": 1, "to": 9}`, `{"from": 9, "to": 1}`, "a.json: draw amount: expected from 9 up"},
		{`"name": "bank"`, `"name": "transfer"`, `name: expected another than "transfer"`},
	} {
		file := filepath.Join(t.TempDir(), "a.json")
		text := strings.Replace(bankFile, c.old, c.new, 1)
		require.NotEqual(t, bankFile, text)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := ReadWorkload(file)
		require.ErrorContains(t, err, c.want)
	}
	w := fileWorkload(t, strings.Replace(bankFile, `"records": "keys", "number": 100`,
		`"records": "keys - 10", "number": 100`, 1))
	w.Params.Keys = 10
	e, _ := EngineByName("mvcc")
	_, err := New(Config{Workload: w, Engine: e, Threads: 1})
	require.ErrorContains(t, err, "table accounts: records: expected from 1")

	// An invariant that is not true at first is the file's fault, not the engine's.
	w = fileWorkload(t, strings.Replace(bankFile, `"equals": 3000`, `"equals": 3001`, 1))
	_, err = New(Config{Workload: w, Engine: e, Threads: 1})
	require.ErrorContains(t, err, "the sum of reserve equals 3001")
	var v *Violation
	require.NotErrorAs(t, err, &v)

	// So is a key that a table does not have.
	w = fileWorkload(t, strings.Replace(bankFile, `{"get": "accounts", "key": "a"}`,
		`{"get": "accounts", "key": "a + 30"}`, 1))
	_, err = newTrial(t, Config{Workload: w, Engine: e, Threads: 1}).RunOps(t.Context(), 1_000)
	require.ErrorContains(t, err, "operation transfer, line 22: key ")
	require.ErrorContains(t, err, "of table accounts; expected a number from 0 to 29")
	require.NotErrorAs(t, err, &v)
}

// retrying runs each transaction once before, and gives that attempt up.
type retrying struct{ *lockedTables[sync.RWMutex] }

func (r retrying) Session(worker int) TablesSession {
	if worker < 0 {
		return r.lockedTables
	}
	return r
}

func (r retrying) Do(readOnly bool, fn func(TablesTx) error) error {
	return r.lockedTables.Do(readOnly, func(TablesTx) error {
		nothing := &brokenBank{lockedTables: r.lockedTables, fault: "writes nothing"}
		if err := fn(nothing); err != nil {
			return err
		}
		return fn(r.lockedTables)
	})
}

// What an attempt has drawn is drawn for all of them, and what it did counts only if it commits.
func TestAttemptsThatAreGivenUp(t *testing.T) {
	for _, w := range []Workload{fileWorkload(t, bankFile),
		mustFile(t, "tatp"), mustFile(t, "smallbank")} {
		w.Params.Keys = 30
		e := lockedAs(func(l *lockedTables[sync.RWMutex]) Tables { return retrying{l} })
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, Seed: 1})
		runOps(t, tr, 5_000)
		require.NoError(t, tr.Verify(), w.Name)
	}
}

func mustFile(t *testing.T, name string) Workload {
	t.Helper()
	w, ok := WorkloadByName(name)
	require.True(t, ok)
	return w
}

// The text of a new key is made once.
func TestNamesOfNewKeys(t *testing.T) {
	for _, n := range []*keyNames{{first: 10}, {first: 10, ordered: true}, {first: 10, hashed: true}} {
		for _, k := range []int{10, 11, 1 << 14, 10 + 1<<14, 1 << 28} {
			want := newKey(k, n.ordered, n.hashed)
			require.Equal(t, want, n.of(k))
			back, ok := numberOf(n.of(k), n.hashed)
			require.True(t, ok)
			require.Equal(t, k, back)
		}
		require.Zero(t, testing.AllocsPerRun(100, func() { n.of(11) }))
	}
}
