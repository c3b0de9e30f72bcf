package mvcc_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// write does something to all tables.
func (s *shop) write(r *rand.Rand) error {
	return s.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		n := r.IntN(50)
		key := strconv.Itoa(n)
		switch r.IntN(4) {
		case 0:
			s.parts.In(tx).Set(key, part{Name: fmt.Sprint("part ", n%7), Count: r.IntN(100),
				When: time.Unix(int64(n), 0).UTC()})
			s.counts.In(tx).Set(n, r.IntN(100))
		case 1:
			s.counts.In(tx).Delete(n)
		case 2:
			s.set.In(tx).Set([2]int{n, n}, struct{}{})
			s.ptrs.In(tx).Set(key, &part{Count: n})
		default:
			s.set.In(tx).Delete([2]int{n, n})
			s.parts.In(tx).Delete(key)
		}
		return nil
	})
}

// Backups of the commits that a watch gives, loaded one after the other, or at once, lead to what
// each of them has got to.
func TestSaveCommits(t *testing.T) {
	for _, c := range codecs {
		ctx, cancel := context.WithCancel(t.Context())
		from, to, atOnce := newShop(t).fill(10), newShop(t), newShop(t)
		s := from.Snapshot()
		watch := from.Watch(ctx, &mvcc.DBWatchOptions{Since: s, Progress: true})
		full, saved := save(t, from, c, &mvcc.SaveOptions{Of: s, Version: 1})
		s.Close()
		loaded, err := to.Load(t.Context(), bytes.NewReader(full), c, &mvcc.LoadOptions{Version: 1})
		require.NoError(t, err)
		opts := &mvcc.LoadOptions{Version: 1}
		random := rand.New(rand.NewPCG(1, 2))
		rounds, commits := 0, []mvcc.DBCommit{}
		for got, err := range watch {
			require.NoError(t, err)
			if commits = append(commits, got); !got.Progress {
				continue
			}
			var b bytes.Buffer
			saved, err = door.Of(from.DB).SaveCommits(ctx, &b, c, saved, commits,
				&mvcc.SaveOptions{Version: 1})
			require.NoError(t, err)
			require.Equal(t, int64(b.Len()), saved.Bytes)
			data := bytes.Clone(b.Bytes())
			opts.Then = append(opts.Then, bytes.NewReader(data))
			_, err = door.Of(to.DB).LoadCommits(ctx, bytes.NewReader(data[:len(data)-1]), c, loaded,
				&mvcc.LoadOptions{Version: 1})
			require.ErrorAs(t, err, new(*mvcc.DamageError))
			if rounds > 0 {
				_, err = door.Of(to.DB).LoadCommits(ctx, bytes.NewReader(data), c, mvcc.Backup{DB: saved.DB,
					Epoch: saved.Epoch + 1}, opts)
				require.ErrorContains(t, err, "the backup does not follow the one before")
			}
			loaded, err = door.Of(to.DB).LoadCommits(ctx, &b, c, loaded, &mvcc.LoadOptions{Version: 1})
			require.NoError(t, err)
			require.EqualExportedValues(t, saved, loaded)
			commits = nil
			if from.Epoch() == saved.Epoch {
				require.Equal(t, from.content(), to.content())
			}
			if rounds++; rounds == 20 {
				break
			}
			for range random.IntN(30) {
				require.NoError(t, from.write(random))
			}
			if rounds == 10 { // what was in it does not come again
				from.set.Close()
				from.set = mvcc.NewTable[[2]int, struct{}](from.DB, "set", nil)
				from.set.Store([2]int{-1, -1}, struct{}{})
			}
			door.Of(from.DB).RequestProgress()
		}
		require.Equal(t, from.content(), to.content())
		_, err = atOnce.Load(t.Context(), bytes.NewReader(full), c, opts)
		require.NoError(t, err)
		require.Equal(t, from.content(), atOnce.content())
		cancel()
	}
}

// Progress says up to where all was given: a caller that asks for it after a commit is told of that
// one before, and even when nothing was committed.
func TestWatchProgress(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[int, int](db, "m", nil)
	door.Of(db).RequestProgress() // nobody watches
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds, committed, given, wants := 0, 0, 0, uint64(0)
	for c, err := range db.Watch(ctx, &mvcc.DBWatchOptions{Progress: true}) {
		require.NoError(t, err)
		if !c.Progress {
			require.NotEmpty(t, m.Changes(c))
			given++
			continue
		}
		require.Empty(t, m.Changes(c))
		if c.Epoch < wants {
			continue
		}
		require.Equal(t, committed, given)
		if rounds++; rounds == 100 {
			break
		}
		for range rounds % 3 { // none, at times
			m.Store(committed%7, committed)
			committed++
		}
		wants = db.Epoch()
		door.Of(db).RequestProgress()
	}
}

func TestSaveCommitsMisuse(t *testing.T) {
	s, other := newShop(t), newShop(t)
	_, saved := save(t, s, codecs[0], nil)
	_, foreign := save(t, other, codecs[0], nil)
	call := func(after mvcc.Backup, commits []mvcc.DBCommit, opts *mvcc.SaveOptions) func() {
		return func() {
			_, _ = door.Of(s.DB).SaveCommits(t.Context(), new(bytes.Buffer), codecs[0], after, commits, opts)
		}
	}
	one := []mvcc.DBCommit{{Epoch: saved.Epoch + 1}, {Epoch: saved.Epoch}}
	require.PanicsWithValue(t, "mvcc: SaveCommits: there are no commits", call(saved, nil, nil))
	require.PanicsWithValue(t, "mvcc: SaveCommits: after is a backup of another database",
		call(foreign, one, nil))
	require.PanicsWithValue(t, "mvcc: SaveCommits: the commits are not in their order",
		call(saved, one, nil))
	sn := s.Snapshot()
	defer sn.Close()
	require.PanicsWithValue(t, "mvcc: SaveCommits: SaveOptions.Of or Since is set",
		call(saved, one, &mvcc.SaveOptions{Of: sn}))
}
