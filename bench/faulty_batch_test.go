package bench

import (
	"maps"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// faultyBatch does transactions of several keys, and values, wrong in one way:
// most of them only now and then.
type faultyBatch[V any] struct {
	rwMutexSessionOf[string, V]
	fault  string
	runner bool
	n      int
	old    map[string]V // values as they once were
}

func faultySpec(fault string) EngineSpec {
	return EngineSpec{
		Name: "faulty",
		New:  func(s Setup) (Engine, error) { return faultyEngine[uint64]{openRWMutex(s), fault}, nil },
		Makers: Makers{StringBytes: func(s SetupOf[string, []byte]) (EngineOf[string, []byte], error) {
			return faultyEngine[[]byte]{openRWMutex(s), fault}, nil
		}},
	}
}

type faultyEngine[V any] struct {
	*rwMutexOf[string, V]
	fault string
}

func (e faultyEngine[V]) Session(worker int) SessionOf[string, V] {
	return &faultyBatch[V]{
		rwMutexSessionOf: rwMutexSessionOf[string, V]{e.rwMutexOf},
		fault:            e.fault, runner: worker < 0, old: maps.Clone(e.m),
	}
}

// every reports, for each kind of session but the runner's, whether it is time to
// do something wrong.
func (s *faultyBatch[V]) every(n int) bool {
	s.n++
	return !s.runner && s.n%n == 0
}

func (s *faultyBatch[V]) Batch(ops []OpOf[string, V], readOnly bool) error {
	if readOnly {
		err := s.rwMutexSessionOf.Batch(ops, true)
		switch s.fault {
		case "reads what was there at first":
			if s.every(20) {
				ops[0].Old, ops[0].OK = s.old[ops[0].Key]
			}
		case "damages what is read":
			s.damage(ops)
		}
		return err
	}
	skip := func(int) bool { return false }
	switch s.fault {
	case "loses a transaction":
		if s.every(20) {
			skip = func(int) bool { return true }
		}
	case "loses a write of a transaction":
		if s.every(20) {
			skip = func(i int) bool { return i == len(ops)-1 || len(ops) == 3 }
		}
	case "commits in two steps":
		s.writes(ops[:len(ops)/2], skip)
		runtime.Gosched()
		s.writes(ops[len(ops)/2:], skip)
		return nil
	case "does not see its own writes":
		s.reads(ops)
		s.writes(ops, skip)
		return nil
	}
	s.mu.Lock()
	for i := range ops {
		if !skip(i) {
			apply(s.m, ops[i:i+1])
		} else {
			ops[i].Old, ops[i].OK = ops[i].Value, true // it looks well to itself
		}
	}
	s.mu.Unlock()
	switch s.fault {
	case "denies that a key is there":
		if s.every(20) {
			ops[len(ops)-1].OK = false
		}
	case "modifies what was there at first":
		for i := range ops {
			if ops[i].Kind == OpModify && s.every(20) {
				ops[i].Old = s.old[ops[i].Key]
			}
		}
	case "damages what is read":
		s.damage(ops)
	}
	return nil
}

// reads does the reads alone.
func (s *faultyBatch[V]) reads(ops []OpOf[string, V]) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range ops {
		ops[i].Old, ops[i].OK = s.m[ops[i].Key]
	}
}

// writes does the writes that are not to be skipped.
func (s *faultyBatch[V]) writes(ops []OpOf[string, V], skip func(i int) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, op := range ops {
		if op.Kind != OpGet && op.Kind != OpHas && !skip(i) {
			apply(s.m, []OpOf[string, V]{op})
		}
	}
}

// damage changes a byte of what was read, in a copy.
func (s *faultyBatch[V]) damage(ops []OpOf[string, V]) {
	for i := range ops {
		if b, ok := any(&ops[i].Old).(*[]byte); ok && len(*b) > 0 && s.every(50) {
			*b = append([]byte(nil), *b...)
			(*b)[len(*b)-1]++
		}
	}
}

func (s *faultyBatch[V]) Get(key string) (V, bool, error) {
	v, ok, err := s.rwMutexSessionOf.Get(key)
	if b, has := any(&v).(*[]byte); has && s.every(100) {
		switch s.fault {
		case "cuts values":
			*b = (*b)[:len(*b)-1]
		case "damages values":
			*b = append([]byte(nil), *b...)
			(*b)[len(*b)/2] ^= 1
		}
	}
	return v, ok, err
}

