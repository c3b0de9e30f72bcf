package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Values that are byte slices are looked at byte by byte.
func TestFaultyValuesAreCaught(t *testing.T) {
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	flip := func(at func(n int) int) func([]byte) []byte {
		return func(b []byte) []byte {
			b = slices.Clone(b)
			b[at(len(b))] ^= 1
			return b
		}
	}
	for _, c := range []struct {
		fault     string
		spoil     func([]byte) []byte
		workloads []string
	}{
		{"cuts values", cut, []string{"balanced", "mixed", "disjoint"}},
		{"damages values", flip(func(n int) int {
			return n / 2
		}), []string{"balanced", "mixed", "disjoint"}},
		{"damages what is read", flip(func(n int) int { return n - 1 }),
			[]string{"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f"}},
	} {
		_, spec := named(t, "balanced", "rwmutex")
		spec.NewBytes = tamper(func(s *tampered[[]byte], worker int) {
			if worker < 0 {
				return
			}
			bad := every(50)
			s.get = func(key string) ([]byte, bool, error) {
				v, ok, err := s.rwMutex.Get(key)
				if bad() {
					v = c.spoil(v)
				}
				return v, ok, err
			}
			s.batch = func(ops []Op[[]byte], readOnly bool) error {
				err := s.rwMutex.Batch(ops, readOnly)
				for i := range ops {
					if len(ops[i].Old) > 0 && bad() {
						ops[i].Old = c.spoil(ops[i].Old)
					}
				}
				return err
			}
		})
		for _, name := range c.workloads {
			w, _ := WorkloadByName(name)
			w = small(w)
			w.Params.ValueSize = ValueSize{24, 24}
			requireCaught(t, c.fault, Config{Workload: w, Engine: spec, Threads: 2, Seed: 1})
		}
	}
}

// What only the end shows: an account too many in the last scan.
func TestOnlyTheEndShows(t *testing.T) {
	w, _ := WorkloadByName("transfer")
	w.Params.Keys = 10
	ended := false
	tr := newTrial(t, Config{Workload: w, Threads: 1, Engine: faulty(func(s *numberSession) {
		s.sum = func() (uint64, int, error) {
			total, n, err := s.rwMutex.Sum()
			if ended {
				n++
			}
			return total, n, err
		}
	})})
	runOps(t, tr, 100)
	ended = true
	var v *Violation
	require.ErrorAs(t, tr.Verify(), &v)
}

// badEnd is an engine that does everything right but for what the runner reads at
// the end.
func badEnd() EngineSpec {
	return EngineSpec{Name: "bad end", New: tamper(func(s *numberSession, worker int) {
		good := len(s.m) // reads, one of each key when it has been filled
		if worker >= 0 {
			return
		}
		s.get = func(key string) (uint64, bool, error) {
			if good--; good < 0 {
				return 12_345, true, nil
			}
			return s.rwMutex.Get(key)
		}
	})}
}

func TestEveryWorkloadIsVerifiedAtTheEnd(t *testing.T) {
	for _, w := range smallNumbers() {
		tr := newTrial(t, Config{Workload: w, Engine: badEnd(), Threads: 2})
		runOps(t, tr, 100)
		var v *Violation
		require.ErrorAs(t, tr.Verify(), &v, w.Name)
	}
}

// A map that is not what it was filled with is not measured.
func TestBadlyFilledMap(t *testing.T) {
	for name, spoil := range map[string]func(m map[string]uint64){
		"empty":       func(m map[string]uint64) { clear(m) },
		"key missing": func(m map[string]uint64) { delete(m, "key-2"); delete(m, "key-000000002"); delete(m, hashedKey(2)) },
		"wrong value": func(m map[string]uint64) { m["key-3"]++; m["key-000000003"]++; m[hashedKey(3)]++ },
	} {
		for _, w := range smallNumbers() {
			if w.keyCount(4) < 4 {
				w.Params.Keys = 4
			}
			spec := EngineSpec{Name: name, New: tamper(func(s *numberSession, _ int) { spoil(s.m) })}
			_, err := New(Config{Workload: w, Engine: spec, Threads: 4})
			var v *Violation
			require.ErrorAs(t, err, &v, "%s under %s", name, w.Name)
		}
	}
}

