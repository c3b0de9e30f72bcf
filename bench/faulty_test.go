package bench

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrapped returns an engine spec like rwmutex with other sessions.
func wrapped(name string, session func(e *rwMutexEngine, worker int) Session) EngineSpec {
	return EngineSpec{Name: name, Doc: "for tests", New: func(setup Setup) (Engine, error) {
		e, err := newRWMutex(setup)
		return &wrappedEngine{rwMutexEngine: e.(*rwMutexEngine), session: session}, err
	}}
}

type wrappedEngine struct {
	*rwMutexEngine
	session func(e *rwMutexEngine, worker int) Session
}

func (e *wrappedEngine) Session(worker int) Session { return e.session(e.rwMutexEngine, worker) }

// recorder is a correct engine that counts who reads and writes what.
func recorder(*testing.T) EngineSpec {
	return wrapped("recorder", func(e *rwMutexEngine, _ int) Session {
		return &recordingSession{over(e), map[string]int{}, map[string]int{}}
	})
}

type recordingSession struct {
	rwMutexSession
	reads, writes map[string]int
}

func (s *recordingSession) Get(key string) (uint64, bool, error) {
	s.reads[key]++
	return s.rwMutexSession.Get(key)
}

func (s *recordingSession) Put(key string, v uint64) error {
	s.writes[key]++
	return s.rwMutexSession.Put(key, v)
}

// faulty does its work wrong once in a thousand times, in one way.
type faulty struct {
	rwMutexSession
	runner bool // the runner's own session is as faulty only if it must be
	n      int
	old    map[string]uint64 // values as they once were

	loseWrite, stale, absent, otherKey, torn, forgetCredit, loseTransfer, loseCount, dropKey, invent bool
}

func (s *faulty) now() bool {
	s.n++
	return !s.runner && s.n%1_000 == 0
}

func (s *faulty) Get(key string) (uint64, bool, error) {
	v, ok, err := s.rwMutexSession.Get(key)
	if s.runner {
		return v, ok, err
	}
	bad := s.now()
	switch {
	case bad && s.stale:
		if o, has := s.old[key]; has {
			return o, true, nil
		}
	case bad && s.absent:
		return 0, false, nil
	case bad && s.invent:
		return v + 1<<20, true, nil
	case bad && s.otherKey:
		s.mu.RLock()
		defer s.mu.RUnlock()
		for k, o := range s.m {
			if k != key {
				return o, true, nil
			}
		}
	}
	if s.stale && s.n%500 == 1 {
		s.old[key] = v
	}
	return v, ok, err
}

func (s *faulty) Put(key string, v uint64) error {
	if s.loseWrite && s.now() {
		return nil
	}
	return s.rwMutexSession.Put(key, v)
}

func (s *faulty) Add(key string, delta uint64) (uint64, error) {
	if s.loseCount && s.now() { // a lost update: read, pause, write
		s.mu.RLock()
		v := s.m[key]
		s.mu.RUnlock()
		runtime.Gosched()
		s.mu.Lock()
		s.m[key] = v
		s.mu.Unlock()
		return v + 1, nil
	}
	return s.rwMutexSession.Add(key, delta)
}

func (s *faulty) Transfer(from, to string, amount uint64) error {
	bad := s.now()
	switch {
	case bad && s.loseTransfer:
		return nil
	case bad && s.forgetCredit:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.m[from] -= amount
		return nil
	case s.torn: // each time: it is in the gap that an audit must look
		s.mu.Lock()
		s.m[from] -= amount
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
		s.m[to] += amount
		s.mu.Unlock()
		return nil
	}
	return s.rwMutexSession.Transfer(from, to, amount)
}

func (s *faulty) Sum() (total uint64, keys int, err error) {
	total, keys, err = s.rwMutexSession.Sum()
	if s.dropKey {
		keys--
	}
	return total, keys, err
}

