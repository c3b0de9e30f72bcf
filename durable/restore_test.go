package durable_test

import (
	"bytes"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Load is exact at every level: a record that is written while it is under way, and is not in the
// backup, is gone at its commit, or comes after it.
func TestLoadIsExact(t *testing.T) {
	for _, level := range []mvcc.Level{mvcc.LevelSerializable, mvcc.LevelSnapshot} {
		db := mvcc.NewDB(&mvcc.Options{Isolation: level})
		t.Cleanup(db.Close)
		m := mvcc.NewTable[int, int](db, "m", nil)
		var loading atomic.Bool
		_, err := mvcc.NewIndex(m, "i", func(_, n int) []int {
			if loading.Swap(false) { // within the transaction of Load
				stored := make(chan struct{})
				go func() {
					defer close(stored)
					m.Store(1000, 1000)
				}()
				<-stored
			}
			return []int{n}
		}, nil)
		require.NoError(t, err)
		for i := range 20 {
			m.Store(i, i)
		}
		want := maps.Collect(m.All())
		var b bytes.Buffer
		_, err = durable.Save(t.Context(), db, &b, durable.Gob, nil)
		require.NoError(t, err)
		for i := range 20 {
			m.Delete(i)
			m.Store(100+i, i)
		}
		loading.Store(true)
		_, err = durable.Load(t.Context(), db, &b, durable.Gob, nil)
		require.NoError(t, err)
		require.False(t, loading.Load())
		require.Equal(t, want, maps.Collect(m.All()))
	}
}

// A table is saved and loaded whatever its name is; the name of a codec is text.
func TestNamesComeBack(t *testing.T) {
	db, to := newDB(t), newDB(t)
	var copies []*mvcc.Map[int, int]
	for i, name := range []string{"t\xff", "t\xfe", "t", "t\ufffd", "\x00<\u2028"} {
		mvcc.NewTable[int, int](db, name, nil).Store(i, i)
		copies = append(copies, mvcc.NewTable[int, int](to, name, nil))
	}
	var b bytes.Buffer
	_, err := durable.Save(t.Context(), db, &b, durable.Gob, nil)
	require.NoError(t, err)
	_, err = durable.Load(t.Context(), to, &b, durable.Gob, nil)
	require.NoError(t, err)
	for i, m := range copies {
		require.Equal(t, map[int]int{i: i}, maps.Collect(m.All()))
	}
	c := durable.Gob
	c.Name = "\xff"
	require.PanicsWithValue(t, `durable: Save: the name "\xff" of the Codec is not UTF-8`, func() {
		_, _ = durable.Save(t.Context(), db, new(bytes.Buffer), c, nil)
	})
}
