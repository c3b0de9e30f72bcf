package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/mvccmap/mvccmap/bench"
)

// small returns w with so few keys that filling a map takes no time, and short
// transactions.
func small(t *testing.T, w bench.Workload) bench.Workload {
	p := bench.NoParams
	p.Keys = min(w.Params.Keys, 500)
	w, err := w.With(p)
	require.NoError(t, err)
	return w
}

// trial returns a trial that audits often.
func trial(t *testing.T, spec bench.EngineSpec, w bench.Workload, threads int) *bench.Trial {
	tr, err := bench.New(bench.Config{
		Workload:      small(t, w),
		Engine:        spec,
		Threads:       threads,
		Seed:          1,
		AuditInterval: time.Millisecond,
	})
	require.NoError(t, err, "%s on %s", w.Name, spec.Name)
	return tr
}

// Every peer does every workload that it does not say it lacks, and passes the
// verification of package bench.
func TestPeersPassVerification(t *testing.T) {
	ops, goroutines := uint64(1_000), []int{1, 4}
	if testing.Short() {
		ops, goroutines = 100, []int{4}
	}
	for _, p := range Peers() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			for _, w := range bench.Workloads() {
				if _, ok := p.Runs(w); !ok || w.Name == "tpcc" { // which takes too long to fill
					continue
				}
				for _, threads := range goroutines {
					tr := trial(t, p, w, threads)
					m, err := tr.RunOps(t.Context(), ops)
					require.NoError(t, err, "%s with %d goroutines", w.Name, threads)
					require.NoError(t, tr.Verify(), "%s with %d goroutines", w.Name, threads)
					require.EqualValues(t, ops, m.Ops)
					tr.Close()
				}
			}
		})
	}
}

// open returns a peer that holds the given records, with numbers, in a table of numbers and one with
// bytes. It is closed at the end of the test.
func open(t *testing.T, p bench.EngineSpec, ordered bool, numbers ...int64) bench.Engine {
	t.Helper()
	setup := bench.Setup{Isolation: bench.Serializable, RollsBack: true}
	setup.Stopped = func() bool { return false }
	for _, numbersOnly := range []bool{true, false} {
		table := bench.TableSetup{Name: fmt.Sprint("numbers-", numbersOnly), Ordered: ordered, Numbers: numbersOnly}
		for key, n := range numbers {
			r := bench.Record{Number: n}
			if !numbersOnly {
				r.Bytes = []byte{byte(n), 1}
			}
			table.Keys, table.Records = append(table.Keys, int64(key)), append(table.Records, r)
		}
		setup.Tables = append(setup.Tables, table)
	}
	e, err := p.New(setup)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// Every call, also in a transaction that is rolled back, has the result that a Go map has.
func TestCallsAsOfAMap(t *testing.T) {
	undo := errors.New("undo")
	for _, p := range Engines() {
		if p.OneKey {
			continue
		}
		s, model := open(t, p, true, 5, 6, 7).Session(0), map[int64]int64{0: 5, 1: 6, 2: 7}
		r := rand.New(rand.NewPCG(1, 1))
		for range 300 {
			table, after := r.IntN(2), maps.Clone(model)
			rolls := r.IntN(4) == 0
			err := s.Do(false, func(tx bench.Access) error {
				after = maps.Clone(model)
				for range 1 + r.IntN(5) {
					key, n := r.Int64N(10)-3, r.Int64N(100)
					record := bench.Record{Number: n, Bytes: []byte{byte(n)}}
					switch r.IntN(5) {
					case 0, 1:
						tx.Put(0, key, bench.Record{Number: n})
						tx.Put(1, key, record)
						after[key] = n
					case 2:
						tx.Delete(0, key)
						tx.Delete(1, key)
						delete(after, key)
					case 3:
						if _, ok := after[key]; ok {
							tx.Add(0, key, 2)
							tx.Add(1, key, 2)
							after[key] += 2
						}
					}
					requireTable(t, p.Name, tx, table, after)
				}
				if rolls {
					return undo
				}
				return nil
			})
			if !rolls {
				require.NoError(t, err, p.Name)
				model = after
			} else {
				require.ErrorIs(t, err, undo)
			}
			require.NoError(t, s.Do(true, func(tx bench.Access) error {
				requireTable(t, p.Name, tx, 1-table, model)
				return nil
			}))
		}
	}
}

// requireTable checks that a table has the records of model.
func requireTable(t *testing.T, name string, tx bench.Access, table int, model map[int64]int64) {
	t.Helper()
	for key := range int64(10) {
		r, ok := tx.Get(table, key-3)
		n, has := model[key-3]
		require.Equal(t, has, ok, name)
		require.True(t, !ok || r.Number == n, name)
		require.True(t, !ok || (table == 1) == (len(r.Bytes) > 0), name)
	}
	var keys, all []int64
	tx.Range(table, 2, func(key int64, r bench.Record) bool {
		require.Equal(t, model[key], r.Number, name)
		keys = append(keys, key)
		return len(keys) < 3
	})
	want := slices.Sorted(maps.Keys(model))
	from, _ := slices.BinarySearch(want, 2)
	require.Equal(t, append([]int64(nil), want[from:min(from+3, len(want))]...), keys, name)
	tx.All(table, func(key int64, r bench.Record) {
		require.Equal(t, model[key], r.Number, name)
		all = append(all, key)
	})
	require.ElementsMatch(t, want, all, name)
}

// Snapshots do not change, whatever is put or deleted meanwhile, and a full scan of the B-tree holds no lock.
func TestSnapshots(t *testing.T) {
	for _, p := range Engines() {
		if p.NoSnapshots != "" {
			continue
		}
		e := open(t, p, false, 5, 6)
		pin, done, err := e.Session(0).(bench.Pinner).Pin()
		require.NoError(t, err)
		change := func() {
			require.NoError(t, e.Session(1).Do(false, func(tx bench.Access) error {
				tx.Add(0, 0, 1)
				tx.Delete(0, 1)
				tx.Put(0, 2, bench.Record{Number: 3})
				return nil
			}))
		}
		change()
		for key, n := range []int64{5, 6, 0} {
			r, ok := pin.Get(0, int64(key))
			require.Equal(t, n > 0, ok, p.Name)
			require.Equal(t, n, r.Number, p.Name)
		}
		done()
		if p.Name == "btree" {
			require.NoError(t, e.Session(0).Do(true, func(tx bench.Access) error {
				tx.All(0, func(int64, bench.Record) {})
				change()
				r, _ := tx.Get(0, 0)
				require.EqualValues(t, 6, r.Number)
				return nil
			}))
		}
	}
}

// An error of a store fails the transaction, as it is.
func TestStoreErrors(t *testing.T) {
	e, err := newBBolt(bench.Setup{Tables: []bench.TableSetup{{Numbers: true}}})
	require.NoError(t, err)
	defer e.Close()
	err = e.Session(0).Do(true, func(tx bench.Access) error {
		tx.Put(0, 1, bench.Record{})
		tx.Delete(0, 1)
		return nil
	})
	require.ErrorIs(t, err, berrors.ErrTxNotWritable)
	_, err = recordOf([]byte{1, 2}, true)
	require.Error(t, err)
}

// The file of bbolt is gone after the run.
func TestBBoltLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	e, err := newBBolt(bench.Setup{})
	require.NoError(t, err)
	files := func() []string {
		list, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
		require.NoError(t, err)
		return list
	}
	require.Len(t, files(), 1)
	e.Close()
	require.Empty(t, files())

	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, err = newBBolt(bench.Setup{})
	require.Error(t, err)
}

