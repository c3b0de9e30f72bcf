package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

func TestMapOptionsReachTheMap(t *testing.T) {
	got := MapOptions{Interval: time.Second, Workers: NoWorkers, Queue: 7,
		Threshold: 9}.options(100, Snapshot)
	require.Equal(t, &mvcc.Options{
		Capacity: 100, Isolation: mvcc.LevelSnapshot,
		ReclaimInterval: time.Second, ReclaimWorkers: -1, ReclaimQueue: 7, PruneThreshold: 9,
	}, got)
	require.Equal(t, &mvcc.Options{Isolation: mvcc.LevelSerializable},
		MapOptions{}.options(0, Serializable))

	// All the way from the configuration.
	w, e := named(t, "balanced", "mvcc")
	var given MapOptions
	spec := e
	spec.New = func(setup Setup[uint64]) (Engine[uint64], error) {
		given = setup.Map
		return e.New(setup)
	}
	want := MapOptions{Interval: time.Minute, Workers: 2, Queue: 64, Threshold: MaxThreshold}
	tr := newTrial(t, Config{Workload: w, Engine: spec, Threads: 2, Map: want})
	require.Equal(t, want, given)
	runOps(t, tr, 1_000)
	require.NoError(t, tr.Verify())
}

// What is allowed, the map takes.
func TestMapOptionsInRange(t *testing.T) {
	for _, o := range []MapOptions{{}, {Workers: NoWorkers}, {Workers: 4}, {Threshold: 1},
		{Threshold: MaxThreshold}, {Queue: 1}} {
		require.NoError(t, o.Validate())
		mvcc.New[int, int](o.options(1, Serializable)).Close()
	}
}