func TestFaultyEnginesAreCaught(t *testing.T) {
	for _, c := range []struct {
		fault     string
		workloads []string
		threads   []int
		set       func(s *faulty)
	}{
		{"loses one write in 1000", []string{"read-heavy", "balanced", "write-heavy", "zipf-read", "zipf-write", "disjoint"}, []int{1, 4}, func(s *faulty) { s.loseWrite = true }},
		{"shows old values", []string{"read-heavy", "balanced", "zipf-read"}, []int{1, 4}, func(s *faulty) { s.stale = true }},
		{"does not find a key", []string{"read-heavy", "write-heavy", "zipf-write"}, []int{1, 4}, func(s *faulty) { s.absent = true }},
		{"makes values up", []string{"read-heavy", "zipf-read"}, []int{1, 4}, func(s *faulty) { s.invent = true }},
		{"shows values of other keys", []string{"balanced", "write-heavy", "zipf-read"}, []int{1, 4}, func(s *faulty) { s.otherKey = true }},
		{"tears transfers", []string{"transfer"}, []int{4}, func(s *faulty) { s.torn = true }},
		{"forgets a credit", []string{"transfer"}, []int{1, 4}, func(s *faulty) { s.forgetCredit = true }},
		{"loses whole transfers", []string{"transfer"}, []int{1, 4}, func(s *faulty) { s.loseTransfer = true }},
		{"leaves a key out of a scan", []string{"transfer"}, []int{1}, func(s *faulty) { s.dropKey = true }},
		{"loses increments", []string{"counter"}, []int{1, 4}, func(s *faulty) { s.loseCount = true }},
	} {
		for _, name := range c.workloads {
			for _, threads := range c.threads {
				w, _ := WorkloadByName(name)
				if w.Params.Theta != Unset {
					w.Params.Theta = 1.5 // few keys that matter
				}
				spec := wrapped("faulty", func(e *rwMutexEngine, worker int) Session {
					s := &faulty{rwMutexSession: over(e), runner: worker < 0, old: map[string]uint64{}}
					c.set(s)
					return s
				})
				tr, err := New(Config{Workload: w, Engine: spec, Threads: threads, Seed: 1})
				require.NoError(t, err)
				for range 40 { // a fault must be found within 400,000 operations
					if _, err = tr.RunOps(t.Context(), 10_000); err == nil {
						err = tr.Verify()
					}
					if err != nil {
						break
					}
				}
				var v *Violation
				require.ErrorAs(t, err, &v, "an engine that %s, under %s with %d threads", c.fault, name, threads)
				require.Equal(t, "faulty", v.Engine)
				require.Equal(t, name, v.Workload)
				require.Equal(t, threads, v.Threads)
				t.Logf("%s: %v", c.fault, v)

				// The trial stays failed.
				_, again := tr.RunOps(t.Context(), 1)
				require.ErrorIs(t, again, err)
				require.ErrorIs(t, tr.Verify(), err)
				tr.Close()
			}
		}
	}
}

// The last write of a single goroutine is lost: only the final look at the keys
// can tell.
func TestLastWriteLost(t *testing.T) {
	for _, name := range []string{"write-heavy", "disjoint", "counter"} {
		w, _ := WorkloadByName(name)
		if w.Params.ReadPct != Unset {
			w.Params.ReadPct = 0
		}
		spec := wrapped("faulty", func(e *rwMutexEngine, _ int) Session {
			return &losesLast{over(e), 1_000}
		})
		tr, err := New(Config{Workload: w, Engine: spec, Threads: 1})
		require.NoError(t, err)
		_, err = tr.RunOps(t.Context(), 1_000)
		require.NoError(t, err)
		var v *Violation
		require.ErrorAs(t, tr.Verify(), &v)
		tr.Close()
	}
}

type losesLast struct {
	rwMutexSession
	left int
}

func (s *losesLast) Put(key string, v uint64) error {
	if s.left--; s.left == 0 {
		return nil
	}
	return s.rwMutexSession.Put(key, v)
}

func (s *losesLast) Add(key string, delta uint64) (uint64, error) {
	if s.left--; s.left == 0 {
		v, _, _ := s.Get(key)
		return v + delta, nil
	}
	return s.rwMutexSession.Add(key, delta)
}

