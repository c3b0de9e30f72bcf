package bench

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tampered is a session of tables under a RWMutex whose methods a test may replace.
type tampered struct {
	Session
	Access // of the transaction under way, as the engine gives it
	do     func(readOnly bool, fn func(Access) error) error
	get    func(table int, key int64) (Record, bool)
	put    func(table int, key int64, r Record)
	add    func(table int, key, delta int64)
	remove func(table int, key int64)
	ranges func(table int, low int64, visit func(int64, Record) bool)
	all    func(table int, visit func(int64, Record))
	aborts func() uint64
	pin    func() (Access, func(), error)
	sleep  *sleeper // a field for the tests of pace
}

func (s *tampered) Do(readOnly bool, fn func(Access) error) error { return s.do(readOnly, fn) }
func (s *tampered) Get(table int, key int64) (Record, bool)       { return s.get(table, key) }
func (s *tampered) Put(table int, key int64, r Record)            { s.put(table, key, r) }
func (s *tampered) Add(table int, key, delta int64)               { s.add(table, key, delta) }
func (s *tampered) Delete(table int, key int64)                   { s.remove(table, key) }
func (s *tampered) All(table int, visit func(int64, Record))      { s.all(table, visit) }
func (s *tampered) Aborts() uint64                                { return s.aborts() }
func (s *tampered) Pin() (Access, func(), error)                  { return s.pin() }

func (s *tampered) Range(table int, low int64, visit func(int64, Record) bool) {
	s.ranges(table, low, visit)
}

// done is Do as it should be, but for the replaced parts of the [Access].
func (s *tampered) done(readOnly bool, fn func(Access) error) error {
	return s.Session.Do(readOnly, func(tx Access) error {
		s.Access = tx
		return fn(s)
	})
}

// tamperer is an engine whose sessions are tampered with.
type tamperer struct {
	Engine
	with func(s *tampered, worker int)
}

func (e tamperer) Session(worker int) Session {
	s := &tampered{Session: e.Engine.Session(worker)}
	s.do, s.aborts, s.pin = s.done, s.Session.Aborts, s.Session.(Pinner).Pin
	s.get = func(table int, key int64) (Record, bool) { return s.Access.Get(table, key) }
	s.put = func(table int, key int64, r Record) { s.Access.Put(table, key, r) }
	s.add = func(table int, key, delta int64) { s.Access.Add(table, key, delta) }
	s.remove = func(table int, key int64) { s.Access.Delete(table, key) }
	s.all = func(table int, visit func(int64, Record)) { s.Access.All(table, visit) }
	s.ranges = func(table int, low int64, visit func(int64, Record) bool) {
		s.Access.Range(table, low, visit)
	}
	e.with(s, worker)
	return s
}

// tamper returns an engine whose sessions with tampers with; that of the runner is called -1.
func tamper(with func(s *tampered, worker int)) EngineSpec {
	e, _ := EngineByName("rwmutex")
	return EngineSpec{Name: "faulty", New: func(setup Setup) (Engine, error) {
		made, err := e.New(setup)
		return tamperer{made, with}, err
	}}
}

// faulty is tamper, but for the runner's session.
func faulty(with func(s *tampered)) EngineSpec {
	return tamper(func(s *tampered, worker int) {
		if worker >= 0 {
			with(s)
		}
	})
}

// every returns a function that is true once in n times.
func every(n int) func() bool {
	var i atomic.Int64
	return func() bool { return i.Add(1)%int64(n) == 0 }
}

// newTrial returns a trial that is closed at the end of the test.
func newTrial(t *testing.T, c Config) *Trial {
	t.Helper()
	tr, err := New(c)
	require.NoError(t, err, c.Name())
	t.Cleanup(tr.Close)
	return tr
}

// runOps runs n operations, which succeed.
func runOps(t *testing.T, tr *Trial, n uint64) Measurement {
	t.Helper()
	m, err := tr.RunOps(t.Context(), n)
	require.NoError(t, err, tr.config.Name())
	return m
}

func named(t *testing.T, workload, engine string) (Workload, EngineSpec) {
	t.Helper()
	w, ok := WorkloadByName(workload)
	require.True(t, ok, workload)
	e, ok := EngineByName(engine)
	require.True(t, ok, engine)
	return w, e
}

// puts is read-heavy with puts alone.
func puts(t *testing.T) Workload {
	w, _ := named(t, "read-heavy", "mvcc")
	w.Params.ReadPct = 0
	return w
}

// halves is read-heavy with as many puts as gets.
func halves(t *testing.T) Workload {
	w := puts(t)
	w.Params.ReadPct = 50
	return w
}

// smallWorkloads returns all workloads with so few keys that a test of them is quick.
func smallWorkloads() []Workload {
	list := slices.DeleteFunc(Workloads(), func(w Workload) bool { return w.Name == "tpcc" })
	for i := range list {
		list[i].Params.Keys = min(list[i].Params.Keys, 200)
	}
	return list
}

// modelOf returns a workload of one's own.
func modelOf(build func(m *Model)) Workload {
	return Workload{Name: "own", Doc: "A workload of a test", Params: NoParams, Build: build}
}

// sleeper is the duration of an operation of [paced].
type sleeper struct {
	service func(n int) time.Duration
	n       int
	begun   []time.Duration
}