// Pin opens a snapshot that is none, or that lacks a key.
func (s *faultyBatch[V]) Pin() (PinOf[string, V], error) {
	if s.fault == "pins nothing" {
		return livePin[V]{s.rwMutexSessionOf}, nil
	}
	pin, err := s.rwMutexSessionOf.Pin()
	if s.fault == "loses a key of a snapshot" {
		delete(pin.(copied[string, V]), "key-150")
	}
	return pin, err
}

type livePin[V any] struct{ rwMutexSessionOf[string, V] }

func (livePin[V]) Close() {}

func TestFaultyTransactionsAreCaught(t *testing.T) {
	for _, c := range []struct {
		fault     string
		workloads []string
	}{
		{"loses a transaction", []string{"disjoint-batch", "free-batch", "ycsb-a", "ycsb-f"}},
		{"loses a write of a transaction", []string{"disjoint-batch", "free-batch", "ycsb-a", "ycsb-f"}},
		{"commits in two steps", []string{"free-batch"}},
		{"does not see its own writes", []string{"disjoint-batch", "ycsb-a", "ycsb-f"}},
		{"denies that a key is there", []string{"disjoint-batch", "ycsb-b"}},
		{"modifies what was there at first", []string{"ycsb-f"}},
		{"reads what was there at first", []string{"free-batch", "ycsb-a", "ycsb-b"}},
		{"damages what is read", []string{"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f"}},
		{"pins nothing", []string{"long-reader"}},
		{"loses a key of a snapshot", []string{"long-reader"}},
	} {
		for _, name := range c.workloads {
			for _, threads := range []int{1, 3} {
				w, ok := WorkloadByName(name)
				require.True(t, ok)
				w = small(w)
				if w.kind == ycsb {
					w.Params.Keys, w.Params.TxnSize = 20, 6 // the same keys within a transaction
				}
				requireCaught(t, c.fault, Config{Workload: w, Engine: faultySpec(c.fault), Threads: threads, Seed: 1}, 1_000)
			}
		}
	}
}

// A transaction must not read anybody else's value, however new, of a key that it
// has written itself, while one that has not may.
func TestOwnWritesComeFirst(t *testing.T) {
	theirs := makeStamp(2, 3, 50)
	for before, bad := range map[uint64]bool{0: true, 1: false} {
		task := &ycsbTask[string, uint64]{seen: newObserver(1, 2, 10), values: values[uint64]{filler{size: words}}}
		mine := task.seen.draw(3)
		task.seen.put(3, mine)
		err := task.check(&Op{Kind: OpGet, Key: "key-3", OK: true, Old: theirs}, 3, before)
		require.Equal(t, bad, err != nil, "%v", err)
	}
}

func TestFaultyValuesAreCaught(t *testing.T) {
	for _, fault := range []string{"cuts values", "damages values"} {
		for _, name := range []string{"balanced", "mixed", "disjoint"} {
			w, _ := WorkloadByName(name)
			w.Params.ValueSize = ValueSize{24, 24}
			requireCaught(t, fault, Config{Workload: w, Engine: faultySpec(fault), Threads: 2, Seed: 1}, 50_000)
		}
	}
}

func TestManyGoroutinesLoseNothing(t *testing.T) {
	w, _ := WorkloadByName("many-goroutines")
	w.Params.Keys = 3
	spec := wrapped("faulty", func(e *rwMutexEngine, worker int) Session {
		return &faulty{rwMutexSession: over(e), runner: worker < 0, loseCount: true}
	})
	requireCaught(t, "loses increments", Config{Workload: w, Engine: spec, Threads: 10, Seed: 1}, 20_000)
}

// requireCaught runs c until a violation is found.
func requireCaught(t *testing.T, fault string, c Config, ops uint64) {
	t.Helper()
	tr, err := New(c)
	require.NoError(t, err)
	defer tr.Close()
	for range 40 {
		if _, err = tr.RunOps(t.Context(), ops); err == nil {
			err = tr.Verify()
		}
		if err != nil {
			break
		}
	}
	var v *Violation
	require.ErrorAs(t, err, &v, "an engine that %s, under %s with %d threads", fault, c.Workload.Name, c.Threads)
	t.Logf("%s: %v", fault, v)
}