// A transaction must not read another goroutine's value, however new, of a key that it has written
// itself, while one that has not may.
func TestOwnWritesComeFirst(t *testing.T) {
	theirs := makeStamp(2, 3, 50)
	for before, bad := range map[uint64]bool{0: true, 1: false} {
		task := &plainTask[uint64]{seen: newObserver(1, 2, 10), keys: make([]string, 10),
			values: values[uint64]{filler{size: words}}}
		task.seen.put(3, task.seen.draw(3))
		err := task.got(3, "key-3", theirs, true, before)
		require.Equal(t, bad, err != nil, "%v", err)
	}
}

// Without the matrix of sequence numbers, which many goroutines and keys make
// too large, the rest of the checks still stands.
func TestObserverWithoutMatrix(t *testing.T) {
	o := newObserver(1, 4, 10)
	require.NotNil(t, o.highest)
	big := newObserver(1, 1_000, 1_000)
	require.Nil(t, big.highest)
	v5, v6 := makeStamp(2, 3, 5), makeStamp(2, 3, 6)
	for name, o := range map[string]*observer{"with": o, "without": big} {
		require.NoError(t, o.got(3, loaded(3), true), name)
		require.NoError(t, o.got(3, v5, true), name)
		require.NoError(t, o.got(3, v5, true), name)
		require.Error(t, o.got(3, loaded(3), true), name)
		require.Error(t, o.got(3, makeStamp(2, 3, 4), true), name)
		require.Error(t, o.got(4, v6, true), name)
		require.Error(t, o.got(3, 0, true), name)
		require.Error(t, o.got(3, v6, false), name)
		require.Error(t, o.got(3, makeStamp(5_000, 3, 1), true), name)
		require.NoError(t, o.got(3, v6, true), name)
		mine := o.draw(3)
		o.put(3, mine)
		require.NoError(t, o.got(3, mine, true), name)
		require.Error(t, o.got(3, makeStamp(1, 3, mine+1), true), name)
		require.NoError(t, o.got(3, makeStamp(3, 3, 1), true), name)
		require.Error(t, o.got(3, mine, true), "%s: its own write came back", name)
	}
	require.Error(t, o.got(3, v6, true), "replaced by others and come back")
}

// What each check at the end refuses.
func TestFinalChecks(t *testing.T) {
	fresh := func() []*observer {
		return []*observer{newObserver(1, 2, 4), newObserver(2, 2, 4)}
	}
	all := fresh()
	require.NoError(t, checkFinal(all, 1, loaded(1), true))
	require.Error(t, checkFinal(all, 1, loaded(1), false))
	require.Error(t, checkFinal(all, 1, loaded(2), true))
	require.Error(t, checkFinal(all, 1, makeStamp(1, 1, 1), true), "never written")
	require.Error(t, checkFinal(all, 1, makeStamp(9, 1, 1), true))

	a1, a2 := all[0].draw(1), all[0].draw(1)
	all[0].put(1, a1)
	all[0].put(1, a2)
	require.NoError(t, checkFinal(all, 1, a2, true))
	require.Error(t, checkFinal(all, 1, a1, true), "not the last of its writer")
	require.Error(t, checkFinal(all, 1, loaded(1), true), "a write is lost")

	b1 := all[1].draw(1)
	all[1].put(1, b1)
	require.NoError(t, checkFinal(all, 1, a2, true))
	require.NoError(t, checkFinal(all, 1, b1, true))
	require.NoError(t, all[0].got(1, b1, true))
	require.Error(t, checkFinal(all, 1, a2, true), "goroutine 0 saw its write replaced")
	require.NoError(t, checkFinal(all, 1, b1, true))

	all = fresh()
	a1, b1 = all[0].draw(1), all[1].draw(1)
	all[0].put(1, a1)
	require.NoError(t, all[1].got(1, a1, true))
	all[1].put(1, b1)
	require.Error(t, checkFinal(all, 1, a1, true), "goroutine 1 replaced it")

	require.NoError(t, checkSeen(all))
	all[1].see(1, makeStamp(1, 1, 99))
	require.Error(t, checkSeen(all), "more than goroutine 0 wrote")
}
