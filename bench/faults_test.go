package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// faults are those that an engine may have once in a while.
var faults = []struct {
	fault     string
	workloads []string
	threads   []int
	with      func(s *tampered)
}{
	{
		"loses a write", []string{"read-heavy", "ycsb-a", "ycsb-f", "range-audit"}, []int{1, 4},
		badPut(func(*tampered, int, int64, Record) {}),
	},
	{
		"shows old values", []string{"read-heavy", "ycsb-b"}, []int{1, 4},
		func(s *tampered) {
			bad, keep, old := every(100), every(49), map[int64]Record{}
			s.get = func(table int, key int64) (Record, bool) {
				if o, has := old[key]; bad() && has {
					return o, true
				}
				r, ok := s.Access.Get(table, key)
				if keep() {
					old[key] = r
				}
				return r, ok
			}
		},
	},
	{
		"does not find a record", []string{"read-heavy", "ycsb-f", "smallbank", "tatp"}, []int{1, 4},
		badGet(func(*tampered, int, int64) (Record, bool) { return Record{}, false }),
	},
	{
		"makes values up", []string{"read-heavy", "smallbank", "transfer"}, []int{1, 4},
		badGet(func(s *tampered, table int, key int64) (Record, bool) {
			r, ok := s.Access.Get(table, key)
			r.Number += 1 << 20
			return r, ok
		}),
	},
	{
		"shows values of other records", []string{"read-heavy", "ycsb-b"}, []int{1, 4},
		badGet(func(s *tampered, table int, key int64) (Record, bool) {
			return s.Access.Get(table, (key+1)%3)
		}),
	},
	{
		"shows values of another table", []string{"tatp"}, []int{1},
		badGet(func(s *tampered, table int, key int64) (Record, bool) {
			return s.Access.Get((table+2)%4, key)
		}),
	},
	{"commits in steps", []string{"transfer", "range-audit", "smallbank"}, []int{4}, inSteps},
	{
		"does not undo what was rolled back", []string{"rolling"}, []int{1, 4},
		func(s *tampered) {
			s.do = func(readOnly bool, fn func(Access) error) (err error) {
				_ = s.done(readOnly, func(tx Access) error {
					err = fn(tx)
					return nil
				})
				return err
			}
		},
	},
	{
		"loses a transaction", []string{"transfer", "smallbank", "tatp", "ycsb-d"}, []int{1, 4},
		func(s *tampered) {
			bad := every(200)
			s.do = func(readOnly bool, fn func(Access) error) error {
				if bad() {
					return s.Session.Do(readOnly, func(tx Access) error { return fn(lost{tx}) })
				}
				return s.done(readOnly, fn)
			}
		},
	},
	{
		"leaves a record out of a scan", []string{"transfer", "audited"}, []int{1},
		func(s *tampered) {
			s.all = func(table int, visit func(int64, Record)) {
				s.Access.All(table, func(key int64, r Record) {
					if key != 7 {
						visit(key, r)
					}
				})
			}
		},
	},
	{
		"loses increments", []string{"counter"}, []int{1, 4},
		func(s *tampered) { // a lost update: read, pause, write
			bad := every(100)
			s.do = func(_ bool, fn func(Access) error) error { return fn(s) }
			s.add = func(table int, key, delta int64) {
				if !bad() {
					_ = s.Session.Do(false, func(tx Access) error { tx.Add(table, key, delta); return nil })
				}
			}
		},
	},
	{
		"does not see its own writes", []string{"twice"}, []int{1, 3},
		func(s *tampered) {
			s.do = func(readOnly bool, fn func(Access) error) error {
				return s.done(readOnly, func(tx Access) error { return fn(&blind{Access: tx}) })
			}
		},
	},
	{
		"does not delete", []string{"tatp"}, []int{1, 4},
		func(s *tampered) { s.remove = func(int, int64) {} },
	},
	{
		"leaves a record out of a range", []string{"ranges", "range-audit"}, []int{1, 4},
		badRange(func(s *tampered, low int64, visit func(int64, Record) bool) {
			n := 0
			s.Access.Range(0, low, func(key int64, r Record) bool {
				n++
				return n == 2 || visit(key, r)
			})
		}),
	},
	{
		"ends a range early", []string{"ranges", "range-audit"}, []int{1, 4},
		badRange(func(*tampered, int64, func(int64, Record) bool) {}),
	},
	{
		"gives a record twice", []string{"ranges", "range-audit", "ycsb-e"}, []int{1, 4},
		badRange(func(s *tampered, low int64, visit func(int64, Record) bool) {
			s.Access.Range(0, low, func(key int64, r Record) bool {
				if !visit(key, r) {
					return false
				}
				return visit(key, r)
			})
		}),
	},
	{
		"begins a range too low", []string{"ranges", "ycsb-e"}, []int{1},
		badRange(func(s *tampered, _ int64, visit func(int64, Record) bool) {
			s.Access.Range(0, lowest, visit)
		}),
	},
	{
		"gives a range backwards", []string{"ranges", "ycsb-e"}, []int{1, 4},
		badRange(func(s *tampered, low int64, visit func(int64, Record) bool) {
			var keys []int64
			var records []Record
			s.Access.Range(0, low, func(key int64, r Record) bool {
				keys, records = append(keys, key), append(records, r)
				return len(keys) < 3
			})
			for i, key := range slices.Backward(keys) {
				if !visit(key, records[i]) {
					return
				}
			}
		}),
	},
	{
		"shows old values in a range", []string{"ranges"}, []int{1, 4},
		func(s *tampered) {
			bad, old := every(20), map[int64]Record{}
			s.ranges = func(table int, low int64, visit func(int64, Record) bool) {
				first := bad()
				s.Access.Range(table, low, func(key int64, r Record) bool {
					if _, has := old[key]; !has {
						old[key] = r
					} else if first {
						r = old[key]
					}
					return visit(key, r)
				})
			}
		},
	},
	{
		"pins nothing", []string{"long-reader"}, []int{1, 3},
		func(s *tampered) {
			s.pin = func() (Access, func(), error) { return live{Session: s.Session}, func() {}, nil }
		},
	},
	{
		"loses a record of a snapshot", []string{"long-reader"}, []int{1, 3},
		func(s *tampered) {
			s.pin = func() (Access, func(), error) {
				pin, done, err := s.Session.(Pinner).Pin()
				pin.Delete(0, 150)
				return pin, done, err
			}
		},
	},
	{
		"cuts values", []string{"read-heavy/bytes", "ycsb-b"}, []int{2},
		spoiled(func(b []byte) []byte { return b[:len(b)-1] }),
	},
	{
		"damages values", []string{"read-heavy/bytes", "ycsb-c", "tatp"}, []int{2},
		spoiled(func(b []byte) []byte {
			b = slices.Clone(b)
			b[len(b)/2] ^= 1
			return b
		}),
	},
}

