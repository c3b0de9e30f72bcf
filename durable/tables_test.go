package durable_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A changing is a database whose tables are made and closed, with other types each time. Their
// content is known at each epoch that was noted.
type changing struct {
	*mvcc.DB
	tables map[string]anyOf
}

// An anyOf is a table of ints, or of strings.
type anyOf struct {
	ints    *mvcc.Map[int, int]
	strings *mvcc.Map[int, string]
}

func (a anyOf) store(k, v int) {
	if a.ints != nil {
		a.ints.Store(k, v)
		return
	}
	a.strings.Store(k, fmt.Sprint(v))
}

func (a anyOf) close() {
	if a.ints != nil {
		a.ints.Close()
		return
	}
	a.strings.Close()
}

func (a anyOf) content() any {
	if a.ints != nil {
		return maps.Collect(a.ints.All())
	}
	return maps.Collect(a.strings.All())
}

func newAnyOf(db *mvcc.DB, name string, ints bool) (a anyOf) {
	if ints {
		a.ints = mvcc.NewTable[int, int](db, name, nil)
	} else {
		a.strings = mvcc.NewTable[int, string](db, name, nil)
	}
	return a
}

func (c *changing) content() map[string]any {
	all := map[string]any{}
	for name, a := range c.tables {
		all[name] = a.content()
	}
	return all
}

// change does something.
func (c *changing) change(r *rand.Rand) {
	name := fmt.Sprint("t", r.IntN(4))
	a, there := c.tables[name]
	switch {
	case !there:
		c.tables[name] = newAnyOf(c.DB, name, r.IntN(2) == 0)
		if r.IntN(3) > 0 {
			c.tables[name].store(r.IntN(10), r.IntN(1000))
		}
	case r.IntN(4) == 0:
		a.close()
		delete(c.tables, name)
		a.store(77, 77) // nobody's any more
	default:
		a.store(r.IntN(10), r.IntN(1000))
	}
}

// like returns a database with empty tables as in content, to load into.
func like(t testing.TB, content map[string]any) *changing {
	db := newDB(t)
	c := &changing{db, map[string]anyOf{}}
	for name, was := range content {
		_, ints := was.(map[int]int)
		c.tables[name] = newAnyOf(db, name, ints)
	}
	return c
}

