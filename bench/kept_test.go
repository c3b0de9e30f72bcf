package bench

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// tried runs a workload on the map with other sessions, for so long or until a fault is seen, and
// returns what comes out. If it is not long at all the last record has but a second to expire or to
// arrive.
func tried(
	t *testing.T, name string, keys int, long time.Duration,
	session func(s *mvccSession[uint64]) Session[uint64],
) error {
	w, e := named(t, name, "mvcc")
	w.Params.Keys, w.Params.ValueSize = keys, ValueSize{}
	e = e.Wrapped(func(s Session[uint64]) Session[uint64] { return session(s.(*mvccSession[uint64])) })
	tr, err := New(Config{Workload: w, Engine: e, Threads: 2, Isolation: Serializable})
	require.NoError(t, err)
	defer tr.Close()
	if long == 0 {
		switch job := tr.rig.(*rigOf[uint64]).job.(type) {
		case *expiringJob[uint64]:
			job.patience = time.Second
		case *watchedJob:
			job.patience = time.Second
		}
	}
	// Some faults need the background work, which comes late on a busy machine.
	end := time.Now().Add(long)
	for more := true; err == nil && more; more = time.Now().Before(end) {
		_, err = tr.RunOps(t.Context(), 5000)
	}
	if err == nil {
		err = tr.Verify()
	}
	return err
}

// expiresAt is a session whose records expire at another time than they should.
type expiresAt struct {
	*mvccSession[uint64]
	at func(right time.Time) time.Time
}

func (s expiresAt) Expire(until func(string, uint64) time.Time) {
	s.mvccSession.Expire(func(key string, value uint64) time.Time { return s.at(until(key, value)) })
}

// Records that expire too early, or never, are noticed.
func TestFaultyExpiryIsCaught(t *testing.T) {
	for _, c := range []struct {
		fault string
		long  time.Duration
		at    func(right time.Time) time.Time
	}{
		{"", 3 * longestLife, func(right time.Time) time.Time { return right }},
		{"before its time", time.Minute, func(right time.Time) time.Time {
			return right.Add(-longestLife)
		}},
		{"has not expired", 0, func(time.Time) time.Time { return time.Time{} }},
	} {
		err := tried(t, "expiring", 5000, c.long,
			func(s *mvccSession[uint64]) Session[uint64] {
				return expiresAt{s, c.at}
			})
		if c.fault == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.fault)
		}
	}
}

// keptWrong is a session that keeps something else.
type keptWrong struct {
	*mvccSession[uint64]
	load func(map[string]uint64)
}

func (s keptWrong) Keep(dir string) (Kept, error) {
	k, err := s.mvccSession.Keep(dir)
	return keptLoads{k, s.load}, err
}

type keptLoads struct {
	Kept
	load func(map[string]uint64)
}

func (k keptLoads) Load() (map[string]uint64, error) {
	loaded, err := k.Kept.Load()
	k.load(loaded)
	return loaded, err
}

// A journal from which another state comes back is noticed.
func TestFaultyJournalsAreCaught(t *testing.T) {
	for fault, load := range map[string]func(map[string]uint64){
		"":                  func(map[string]uint64) {},
		"what was kept has": func(m map[string]uint64) { m["key-3"]++ },
		"what was kept":     func(m map[string]uint64) { clear(m) },
	} {
		err := tried(t, "journaled", 20, 3*longestLife,
			func(s *mvccSession[uint64]) Session[uint64] {
				return keptWrong{s, load}
			})
		if fault == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, fault)
		}
	}
}

// A followed session has commits that are tampered with.
type followed struct {
	*mvccSession[uint64]
	commit func(all changes, commit func(changes) error) error
}

type changes = []mvcc.Change[string, uint64]

func (s followed) Follow(
	ctx context.Context, begin func(iter.Seq2[string, uint64]), commit func(changes) error,
) error {
	return s.mvccSession.Follow(ctx, begin, func(all changes) error {
		return s.commit(slices.Clone(all), commit)
	})
}

// Watches that go wrong are caught.
func TestFaultyWatchesAreCaught(t *testing.T) {
	var kept changes
	for fault, commit := range map[string]func(all changes, commit func(changes) error) error{
		"": func(all changes, commit func(changes) error) error { return commit(all) },
		"a commit is lost": func(all changes, commit func(changes) error) error {
			if kept == nil {
				kept = all
				return nil
			}
			return commit(all)
		},
		"a commit comes late": func(all changes, commit func(changes) error) error {
			first := kept
			kept = all
			if first == nil {
				return nil
			}
			return commit(first)
		},
		"a commit comes twice": func(all changes, commit func(changes) error) error {
			return errors.Join(commit(all), commit(all))
		},
		"a commit is torn": func(all changes, commit func(changes) error) error {
			return errors.Join(commit(all[:1]), commit(all[1:]))
		},
		"an old value is wrong": func(all changes, commit func(changes) error) error {
			all[0].Old++
			all[1].Old--
			return commit(all)
		},
		"a key is missing": func(all changes, commit func(changes) error) error {
			all[0].Has = false
			return commit(all)
		},
	} {
		try := func(long time.Duration) error {
			kept = nil
			return tried(t, "watched", 20, long, func(s *mvccSession[uint64]) Session[uint64] {
				return followed{s, commit}
			})
		}
		if fault == "" {
			require.NoError(t, try(1)) // the follower may take its time
			continue
		}
		// On a busy machine the follower falls behind and begins anew: that mends its copy.
		var err error
		for tries := 0; err == nil && tries < 100; tries++ {
			err = try(0)
		}
		require.Error(t, err, fault)
	}
}
