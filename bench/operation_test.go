package bench

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

// spied is an engine with one goroutine, which calls done in each operation.
func spied(done func(what, label string)) EngineSpec {
	return faulty(func(s *numberSession) {
		s.get = func(key string) (uint64, bool, error) {
			done(getOperation, operationNow())
			return s.rwMutex.Get(key)
		}
		s.put = func(key string, value uint64) error {
			done(putOperation, operationNow())
			return s.rwMutex.Put(key, value)
		}
	})
}

// A goroutine that gets and puts is labelled with what it does while that is asked
// for, and not before or afterwards.
func TestLabelOperations(t *testing.T) {
	w, ok := WorkloadByName("balanced")
	require.True(t, ok)
	var tr *Trial
	n, seen := 0, map[string]int{}
	e := spied(func(what, label string) {
		on := n >= 20 && n < 120
		if on {
			seen[what]++
			assert.Equal(t, what, label, "operation %d", n)
		} else {
			assert.Empty(t, label, "operation %d", n)
		}
		n++
		tr.LabelOperations(n >= 20 && n < 120)
	})
	tr = newTrial(t, Config{Workload: w, Engine: e, Threads: 1, Seed: 1})
	runOps(t, tr, 150)
	require.Equal(t, 150, n)
	require.NotZero(t, seen[getOperation])
	require.NotZero(t, seen[putOperation])
}

// A goroutine whose operations are all of one kind is labelled all the time.
func TestLabelOfOneOperation(t *testing.T) {
	w, ok := WorkloadByName("disjoint")
	require.True(t, ok)
	n := 0
	e := spied(func(_, label string) {
		n++
		assert.Equal(t, putOperation, label)
	})
	tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 1, Seed: 1})
	runOps(t, tr, 20)
	require.Positive(t, n)
}

// Each operation of a measured run is reported with the time that is kept of it,
// in a closed and an open loop; those of a warm-up are not.
func TestWatch(t *testing.T) {
	w, e := named(t, "balanced", "rwmutex")
	for _, rate := range []float64{0, 1e6} {
		tr := newTrial(t, Config{Workload: w, Engine: e, Threads: 2, Seed: 1,
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
