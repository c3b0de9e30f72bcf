package bench

import (
	"context"
	"time"
)

// HarnessCost returns the nanoseconds that the harness itself takes of each
// operation of w in a single goroutine: the loop, the random choices and the
// record kept for verification. It is contained in every figure of every engine.
// It is measured now, in a few milliseconds, with an engine that does nothing but
// remember what it was given; with many keys it is an underestimate, because
// memory is slower than caches.
func HarnessCost(w Workload) (ns float64, err error) {
	const few = 10_000
	if w.Params.Keys > few {
		w.Params.Keys = few
	}
	t, err := New(Config{Workload: w, Engine: idleSpec(), Threads: 1, LatencySample: maxSample, AuditInterval: time.Hour})
	if err != nil {
		return 0, err
	}
	defer t.Close()
	if _, err := t.RunOps(context.Background(), 10_000); err != nil {
		return 0, err
	}
	m, err := t.RunOps(context.Background(), 50_000)
	return m.NsPerOp(), err
}

// idleSpec makes an engine whose single session answers as a map would, from an
// array that is indexed by the number in the key.
func idleSpec() EngineSpec {
	return EngineSpec{Name: "idle", New: func(setup Setup) (Engine, error) {
		e := &idle{values: setup.Values}
		for _, v := range e.values {
			e.total += v
		}
		return e, nil
	}}
}

// idle is engine and session in one.
type idle struct {
	values []uint64
	total  uint64
}

func (e *idle) Session(int) Session { return e }
func (e *idle) Close()              {}
func (e *idle) Aborts() uint64      { return 0 }

func (e *idle) number(key string) int {
	n := 0
	for i := len(keyPrefix); i < len(key); i++ {
		n = 10*n + int(key[i]-'0')
	}
	return n
}

func (e *idle) Get(key string) (uint64, bool, error) { return e.values[e.number(key)], true, nil }

func (e *idle) Put(key string, value uint64) error {
	e.values[e.number(key)] = value
	return nil
}

func (e *idle) Add(key string, delta uint64) (uint64, error) {
	k := e.number(key)
	e.values[k] += delta
	return e.values[k], nil
}

func (e *idle) Begin() error { return nil }

// Transfer does not even remember, because the auditor reads meanwhile.
func (e *idle) Transfer(string, string, uint64) error { return nil }

func (e *idle) Sum() (uint64, int, error) { return e.total, len(e.values), nil }
