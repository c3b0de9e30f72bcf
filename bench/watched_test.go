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

// A followed engine is the transactional map, with commits that are tampered with.
type followed struct {
	Engine[uint64]
	commit func(all []mvcc.Change[string, uint64], commit changesFunc) error
}

type changesFunc = func(all []mvcc.Change[string, uint64]) error

func (e followed) Session(i int) Session[uint64] {
	return followedSession{e.Engine.Session(i).(*mvccSession[uint64]), e}
}

type followedSession struct {
	*mvccSession[uint64]
	e followed
}

func (s followedSession) Follow(
	ctx context.Context, begin func(iter.Seq2[string, uint64]), commit changesFunc,
) error {
	return s.mvccSession.Follow(ctx, begin, func(all []mvcc.Change[string, uint64]) error {
		return s.e.commit(slices.Clone(all), commit)
	})
}

// Watches that go wrong are caught.
func TestFaultyWatchesAreCaught(t *testing.T) {
	w, _ := WorkloadByName("watched")
	w.Params.Keys = 20
	var kept []mvcc.Change[string, uint64]
	for fault, commit := range map[string]func(all []mvcc.Change[string, uint64],
		commit changesFunc) error{
		"": func(all []mvcc.Change[string, uint64], commit changesFunc) error { return commit(all) },
		"a commit is lost": func(all []mvcc.Change[string, uint64], commit changesFunc) error {
			if kept == nil {
				kept = all
				return nil
			}
			return commit(all)
		},
		"a commit comes late": func(all []mvcc.Change[string, uint64], commit changesFunc) error {
			first := kept
			kept = all
			if first == nil {
				return nil
			}
			return commit(first)
		},
		"a commit comes twice": func(all []mvcc.Change[string, uint64], commit changesFunc) error {
			return errors.Join(commit(all), commit(all))
		},
		"a commit is torn": func(all []mvcc.Change[string, uint64], commit changesFunc) error {
			return errors.Join(commit(all[:1]), commit(all[1:]))
		},
		"an old value is wrong": func(all []mvcc.Change[string, uint64], commit changesFunc) error {
			all[0].Old++
			all[1].Old--
			return commit(all)
		},
		"a key is missing": func(all []mvcc.Change[string, uint64], commit changesFunc) error {
			all[0].Has = false
			return commit(all)
		},
	} {
		kept = nil
		e := EngineSpec{Name: "followed", New: func(setup Setup[uint64]) (Engine[uint64],
			error) {
			inner, err := newMVCC(setup)
			return followed{inner, commit}, err
		}}
		tr, err := New(Config{Workload: w, Engine: e, Threads: 2, Isolation: Serializable})
		require.NoError(t, err)
		if fault != "" {
			tr.rig.(*rigOf[uint64]).job.(*watchedJob).patience = time.Second
		}
		_, err = tr.RunOps(t.Context(), 1000)
		if err == nil {
			err = tr.Verify()
		}
		tr.Close()
		if fault == "" {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, fault)
	}
}