// A session of badger that conflicts gives up when the run is over, or after as many
// attempts as are allowed, and not before.
func TestGivesUp(t *testing.T) {
	for _, c := range []struct {
		times, attempts int
		stopped         bool
		tries           int
		err             error
	}{
		{times: 3, tries: 4},
		{times: 0, tries: 1, stopped: true},
		{times: 3, tries: 1, stopped: true, err: bench.ErrStopped},
		{times: 3, attempts: 4, tries: 4},
		{times: 3, attempts: 3, tries: 3, err: bench.ErrGaveUp},
		{times: 1, attempts: 1, tries: 1, err: bench.ErrGaveUp},
	} {
		setup := bench.Setup{Tables: []bench.TableSetup{{Numbers: true}}}
		setup.Attempts, setup.Stopped = c.attempts, func() bool { return c.stopped }
		e, err := newBadger(setup)
		require.NoError(t, err)
		tries, s := 0, e.Session(0)
		err = s.Do(false, func(tx bench.Access) error {
			tx.Get(0, 1)
			if tries++; tries <= c.times {
				require.NoError(t, e.Session(1).Do(false, func(other bench.Access) error {
					other.Put(0, 1, bench.Record{Number: int64(tries)})
					return nil
				}))
			}
			tx.Put(0, 2, bench.Record{})
			return nil
		})
		require.ErrorIs(t, err, c.err, "%+v", c)
		require.Equal(t, c.tries, tries, "%+v", c)
		require.EqualValues(t, min(tries, c.times), s.Aborts())
		e.Close()
	}
}

// Ctrl-C in the middle of a run ends it for every peer.
func TestInterrupted(t *testing.T) {
	w, _ := bench.WorkloadByName("transfer")
	for _, p := range Peers() {
		tr := trial(t, p, w, 4)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for tr.Live() == 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		m, err := tr.RunFor(ctx, time.Hour, false)
		require.NoError(t, err, p.Name)
		require.True(t, m.Interrupted)
		require.NoError(t, tr.Verify(), p.Name)
		tr.Close()
	}
}
