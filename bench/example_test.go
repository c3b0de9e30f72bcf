package bench_test

import (
	"context"
	"fmt"

	"github.com/mvccmap/mvccmap/bench"
)

// A workload of one's own on the transactional map: measured, then verified.
func Example() {
	seats := bench.Workload{
		Name:   "seats",
		Doc:    "Book a free seat of a random flight, or cancel.",
		Params: bench.Params{Keys: 1000, ReadPct: bench.Unset, Theta: bench.Unset},
		Build: func(m *bench.Model) {
			flights := m.Table(bench.Table{Name: "flights", Records: m.Keys,
				Number: func(int64) int64 { return 150 }})
			m.Update("book", 9, func(tx *bench.Tx) error {
				if f := tx.Get(flights, int64(tx.Below(m.Keys))); f.Number > 0 {
					tx.Set(f, f.Number-1)
				}
				return nil
			})
			m.Update("cancel", 1, func(tx *bench.Tx) error {
				if f := tx.Get(flights, int64(tx.Below(m.Keys))); f.Number < 150 {
					tx.Set(f, f.Number+1)
				}
				return nil
			})
		},
	}
	engine, _ := bench.EngineByName("mvcc")
	trial, err := bench.New(bench.Config{Workload: seats, Engine: engine, Threads: 4, Seed: 1})
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