// ownWorkloads are for things that no built-in one does.
var ownWorkloads = map[string]func() Workload{
	"rolling": func() Workload {
		return modelOf(func(m *Model) {
			t := m.Table(Table{Name: "records", Records: 10, Number: func(k int64) int64 { return k }})
			m.RollsBack()
			m.Update("put", 1, func(tx *Tx) error {
				item := tx.Get(t, int64(tx.Below(10)))
				tx.Set(item, item.Number+1)
				tx.Set(tx.Get(t, item.Key), item.Number+2) // the write undone last counts
				if tx.Chance(10) {
					return ErrRollBack
				}
				return nil
			})
		})
	},
	"twice": func() Workload {
		return modelOf(func(m *Model) {
			t := m.Table(Table{Name: "records", Records: 10, Size: words})
			m.Update("put", 1, func(tx *Tx) error {
				key := int64(tx.Below(10))
				tx.Put(t, key)
				tx.Get(t, key)
				return nil
			})
		})
	},
	"ranges": func() Workload {
		return modelOf(func(m *Model) {
			t := m.Table(Table{Name: "records", Records: 20, Size: words, Ordered: true})
			m.View("range", 1, func(tx *Tx) error {
				tx.Range(t, int64(tx.Below(20)), 1+tx.Below(9))
				return nil
			})
			m.Update("put", 1, func(tx *Tx) error {
				tx.Put(t, int64(tx.Below(20)))
				return nil
			})
		})
	},
	"read-heavy/bytes": func() Workload {
		w, _ := WorkloadByName("read-heavy")
		w.Params.ValueSize = ValueSize{24, 24}
		return w
	},
}

func TestFaultyEnginesAreCaught(t *testing.T) {
	for _, c := range faults {
		for _, name := range c.workloads {
			w, ok := WorkloadByName(name)
			if own, is := ownWorkloads[name]; is {
				w, ok = own(), true
			}
			require.True(t, ok, name)
			w.Params.Keys = min(w.Params.Keys, 200)
			for _, threads := range c.threads {
				requireCaught(t, c.fault, Config{Workload: w, Engine: faulty(c.with), Threads: threads, Seed: 1})
			}
		}
	}
}

