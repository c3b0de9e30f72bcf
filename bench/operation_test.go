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

// labelSpy is a session that looks which operation its goroutine is labelled with.
type labelSpy struct {
	Session
	done func(what, label string) // called in each operation
}

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

func (s *labelSpy) Get(key string) (uint64, bool, error) {
	s.done(getOperation, operationNow())
	return s.Session.Get(key)
}

func (s *labelSpy) Put(key string, value uint64) error {
	s.done(putOperation, operationNow())
	return s.Session.Put(key, value)
}

// spied is an engine with one goroutine, which calls done in each operation.
func spied(done func(what, label string)) EngineSpec {
	return wrapped("spied", func(e *rwMutexEngine, worker int) Session {
		if worker < 0 {
			return over(e)
		}
		return &labelSpy{over(e), done}
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
	tr, err := New(Config{Workload: w, Engine: e, Threads: 1, Seed: 1})
	require.NoError(t, err)
	defer tr.Close()
	_, err = tr.RunOps(t.Context(), 150)
	require.NoError(t, err)
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
	tr, err := New(Config{Workload: w, Engine: e, Threads: 1, Seed: 1})
	require.NoError(t, err)
	defer tr.Close()
	_, err = tr.RunOps(t.Context(), 20)
	require.NoError(t, err)
	require.Positive(t, n)
}

// Each operation of a measured run is reported with the time that is kept of it,
// in a closed and an open loop; those of a warm-up are not.
func TestWatch(t *testing.T) {
	w, ok := WorkloadByName("balanced")
	require.True(t, ok)
	e, ok := EngineByName("rwmutex")
	require.True(t, ok)
	for _, rate := range []float64{0, 1e6} {
		tr, err := New(Config{Workload: w, Engine: e, Threads: 2, Seed: 1, LatencySample: 1, Rate: rate})
		require.NoError(t, err)
		defer tr.Close()
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
		_, err = tr.RunFor(ctx, time.Hour, false)
		require.NoError(t, err)
		require.Zero(t, n.Load(), "a warm-up was reported")
		m, err := tr.RunOps(t.Context(), 1000)
		require.NoError(t, err)
		require.Equal(t, int64(m.Ops), n.Load())
		require.Equal(t, int64(m.Service.Max()), longest.Load())
	}
}
