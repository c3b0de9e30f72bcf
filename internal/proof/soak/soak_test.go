package soak

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/proof/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// TestMain lets every key be judged, however long a busy machine takes for it.
func TestMain(m *testing.M) {
	keyPatience = 0
	os.Exit(m.Run())
}

// small is a configuration for a few rounds of few keys and workers.
func small(kinds ...Kind) Config {
	return Config{Rounds: 4, Seed: 1, Kinds: kinds, Workers: 4, Keys: 3, Snapshot: -1}
}

func run(t *testing.T, c Config) *Report {
	t.Helper()
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	return r
}

// The map passes every check.
func TestMapPasses(t *testing.T) {
	for _, k := range Kinds() {
		t.Run(string(k), func(t *testing.T) {
			c := small(k)
			if testing.Short() {
				c.Rounds = 1
			}
			r := run(t, c)
			if v := r.Violation; v != nil {
				t.Errorf("%v\n%v\n%s", v, v.Round, v.Detail)
			}
			require.Equal(t, c.Rounds, r.Rounds)
			total := r.Totals()
			require.Positive(t, total.Transactions)
			require.Positive(t, total.Operations)
			require.Zero(t, total.Undecided)
			require.Equal(t, k == Append, total.Dependencies > 0)
			require.Equal(t, k == Copies, total.Audits > 0)
			require.NoError(t, r.Err())
		})
	}
}

// A copy that is wrong is found, whatever has made it.
func TestWrongCopiesAreFound(t *testing.T) {
	for _, by := range []string{"the watch", "a backup", "the journal"} {
		c := small(Copies)
		c.Rounds = 1
		c.Target.Copied = func(is string, accounts map[int]int64) {
			if is == by {
				accounts[0]++
			}
		}
		r := run(t, c)
		require.NotNil(t, r.Violation)
		require.Contains(t, r.Violation.Detail, by+": table left was")
	}
}

func TestRounds(t *testing.T) {
	count := map[Kind]int{}
	for seed := range uint64(500) {
		r := draw(seed)
		require.Equal(t, r, draw(seed))
		count[r.Kind]++
		require.Positive(t, r.Workers)
		require.Positive(t, r.Keys)
		require.Positive(t, r.Procs)
		require.LessOrEqual(t, r.OneKey+r.ReadOnly, 100)
		if seed%10 == 0 {
			mvcc.New[int, int](r.Options()).Close() // panics if an option has no meaning
		}
	}
	for _, k := range Kinds() {
		require.Greater(t, count[k], 500/growthEvery/2, k)
		require.NotEmpty(t, k.Doc())
	}

	// A round is drawn by its own seed, whatever other kinds are wanted.
	all := rounds{c: &Config{Snapshot: -1}, seed: 7}
	some := rounds{c: &Config{Snapshot: -1, Kinds: []Kind{Reclaim}}, seed: 7}
	for range 5 {
		want := some.next()
		got := all.next()
		for got.Seed != want.Seed {
			require.NotEqual(t, Reclaim, got.Kind)
			got = all.next()
		}
		got.Number = want.Number
		require.Equal(t, want, got)
		again := rounds{c: &Config{Snapshot: -1, Repeat: true}, seed: want.Seed}
		for n := range 3 {
			r := again.next()
			require.Equal(t, n+1, r.Number)
			r.Number = want.Number
			require.Equal(t, want, r)
		}
	}

	fixed := rounds{c: &Config{Workers: 1, Keys: 1, Snapshot: 100}, seed: 1}
	for range 50 {
		r := fixed.next()
		require.Equal(t, 1, r.Workers)
		require.Equal(t, map[bool]int{true: 0, false: 100}[r.Kind == OneKey], r.Snapshot)
		if r.Kind == Growth {
			require.Equal(t, 2, r.Keys)
		} else {
			require.Equal(t, 1, r.Keys)
			require.Contains(t, r.String(), "1 worker, 1 key")
		}
	}
}

// GOMAXPROCS changes from round to round, and is put back.
func TestProcs(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	c := small(OneKey)
	seen := map[int]bool{}
	c.Target.Record = func(context.Context, history.Config) (*history.History, error) {
		seen[runtime.GOMAXPROCS(0)] = true
		return new(history.History), nil
	}
	c.Rounds = 1
	for n := uint64(0); len(seen) < 2; n++ {
		c.Seed = 10 * n
		run(t, c)
	}
	require.Equal(t, before, runtime.GOMAXPROCS(0))
}

