package bars

import (
	"context"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// trial is a runner over a workload of package bench.
type trial struct{ *bench.Trial }

func (t trial) Run(ctx context.Context, n int) (time.Duration, error) {
	m, err := t.RunOps(ctx, uint64(n))
	return m.Wall, err
}

// Close verifies what was done.
func (t trial) Close() error {
	defer t.Trial.Close()
	return t.Verify()
}

// overTrial returns a side that runs a workload on an engine.
func overTrial(name, workload string, p bench.Params, engine string, threads int, audits time.Duration) Side {
	return Side{Name: name, Open: func() (Runner, error) {
		w, ok := bench.WorkloadByName(workload)
		if !ok {
			return nil, fmt.Errorf("no workload %q", workload)
		}
		w, err := w.With(p)
		if err != nil {
			return nil, err
		}
		e, ok := bench.EngineByName(engine)
		if !ok {
			return nil, fmt.Errorf("no engine %q", engine)
		}
		t, err := bench.New(bench.Config{
			Workload: w, Engine: e, Threads: threads, Seed: 1,
			LatencySample: 1 << 10, AuditInterval: audits,
		})
		if err != nil {
			return nil, err
		}
		return trial{t}, nil
	}}
}

// workloadRows compare whole workloads with a map under a RWMutex, and the map
// with itself under more goroutines.
func workloadRows() []Row {
	var rows []Row
	add := func(group, case_, what string, kind Kind, bar, aim float64, ours, base Side) {
		rows = append(rows, Row{
			Group: group, Case: case_, What: what, Kind: kind,
			Bar: bar, Aim: aim, MaxAllocs: -1, Ours: ours, Base: base,
		})
	}
	const pace = bench.DefaultAuditInterval
	mixed := bench.Params{Keys: bench.Unset, ReadPct: 67, Theta: 0}
	for _, w := range []struct {
		group, workload string
		p               bench.Params
		aim             float64
	}{
		{"read-heavy", "read-heavy", bench.NoParams, 1.1},
		{"zipf-read", "zipf-read", bench.NoParams, 1.1},
		{"mixed", "zipf-read", mixed, 1.1},
		{"begin-workload", "begin", bench.NoParams, 1.5},
	} {
		for _, g := range []int{2, 8} {
			for _, engine := range []string{"mvcc", "mvcc-direct"} {
				if w.workload == "begin" && engine == "mvcc-direct" {
					continue
				}
				add(w.group, goroutines(g), w.group+", "+engine+" against RWMutex + map", Speed, 1, w.aim,
					overTrial(engine, w.workload, w.p, engine, g, pace),
					overTrial("rwmutex", w.workload, w.p, "rwmutex", g, pace))
			}
		}
	}
	for _, workload := range []string{"write-heavy", "zipf-write", "disjoint", "transfer"} {
		for _, g := range []int{2, 8} {
			for _, c := range []struct {
				engine string
				bar    float64
			}{{"mvcc-direct", 2.2}, {"mvcc", 3}} {
				if workload == "transfer" && c.engine == "mvcc-direct" {
					continue
				}
				add(workload, goroutines(g), workload+", "+c.engine+" against RWMutex + map", Time, c.bar, 1.2,
					overTrial(c.engine, workload, bench.NoParams, c.engine, g, pace),
					overTrial("rwmutex", workload, bench.NoParams, "rwmutex", g, pace))
			}
		}
	}
	add("beside-audits", goroutines(2), "transfers beside audits without a pause, against RWMutex + map", Speed, 10, 100,
		overTrial("mvcc", "transfer", bench.NoParams, "mvcc", 2, 0),
		overTrial("rwmutex", "transfer", bench.NoParams, "rwmutex", 2, 0))
	for _, workload := range []string{"read-heavy", "zipf-write", "transfer"} {
		for _, c := range []struct {
			g   int
			bar float64
		}{{8, 0.9}, {1_000, 0.8}} {
			add("many-"+workload, goroutines(c.g), fmt.Sprintf("%s with %d goroutines against 2", workload, c.g), Speed, c.bar, 1,
				overTrial("many", workload, bench.NoParams, "mvcc", c.g, pace),
				overTrial("two", workload, bench.NoParams, "mvcc", 2, pace))
		}
	}
	return rows
}
