package bench

import (
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type numberSession = tampered[uint64]

// faults are what an engine may do wrong once in a thousand times, or so.
var faults = []struct {
	fault     string
	workloads []string
	threads   []int
	with      func(s *numberSession)
}{
	{
		"loses one write in 1000",
		[]string{"read-heavy", "balanced", "write-heavy", "zipf-read", "zipf-write", "disjoint"},
		[]int{1, 4},
		badPut(func(*numberSession, string, uint64) error { return nil }),
	},
	{
		"shows old values", []string{"read-heavy", "balanced", "zipf-read"}, []int{1, 4},
		func(s *numberSession) {
			bad, keep, old := every(1_000), every(499), map[string]uint64{}
			s.get = func(key string) (uint64, bool, error) {
				if o, has := old[key]; bad() && has {
					return o, true, nil
				}
				v, ok, err := s.rwMutex.Get(key)
				if keep() {
					old[key] = v
				}
				return v, ok, err
			}
		},
	},
	{
		"does not find a key", []string{"read-heavy", "write-heavy", "zipf-write"}, []int{1, 4},
		badGet(func(*numberSession, string) (uint64, bool, error) { return 0, false, nil }),
	},
	{
		"makes values up", []string{"read-heavy", "zipf-read"}, []int{1, 4},
		badGet(func(s *numberSession, key string) (uint64, bool, error) {
			v, ok, err := s.rwMutex.Get(key)
			return v + 1<<20, ok, err
		}),
	},
	{
		"shows values of other keys", []string{"balanced", "write-heavy", "zipf-read"}, []int{1, 4},
		badGet(func(s *numberSession, key string) (uint64, bool, error) {
			if key == "key-0" {
				return s.rwMutex.Get("key-1")
			}
			return s.rwMutex.Get("key-0")
		}),
	},
	{
		"tears transfers", []string{"transfer", "range-audit"}, []int{4},
		func(s *numberSession) {
			// Each time: an audit must look in the gap.
			s.transfer = func(from, to string, amount uint64) error {
				_, _ = s.rwMutex.Add(from, -amount)
				runtime.Gosched()
				_, err := s.rwMutex.Add(to, amount)
				return err
			}
		},
	},
	{
		"forgets a credit", []string{"transfer"}, []int{1, 4},
		badTransfer(func(s *numberSession, from string, amount uint64) {
			_, _ = s.rwMutex.Add(from, -amount)
		}),
	},
	{
		"loses whole transfers", []string{"transfer"}, []int{1, 4},
		badTransfer(func(*numberSession, string, uint64) {}),
	},
	{
		"leaves a key out of a scan", []string{"transfer"}, []int{1},
		func(s *numberSession) {
			s.sum = func() (uint64, int, error) {
				total, keys, err := s.rwMutex.Sum()
				return total, keys - 1, err
			}
		},
	},
	{
		"loses increments", []string{"counter", "many-goroutines"}, []int{1, 4},
		badAdd(func(s *numberSession, key string) (uint64, error) { // a lost update: read, pause, write
			v, _, _ := s.rwMutex.Get(key)
			runtime.Gosched()
			return v + 1, s.rwMutex.Put(key, v)
		}),
	},
	{
		"gives out a count twice", []string{"counter"}, []int{1}, // the sum may still be right
		badAdd(func(s *numberSession, key string) (uint64, error) {
			sum, err := s.rwMutex.Add(key, 1)
			return sum - 1, err
		}),
	},
	{
		"writes in an empty transaction", []string{"begin"}, []int{1},
		func(s *numberSession) { s.begin = func() error { return s.rwMutex.Put("key-9", 1) } },
	},
	{
		"loses a transaction", []string{"disjoint-batch", "free-batch", "ycsb-a", "ycsb-f"}, []int{1, 3},
		func(s *numberSession) {
			bad := every(20)
			skipping(s, func(ops []numberOp) int {
				if bad() {
					return 0
				}
				return len(ops)
			})
		},
	},
	{
		"loses a write of a transaction", []string{"disjoint-batch", "free-batch", "ycsb-a", "ycsb-f"},
		[]int{1, 3},
		func(s *numberSession) {
			bad := every(20)
			skipping(s, func(ops []numberOp) int {
				switch {
				case !bad():
					return len(ops)
				case len(ops) == 3: // it writes first, and then reads
					return 0
				}
				return len(ops) - 1
			})
		},
	},
	{
		"commits in two steps", []string{"free-batch"}, []int{1, 3},
		func(s *numberSession) {
			s.batch = func(ops []numberOp, readOnly bool) error {
				half := len(ops) / 2
				if readOnly {
					half = len(ops)
				}
				_ = s.rwMutex.Batch(ops[:half], readOnly)
				runtime.Gosched()
				return s.rwMutex.Batch(ops[half:], readOnly)
			}
		},
	},
	{
		"does not see its own writes", []string{"disjoint-batch", "ycsb-a", "ycsb-f"}, []int{1, 3},
		func(s *numberSession) {
			s.batch = func(ops []numberOp, readOnly bool) error {
				before := slices.Clone(ops)
				for i := range before {
					before[i].Kind = OpGet
				}
				_ = s.rwMutex.Batch(before, true)
				err := s.rwMutex.Batch(ops, readOnly)
				for i := range ops {
					ops[i].Old, ops[i].OK = before[i].Old, before[i].OK
				}
				return err
			}
		},
	},
	{
		"denies that a key is there", []string{"disjoint-batch", "ycsb-b"}, []int{1, 3},
		badBatch(func(_ map[string]uint64, ops []numberOp, readOnly bool) {
			ops[len(ops)-1].OK = ops[len(ops)-1].OK && readOnly
		}),
	},
	{
		"modifies what was there at first", []string{"ycsb-f"}, []int{1, 3},
		badBatch(func(old map[string]uint64, ops []numberOp, _ bool) {
			for i := range ops {
				if ops[i].Kind == OpModify {
					ops[i].Old = old[ops[i].Key]
				}
			}
		}),
	},
	{
		"reads what was there at first", []string{"free-batch", "ycsb-a", "ycsb-b"}, []int{1, 3},
		badBatch(func(old map[string]uint64, ops []numberOp, readOnly bool) {
			if readOnly {
				ops[0].Old, ops[0].OK = old[ops[0].Key]
			}
		}),
	},
	{"leaves a key out of a range", []string{"range-read", "range-audit"}, []int{1, 4}, leavesOut},
	{"ends a range early", []string{"range-read", "range-audit"}, []int{1, 4}, endsEarly},
	{"gives a key twice", []string{"range-read", "range-audit"}, []int{1, 4}, givesTwice},
	{
		"gives a range backwards", []string{"range-read"}, []int{1, 4},
		badRange(func(s *numberSession, low string, n int, visit func(string, uint64)) error {
			var keys []string
			var values []uint64
			err := s.ranged(low, max(n, 2), func(key string, v uint64) {
				keys, values = append(keys, key), append(values, v)
			})
			for i, key := range slices.Backward(keys) {
				visit(key, values[i])
			}
			return err
		}),
	},
	{
		"shows what was there at first in a range", []string{"range-read", "range-audit"}, []int{1, 4},
		func(s *numberSession) {
			bad, old := every(20), maps.Clone(s.m)
			s.ranges = func(low string, n int, visit func(string, uint64)) error {
				i, first := 0, bad()
				return s.ranged(low, n, func(key string, v uint64) {
					if i++; first && i%2 == 0 {
						v = old[key]
					}
					visit(key, v)
				})
			}
		},
	},
	{
		"does not delete", []string{"range-read"}, []int{1, 4},
		func(s *numberSession) {
			s.batch = func(ops []numberOp, readOnly bool) error {
				if ops[0].Kind == OpDelete {
					return nil
				}
				return s.rwMutex.Batch(ops, readOnly)
			}
		},
	},
	{
		"pins nothing", []string{"long-reader"}, []int{1, 3},
		func(s *numberSession) {
			s.pin = func() (Pin[uint64], error) { return live{s.rwMutex}, nil }
		},
	},
	{
		"loses a key of a snapshot", []string{"long-reader"}, []int{1, 3},
		func(s *numberSession) {
			s.pin = func() (Pin[uint64], error) {
				pin, err := s.rwMutex.Pin()
				delete(pin.(copied[uint64]), "key-150")
				return pin, err
			}
		},
	},
}

type numberOp = Op[uint64]

func TestFaultyEnginesAreCaught(t *testing.T) {
	for _, c := range faults {
		for _, name := range c.workloads {
			for _, threads := range c.threads {
				w, ok := WorkloadByName(name)
				require.True(t, ok, name)
				w = small(w)
				switch { // few keys that matter
				case w.kind == plain:
					w.Params.Keys, w.Params.TxnSize, w.Params.ValueSize = 20, 6, words
				case w.kind == rangeRead:
					w.Params.Keys, w.Params.TxnSize, w.Params.ValueSize = 20, 6, words
				case w.kind == crowd:
					w.Params.Keys = 3
				case w.Params.Theta != Unset:
					w.Params.Theta = 1.5
				}
				requireCaught(t, c.fault,
					Config{Workload: w, Engine: faulty(c.with), Threads: threads, Seed: 1})
			}
		}
	}
}

// requireCaught runs c until a violation is found, which is within 400,000 operations.
func requireCaught(t *testing.T, fault string, c Config) {
	t.Helper()
	tr := newTrial(t, c)
	var err error
	for range 40 {
		if _, err = tr.RunOps(t.Context(), 10_000); err == nil {
			err = tr.Verify()
		}
		if err != nil {
			break
		}
	}
	var v *Violation
	require.ErrorAs(t, err, &v, "an engine that %s, under %s with %d threads", fault,
		c.Workload.Name, c.Threads)
	require.Equal(t, &Violation{c.Workload.Name, c.Engine.Name, c.Threads, v.Detail}, v)
	t.Logf("%s: %v", fault, v)

	// The trial stays failed.
	_, again := tr.RunOps(t.Context(), 1)
	require.ErrorIs(t, again, err)
	require.ErrorIs(t, tr.Verify(), err)
}