// It ends when the time is over, and when it is told to; the work by then is reported.
func TestItEnds(t *testing.T) {
	c := small(OneKey, Append)
	c.Rounds, c.Duration = 0, time.Millisecond
	require.Positive(t, run(t, c).Rounds)

	ctx, cancel := context.WithCancel(t.Context())
	c.Duration = 0
	started := 0
	c.Start = func(r Round, so Totals) {
		require.Equal(t, started, so.Rounds)
		if started++; started == 3 {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, r.Rounds)
}

// Faults, each with the check that finds it.
var faults = map[string]struct {
	kind    Kind
	target  Target
	history bool // is saved
}{
	"a read returns a list in another order": {Append, Target{Record: garbled}, true},
	"a load returns a value of nobody":       {OneKey, Target{Record: garbled}, true},
	"the map panics":                         {OneKey, Target{Record: panicking}, false},
	"a snapshot is never closed": {Reclaim, Target{Hold: func(m *mvcc.Map[*Thing, *Thing]) {
		m.Snapshot()
	}}, false},
	"ever more snapshots are open": {Growth, Target{Stats: leaky()}, false},
}

func panicking(context.Context, history.Config) (*history.History, error) {
	return nil, errors.New("panic on purpose")
}

// garbled is the record of a map of which one read is wrong.
func garbled(ctx context.Context, c history.Config) (*history.History, error) {
	c.Txs = min(c.Txs, 300)
	h, err := history.Record(ctx, c)
	if err != nil {
		return nil, err
	}
	for i := range h.Txs {
		for n := range h.Txs[i].Ops {
			op := &h.Txs[i].Ops[n]
			if op.Kind != history.OpRead || h.Txs[i].Status != history.StatusCommitted {
				continue
			}
			if l := len(op.List); l > 1 {
				op.List = slices.Clone(op.List)
				op.List[l-1], op.List[l-2] = op.List[l-2], op.List[l-1]
				return h, nil
			} else if h.Kind != history.KindAppend {
				op.Present, op.Value = true, -5
				return h, nil
			}
		}
	}
	return h, nil
}

// A violation is saved with all that belongs to it, and a history that was saved is
// judged alike when it is read again.
func TestFaultsAreFoundAndSaved(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			c := small(f.kind)
			c.Rounds = 0 // until it is found
			if f.kind == Growth {
				c.Keys = 1000
			}
			c.Target = f.target
			c.Dir = filepath.Join(t.TempDir(), "new", "folder")
			r := run(t, c)
			require.NotNil(t, r.Violation)
			v := r.Violation
			require.NoError(t, v.SaveErr)
			require.NotEmpty(t, v.Detail)
			require.Equal(t, f.kind, v.Round.Kind)
			require.Equal(t, 1, r.Totals().Violations)
			require.ErrorContains(t, r.Err(), v.Summary)

			report, err := os.ReadFile(filepath.Join(v.Folder, ReportFile))
			require.NoError(t, err)
			require.Contains(t, string(report), v.Summary)
			require.Contains(t, string(report), v.Detail)
			require.Contains(t, string(report), "PruneThreshold:")

			saved := filepath.Join(v.Folder, HistoryFile)
			if !f.history {
				require.NoFileExists(t, saved)
				return
			}
			file, err := os.Open(saved)
			require.NoError(t, err)
			defer file.Close()
			again, err := CheckFile(file)
			require.NoError(t, err)
			require.NotNil(t, again.Violation)
			require.Equal(t, v.Summary, again.Violation.Summary)
			require.Equal(t, f.kind, again.Violation.Round.Kind)
		})
	}
}

// Violations of one round, run again, are saved beside each other.
func TestFoldersAreNew(t *testing.T) {
	c := small(OneKey)
	c.Dir, c.Target.Record = t.TempDir(), panicking
	var folders []string
	for range 3 {
		r := run(t, c)
		require.NotNil(t, r.Violation)
		folders = append(folders, filepath.Base(r.Violation.Folder))
	}
	require.Equal(t, []string{folders[0], folders[0] + "-2", folders[0] + "-3"}, folders)
}

// A round that hangs is given up, and the stacks of all goroutines say where.
func TestHang(t *testing.T) {
	c := small(Append, OneKey)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	c.Patience, c.Dir = time.Millisecond, t.TempDir()
	c.Target.Record = func(context.Context, history.Config) (*history.History, error) {
		<-hang
		return new(history.History), nil
	}
	r := run(t, c)
	require.Equal(t, 1, r.Rounds)
	require.Contains(t, r.Violation.Summary, "waits for ever")
	require.Contains(t, r.Violation.Detail, "TestHang")
}

// A map at rest has nothing open and nothing to do, and keeps nothing alive.
func TestAtRest(t *testing.T) {
	patience := restPatience
	defer func() { restPatience = patience }()

	m := mvcc.New[*Thing, *Thing](&mvcc.Options{ReclaimInterval: time.Millisecond})
	defer m.Close()
	var keys, values []weak.Pointer[Thing]
	c := &churner{}
	for range 10 {
		m.Store(c.fresh(&keys), c.fresh(&values))
	}
	require.Nil(t, checkQuiet(m))
	require.Nil(t, checkKept(m, keys, values))
	held := []*Thing{c.fresh(&keys), c.fresh(&values)}
	restPatience = time.Millisecond
	require.Contains(t, checkKept(m, keys[:10], values).Summary,
		"keeps alive 10 of 10 keys and 11 of 11 values")
	require.Contains(t, checkKept(m, keys[:11], values[:10]).Summary, "keeps alive 11 of 11 keys")
	runtime.KeepAlive(held)

	s := m.Snapshot()
	require.Contains(t, checkQuiet(m).Summary, "1 transactions or snapshots are open")
	s.Close()
	restPatience = patience
	require.Nil(t, checkQuiet(m))
	restPatience = time.Millisecond
	m = mvcc.New[*Thing, *Thing](&mvcc.Options{ReclaimInterval: time.Hour})
	defer m.Close()
	m.Store(nil, c.fresh(&values))
	m.Store(nil, c.fresh(&values))
	require.Contains(t, checkQuiet(m).Summary, "1 keys wait to be pruned")
}
