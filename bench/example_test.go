package bench_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/mvccmap/mvccmap/bench"
)

// locked is a map of one's own, to be measured.
type locked struct {
	mu sync.Mutex
	m  map[string]uint64
}

func (l *locked) Session(int) bench.Session[uint64] { return l } // no state of its own
func (l *locked) Close()                            {}
func (l *locked) Aborts() uint64                    { return 0 }

func (l *locked) Get(key string) (uint64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.m[key]
	return v, ok, nil
}

func (l *locked) Put(key string, value uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.m[key] = value
	return nil
}

// A map of one's own under a built-in workload: measured, then verified.
func Example() {
	engine := bench.EngineSpec{
		Name: "locked",
		New: func(setup bench.Setup[uint64]) (bench.Engine[uint64], error) {
			l := &locked{m: make(map[string]uint64)}
			for i, k := range setup.Keys {
				l.m[k] = setup.Values[i]
			}
			return l, nil
		},
	}
	workload, _ := bench.WorkloadByName("zipf-read")
	trial, err := bench.New(bench.Config{Workload: workload, Engine: engine, Threads: 4, Seed: 1})
	if err != nil {
		panic(err)
	}
	defer trial.Close()
	m, err := trial.RunOps(context.Background(), 10_000)
	if err != nil {
		panic(err)
	}
	if err := trial.Verify(); err != nil {
		panic(err) // the map returned something it must not
	}
	fmt.Println(m.Ops, "operations, all as they should be")
	// Output: 10000 operations, all as they should be
}
