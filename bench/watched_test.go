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
		kept = nil
		long := time.Duration(0)
		if fault == "" {
			long = 1 // the follower may take its time
		}
		err := tried(t, "watched", 20, long, func(s *mvccSession[uint64]) Session[uint64] {
			return followed{s, commit}
		})
		if fault == "" {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, fault)
	}
}
