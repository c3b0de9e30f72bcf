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
func overTrial(name, workload, engine string, threads int, audits time.Duration) Side {
	return Side{Name: name, Open: func() (Runner, error) {
		w, ok := bench.WorkloadByName(workload)
		if !ok {
			return nil, fmt.Errorf("no workload %q", workload)
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

// workloadRows compare transfers beside audits with a map under a RWMutex, and the map
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
	add("beside-audits", goroutines(2), "transfers beside audits without a pause, against RWMutex + map", Speed, 10, 100,
		overTrial("mvcc", "transfer", "mvcc", 2, 0),
		overTrial("rwmutex", "transfer", "rwmutex", 2, 0))
	for _, workload := range []string{"read-heavy", "zipf-write", "transfer"} {
		add("many-"+workload, goroutines(1_000), workload+" with 1,000 goroutines against 2", Speed, 0.8, 1,
			overTrial("many", workload, "mvcc", 1_000, pace),
			overTrial("two", workload, "mvcc", 2, pace))
	}
	return rows
}