// Which tables there are belongs to the snapshot: a backup has those, and no others, whatever was
// closed and made since, also with other types; differences and commits lead from one to the next;
// and a database that loads it needs no table that is closed in the end.
func TestTablesOfSnapshots(t *testing.T) {
	for seed := range uint64(stage.Sizes(30, 6)) {
		random := rand.New(rand.NewPCG(seed, 1))
		retains := seed%2 == 1
		db := mvcc.NewDB(&[]mvcc.Options{{ManualReclaim: true}, {Retain: 1 << 40}}[seed%2])
		c := &changing{db, map[string]anyOf{}}
		type moment struct {
			s       mvcc.DBSnapshot
			content map[string]any
		}
		var moments []moment
		var commits []mvcc.DBCommit
		ctx, cancel := context.WithCancel(t.Context())
		begin, watched := random.IntN(10), func() {}
		for i := range 20 {
			for range random.IntN(4) {
				c.change(random)
			}
			moments = append(moments, moment{db.Snapshot(), c.content()})
			if i == begin {
				watch := db.Watch(ctx, &mvcc.DBWatchOptions{Since: moments[0].s, Progress: true})
				watched = func() {
					last := db.Epoch()
					door.Of(db).RequestProgress()
					for c, err := range watch {
						require.NoError(t, err)
						if commits = append(commits, c); c.Progress && c.Epoch >= last {
							break
						}
					}
				}
			}
		}
		load := func(want map[string]any, first []byte, then ...[]byte) {
			t.Helper()
			to, opts := like(t, want), durable.LoadOptions{}
			for _, data := range then {
				opts.Then = append(opts.Then, bytes.NewReader(data))
			}
			_, err := durable.Load(ctx, to.DB, bytes.NewReader(first), durable.Gob, &opts)
			require.NoError(t, err, "seed %d", seed)
			require.Equal(t, want, to.content(), "seed %d", seed)
		}
		save := func(opts durable.SaveOptions) ([]byte, durable.Backup) {
			var b bytes.Buffer
			info, err := durable.Save(ctx, db, &b, durable.Gob, &opts)
			require.NoError(t, err)
			return b.Bytes(), info
		}
		for i, m := range moments {
			full, info := save(durable.SaveOptions{Of: m.s})
			require.Len(t, info.SavedTables(), len(m.content))
			load(m.content, full)
			past, err := db.SnapshotAt(m.s.Epoch())
			if err != nil && !retains {
				require.ErrorIs(t, err, mvcc.ErrEpochGone)
			} else {
				require.NoError(t, err)
				again, _ := save(durable.SaveOptions{Of: past})
				past.Close()
				load(m.content, again)
			}
			require.NoError(t, db.View(func(s mvcc.DBSnapshot) error {
				now, _ := save(durable.SaveOptions{Of: s})
				load(moments[len(moments)-1].content, now)
				return nil
			}))
			var then [][]byte
			for j := i + 1; j < len(moments); j += 1 + random.IntN(4) {
				diff, _ := save(durable.SaveOptions{Of: moments[j].s, Since: m.s})
				load(moments[j].content, full, append(then, diff)...)
				if random.IntN(3) == 0 {
					then, m = append(then, diff), moments[j]
				}
			}
		}
		watched()
		first, after := save(durable.SaveOptions{Of: moments[0].s})
		var groups [][]byte
		for from := 0; from < len(commits); {
			to := min(from+1+random.IntN(6), len(commits))
			var b bytes.Buffer
			var err error
			after, err = durable.SaveCommits(ctx, db, &b, durable.Gob, after, commits[from:to], nil)
			require.NoError(t, err)
			groups, from = append(groups, b.Bytes()), to
		}
		last := moments[len(moments)-1].content
		load(last, first, groups...)
		to := like(t, last)
		more := durable.Followed(durable.LoadOptions{}, nil)
		at, err := durable.Load(ctx, to.DB, bytes.NewReader(first), durable.Gob, more)
		for i, data := range groups {
			require.NoError(t, err)
			_, err = durable.LoadCommits(ctx, to.DB, bytes.NewReader(data[:len(data)-1]), durable.Gob, at, more)
			require.ErrorAs(t, err, new(*durable.DamageError))
			if i > 0 {
				_, err = durable.LoadCommits(ctx, to.DB, bytes.NewReader(groups[i-1]), durable.Gob, at, more)
				require.ErrorContains(t, err, "the backup does not follow the one before")
			}
			at, err = durable.LoadCommits(ctx, to.DB, bytes.NewReader(data), durable.Gob, at, more)
		}
		require.NoError(t, err)
		require.NoError(t, at.Missing())
		require.Equal(t, last, to.content())
		cancel()
		for _, m := range moments {
			m.s.Close()
		}
		db.Close()
	}
}

// A table that does not fit, and is not closed, is an error at last.
func TestTablesThatAreMissing(t *testing.T) {
	db := newDB(t)
	newAnyOf(db, "b", true).store(1, 1)
	newAnyOf(db, "a", true).store(1, 1)
	var data bytes.Buffer
	_, err := durable.Save(t.Context(), db, &data, durable.Gob, nil)
	require.NoError(t, err)
	to := like(t, map[string]any{"b": map[int]int{}})
	more := durable.Followed(durable.LoadOptions{}, nil)
	at, err := durable.Load(t.Context(), to.DB, bytes.NewReader(data.Bytes()), durable.Gob, more)
	require.NoError(t, err)
	require.ErrorContains(t, at.Missing(), `there is no table "a"`)
	require.Equal(t, map[string]any{"b": map[int]int{1: 1}}, to.content())
	to = like(t, map[string]any{"b": map[int]int{}})
	_, err = durable.Load(t.Context(), to.DB, &data, durable.Gob, nil)
	require.ErrorContains(t, err, `durable: Load: there is no table "a"`)
	require.Equal(t, map[string]any{"b": map[int]int{}}, to.content())
}

// After a Load epochs are above that of the backup.
func TestLoadSkipsEpochs(t *testing.T) {
	db, to := newDB(t), newDB(t)
	newAnyOf(db, "a", true).store(1, 1)
	door.Of(db).SkipTo(1000, false)
	door.Of(db).SkipTo(5, false)
	require.Equal(t, uint64(1000), db.Epoch())
	var data bytes.Buffer
	_, err := durable.Save(t.Context(), db, &data, durable.Gob, nil)
	require.NoError(t, err)
	newAnyOf(to, "a", true)
	_, err = durable.Load(t.Context(), to, &data, durable.Gob, nil)
	require.NoError(t, err)
	require.Equal(t, uint64(1001), to.Epoch())
}
