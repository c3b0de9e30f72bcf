package peers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// small returns w with so few keys that filling a map takes no time, and short
// transactions.
func small(t *testing.T, w bench.Workload) bench.Workload {
	p := bench.NoParams
	p.Keys = min(w.Params.Keys, 500)
	p.TxnSize = min(w.Params.TxnSize, 20)
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
				if _, ok := p.Runs(w); !ok {
					continue
				}
				for _, threads := range goroutines {
					tr := trial(t, p.EngineSpec, w, threads)
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

// What a peer is said to lack, it lacks: the workloads exist, and are those for
// which its sessions lack a method or the method fails.
func TestLacks(t *testing.T) {
	for _, p := range Peers() {
		for name, why := range p.Lacks {
			w, ok := bench.WorkloadByName(name)
			require.True(t, ok, "%s lacks %q, which is no workload", p.Name, name)
			require.NotEmpty(t, why)
			spec := p.EngineSpec
			spec.Lacks = nil
			tr, err := bench.New(bench.Config{Workload: small(t, w), Engine: spec, Threads: 1})
			if err == nil {
				_, err = tr.RunOps(t.Context(), 100)
				tr.Close()
			}
			require.Error(t, err, "%s can run %s after all", p.Name, name)
		}
	}
}

// All engines can be named and say what they isolate.
func TestSpecs(t *testing.T) {
	names := map[string]bool{}
	for _, p := range All() {
		require.False(t, names[p.Name], "two engines are called %s", p.Name)
		names[p.Name] = true
		require.NotEmpty(t, p.Isolation, "isolation of %s", p.Name)
		require.NotEmpty(t, p.Doc, p.Name)
		require.False(t, strings.HasSuffix(p.Doc, "."), p.Name)
		found, ok := ByName(p.Name)
		require.True(t, ok)
		require.Equal(t, p.Isolation, found.Isolation)
	}
	_, ok := ByName("no-such")
	require.False(t, ok)
	for i, e := range Engines() {
		if i < len(bench.Engines()) {
			continue
		}
		p, _ := ByName(e.Name)
		require.Contains(t, e.Doc, p.Isolation)
		require.Contains(t, e.Doc, p.Caveat)
		require.NotEmpty(t, p.Module)
	}
	require.Len(t, Engines(), len(names))
}

// An absent key is no error, but one that must be there is.
func TestAbsentKeys(t *testing.T) {
	for _, p := range Peers() {
		e := open(t, p.Name, "a", "b")
		s := e.Session(0)
		v, ok, err := s.Get("b")
		require.NoError(t, err, p.Name)
		require.True(t, ok)
		require.EqualValues(t, 1, v)
		_, ok, err = s.Get("c")
		require.NoError(t, err, p.Name)
		require.False(t, ok, p.Name)
		if p.Name != "btree" { // there it is a zero, as in a Go map
			require.Error(t, s.(bench.Transferer).Transfer("a", "c", 1), p.Name)
			total, keys, err := s.(bench.Transferer).Sum()
			require.NoError(t, err)
			require.EqualValues(t, 1, total, p.Name)
			require.Equal(t, 2, keys, p.Name)
		}
	}
}

// open returns a peer that holds the given keys with the values 0, 1, ... It is
// closed at the end of the test.
func open(t *testing.T, name string, keys ...string) engine {
	t.Helper()
	p, ok := ByName(name)
	require.True(t, ok)
	setup := bench.Setup[uint64]{Keys: keys, Isolation: bench.Serializable}
	setup.Stopped = func() bool { return false }
	for i := range keys {
		setup.Values = append(setup.Values, uint64(i))
	}
	e, err := p.New(setup)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// The file of bbolt is gone after the run.
func TestBBoltLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	e, err := newBBolt(bench.Setup[uint64]{Keys: []string{"a"}, Values: []uint64{1}})
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
	_, err = newBBolt(bench.Setup[uint64]{})
	require.Error(t, err)
}

// A session that conflicts gives up when the run is over, or after as many
// attempts as are allowed, and not before.
func TestGivesUp(t *testing.T) {
	stopped := false
	setup := bench.Setup[uint64]{Keys: []string{"a", "b"}, Values: []uint64{5, 5}}
	setup.Stopped = func() bool { return stopped }
	for _, name := range []string{"badger"} {
		// conflict runs a transaction whose first attempts conflict.
		conflict := func(e engine, times int) (tries int, err error) {
			interfere := func() {
				if tries++; tries <= times {
					require.NoError(t, e.Session(1).Put("a", uint64(tries)))
				}
			}
			switch s := e.Session(0).(type) {
			case *badgerSession[uint64]:
				err = s.run(false, &s.Attempts, func(tx *badger.Txn) error {
					if _, err := tx.Get([]byte("a")); err != nil {
						return err
					}
					interfere()
					return tx.Set([]byte("b"), encode(new(arena), uint64(1)))
				})
				require.EqualValues(t, min(tries, times), s.Aborts())
			}
			return tries, err
		}
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
			p, _ := ByName(name)
			setup.Attempts = c.attempts
			stopped = c.stopped
			e, err := p.New(setup)
			require.NoError(t, err)
			tries, err := conflict(e, c.times)
			require.ErrorIs(t, err, c.err, "%s: %+v", name, c)
			require.Equal(t, c.tries, tries, "%s: %+v", name, c)
			e.Close()
		}
	}
}

// With a limit on attempts every engine whose transactions can conflict gives
// operations up when they do, and says so; the others never do. What was given up
// has changed nothing: the sums are right.
func TestContendedRunGivesUp(t *testing.T) {
	conflicting := []string{"mvcc", "mvcc-direct", "sync.Map", "badger"}
	w, _ := bench.WorkloadByName("counter")
	for _, p := range All() {
		if _, ok := p.Runs(w); !ok {
			continue
		}
		conflicts := slices.Contains(conflicting, p.Name)
		tr, err := bench.New(bench.Config{Workload: w, Engine: p.EngineSpec, Threads: 8,
			Seed: 1, Attempts: 1})
		require.NoError(t, err, p.Name)
		for {
			m, err := tr.RunFor(t.Context(), 5*time.Millisecond, true)
			require.NoError(t, err, p.Name)
			require.Equal(t, m.Errors, m.Aborts, "%s: each that was given up was one attempt", p.Name)
			if !conflicts {
				require.Zero(t, m.Errors, p.Name)
				break
			}
			if m.Errors > 0 {
				require.Positive(t, m.ErrorsPerSecond(), p.Name)
				break
			}
		}
		require.NoError(t, tr.Verify(), p.Name)
		tr.Close()
	}
}

// Ctrl-C in the middle of a run ends it for every peer.
func TestInterrupted(t *testing.T) {
	w, _ := bench.WorkloadByName("transfer")
	for _, p := range Peers() {
		tr := trial(t, p.EngineSpec, w, 4)
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