// Two goroutines may be given what nobody else was, and the sum may still be
// right: but not the same one twice.
func TestSumHandedOutTwice(t *testing.T) {
	w, _ := WorkloadByName("counter")
	spec := wrapped("faulty", func(e *rwMutexEngine, _ int) Session { return &repeats{rwMutexSession: over(e)} })
	tr, err := New(Config{Workload: w, Engine: spec, Threads: 1})
	require.NoError(t, err)
	defer tr.Close()
	_, err = tr.RunOps(t.Context(), 100)
	var v *Violation
	require.ErrorAs(t, err, &v)
}

type repeats struct {
	rwMutexSession
	n int
}

func (s *repeats) Add(key string, delta uint64) (uint64, error) {
	sum, err := s.rwMutexSession.Add(key, delta)
	if s.n++; s.n == 50 {
		sum--
	}
	return sum, err
}

// What only the end shows: an account too many in the last scan, and whatever
// else the runner's own session finds.
func TestOnlyTheEndShows(t *testing.T) {
	w, _ := WorkloadByName("transfer")
	w.Params.Keys = 10
	ended := false
	spec := wrapped("faulty", func(e *rwMutexEngine, _ int) Session { return &extraKey{over(e), &ended} })
	tr, err := New(Config{Workload: w, Engine: spec, Threads: 1})
	require.NoError(t, err)
	defer tr.Close()
	_, err = tr.RunOps(t.Context(), 100)
	require.NoError(t, err)
	ended = true
	var v *Violation
	require.ErrorAs(t, tr.Verify(), &v)
}

type extraKey struct {
	rwMutexSession
	over *bool
}

func (s *extraKey) Sum() (uint64, int, error) {
	total, n, err := s.rwMutexSession.Sum()
	if *s.over {
		n++
	}
	return total, n, err
}

// badEnd is an engine that does everything right but for what the runner reads at
// the end.
func badEnd() EngineSpec {
	return wrapped("bad end", func(e *rwMutexEngine, worker int) Session {
		if worker >= 0 {
			return over(e)
		}
		return &badReader{over(e), len(e.m)}
	})
}

type badReader struct {
	rwMutexSession
	good int // reads, one of each key when it has been filled
}

func (s *badReader) Get(key string) (uint64, bool, error) {
	if s.good--; s.good < 0 {
		return 12_345, true, nil
	}
	return s.rwMutexSession.Get(key)
}

func TestEveryWorkloadIsVerifiedAtTheEnd(t *testing.T) {
	for _, w := range smallNumbers() {
		tr, err := New(Config{Workload: w, Engine: badEnd(), Threads: 2})
		require.NoError(t, err)
		_, err = tr.RunOps(t.Context(), 100)
		require.NoError(t, err)
		var v *Violation
		require.ErrorAs(t, tr.Verify(), &v, w.Name)
		tr.Close()
	}
}

// A map that is not what it was filled with is not measured.
func TestBadlyFilledMap(t *testing.T) {
	for name, spoil := range map[string]func(e *rwMutexEngine){
		"empty":       func(e *rwMutexEngine) { clear(e.m) },
		"key missing": func(e *rwMutexEngine) { delete(e.m, "key-2") },
		"wrong value": func(e *rwMutexEngine) { e.m["key-3"]++ },
	} {
		for _, w := range smallNumbers() {
			if w.keyCount(4) < 4 {
				w.Params.Keys = 4
			}
			spec := EngineSpec{Name: name, New: func(setup Setup) (Engine, error) {
				e, err := newRWMutex(setup)
				spoil(e.(*rwMutexEngine))
				return e, err
			}}
			_, err := New(Config{Workload: w, Engine: spec, Threads: 4})
			var v *Violation
			require.ErrorAs(t, err, &v, "%s under %s", name, w.Name)
		}
	}
}

// An empty transaction that changes the map is noticed.
func TestBeginMustNotWrite(t *testing.T) {
	w, _ := WorkloadByName("begin")
	spec := wrapped("faulty", func(e *rwMutexEngine, _ int) Session {
		return beginWrites{over(e)}
	})
	tr, err := New(Config{Workload: w, Engine: spec, Threads: 1})
	require.NoError(t, err)
	_, err = tr.RunOps(t.Context(), 10)
	require.NoError(t, err)
	var v *Violation
	require.ErrorAs(t, tr.Verify(), &v)
}

type beginWrites struct{ rwMutexSession }

func (s beginWrites) Begin() error { return s.Put("key-9", 1) }

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