// requireCaught runs c until a violation is found, which is within 200,000 operations.
func requireCaught(t *testing.T, fault string, c Config) {
	t.Helper()
	tr := newTrial(t, c)
	var err error
	for range 40 {
		if _, err = tr.RunOps(t.Context(), 5_000); err == nil {
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

func TestEveryWorkloadIsVerifiedAtTheEnd(t *testing.T) {
	for _, w := range smallWorkloads() {
		tr := newTrial(t, Config{Workload: w, Engine: badEnd(), Threads: 2})
		runOps(t, tr, 100)
		var v *Violation
		require.ErrorAs(t, tr.Verify(), &v, w.Name)
	}
}

// An engine that does not hold the records it was filled with is not measured.
func TestBadlyFilledEngine(t *testing.T) {
	for name, spoil := range map[string]func(t *TableSetup){
		"empty":         func(t *TableSetup) { t.Keys, t.Records = nil, nil },
		"a record less": func(t *TableSetup) { t.Keys, t.Records = t.Keys[1:], t.Records[1:] },
		"a record more": func(t *TableSetup) {
			t.Keys, t.Records = append(t.Keys, 1<<40), append(t.Records, t.Records[0])
		},
		"another number or bytes": func(t *TableSetup) {
			r := &t.Records[0]
			r.Number, r.Bytes = r.Number+1, append(slices.Clone(r.Bytes), 1)
		},
	} {
		for _, w := range smallWorkloads() {
			spec, _ := EngineByName("rwmutex")
			open := spec.New
			spec.New = func(setup Setup) (Engine, error) {
				spoil(&setup.Tables[len(setup.Tables)-1])
				return open(setup)
			}
			_, err := New(Config{Workload: w, Engine: spec, Threads: 4})
			var v *Violation
			require.ErrorAs(t, err, &v, "%s under %s", name, w.Name)
		}
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
		require.NoError(t, o.got(3, loaded(3)), name)
		require.NoError(t, o.got(3, v5), name)
		require.NoError(t, o.got(3, v5), name)
		require.Error(t, o.got(3, loaded(3)), name)
		require.Error(t, o.got(3, makeStamp(2, 3, 4)), name)
		require.Error(t, o.got(4, v6), name)
		require.Error(t, o.got(3, 0), name)
		require.Error(t, o.got(3, makeStamp(5_000, 3, 1)), name)
		require.NoError(t, o.got(3, v6), name)
		mine := o.draw(3)
		o.put(3, mine)
		require.NoError(t, o.got(3, mine), name)
		require.Error(t, o.got(3, makeStamp(1, 3, mine+1)), name)
		require.NoError(t, o.got(3, makeStamp(3, 3, 1)), name)
		require.Error(t, o.got(3, mine), "%s: its own write came back", name)
	}
	require.Error(t, o.got(3, v6), "replaced by others and come back")

	// A transaction does not read another's value, however new, of a record that it has written.
	for before, bad := range map[uint64]bool{0: true, 1: false} {
		o = newObserver(1, 2, 10)
		o.put(3, o.draw(3))
		require.Equal(t, bad, o.within(3, makeStamp(2, 3, 50), before) != nil, before)
	}
}

// The refusals of each check at the end.
func TestFinalChecks(t *testing.T) {
	fresh := func() []*observer {
		return []*observer{newObserver(1, 2, 4), newObserver(2, 2, 4)}
	}
	all := fresh()
	require.NoError(t, checkFinal(all, 1, loaded(1)))
	require.Error(t, checkFinal(all, 1, loaded(2)))
	require.Error(t, checkFinal(all, 1, makeStamp(1, 1, 1)), "never written")
	require.Error(t, checkFinal(all, 1, makeStamp(9, 1, 1)))

	a1, a2 := all[0].draw(1), all[0].draw(1)
	all[0].put(1, a1)
	all[0].put(1, a2)
	require.NoError(t, checkFinal(all, 1, a2))
	require.Error(t, checkFinal(all, 1, a1), "not the last of its writer")
	require.Error(t, checkFinal(all, 1, loaded(1)), "a write is lost")

	b1 := all[1].draw(1)
	all[1].put(1, b1)
	require.NoError(t, checkFinal(all, 1, a2))
	require.NoError(t, checkFinal(all, 1, b1))
	require.NoError(t, all[0].got(1, b1))
	require.Error(t, checkFinal(all, 1, a2), "goroutine 0 saw its write replaced")
	require.NoError(t, checkFinal(all, 1, b1))

	all = fresh()
	a1, b1 = all[0].draw(1), all[1].draw(1)
	all[0].put(1, a1)
	require.NoError(t, all[1].got(1, a1))
	all[1].put(1, b1)
	require.Error(t, checkFinal(all, 1, a1), "goroutine 1 replaced it")

	require.NoError(t, checkSeen(all))
	all[1].see(1, makeStamp(1, 1, 99))
	require.Error(t, checkSeen(all), "more than goroutine 0 wrote")
}
