package durable

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A commit that no journal keeps, since that was closed, is an error line and a figure: the first
// one after each Close. The deletion of an expired key is none: it would expire again.
func TestCommitAfterClose(t *testing.T) {
	type store = *mvcc.Map[int, int]
	for what, c := range map[string]struct {
		after func(db *mvcc.DB, m store, open func() *Journal)
		lines int
	}{
		"nothing":      {func(*mvcc.DB, store, func() *Journal) {}, 0},
		"some commits": {func(_ *mvcc.DB, m store, _ func() *Journal) { m.Store(1, 1); m.Delete(2) }, 1},
		"another table": {func(db *mvcc.DB, _ store, _ func() *Journal) {
			mvcc.NewTable[int, int](db, "more", nil).Store(1, 1)
		}, 1},
		"opened again": {func(_ *mvcc.DB, m store, open func() *Journal) {
			j := open()
			m.Delete(1)
			require.NoError(t, j.Close())
		}, 0},
		"after each": {func(_ *mvcc.DB, m store, open func() *Journal) {
			m.Delete(1)
			require.NoError(t, open().Close())
			m.Delete(2)
		}, 2},
		"beside Close": {func(_ *mvcc.DB, m store, open func() *Journal) {
			j := open()
			was := j.toClose
			j.toClose = func(end func()) { was(func() { end(); m.Delete(1) }) }
			require.NoError(t, j.Close())
		}, 1},
	} {
		var out bytes.Buffer
		db := mvcc.NewDB(&mvcc.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		m, aged, dir := mvcc.NewTable[int, int](db, "m", nil), mvcc.NewTable[int, int](db, "aged", nil), t.TempDir()
		open := func() *Journal {
			j, err := Open(t.Context(), db, dir, nil)
			require.NoError(t, err, what)
			return j
		}
		release := door.Of(db).HoldExpiry()
		aged.Expire(func(int, int) time.Time { return time.Unix(1, 0) })
		j := open()
		for k := range 3 {
			m.Store(k, k)
		}
		aged.Store(1, 1)
		require.NoError(t, j.Close())
		release()
		require.Eventually(t, func() bool { return aged.Len() == 0 }, time.Minute, time.Millisecond)
		c.after(db, m, open)
		db.Close()
		m.Store(9, 9) // is not meant to be kept
		require.Equal(t, c.lines, strings.Count(out.String(), "level=ERROR"), "%s: %s", what, out.String())
		if c.lines != 2 { // the second journal's figures are its own
			require.EqualValues(t, c.lines, db.Stats().JournalFailures, what)
		}
		require.Zero(t, db.Stats().Watches, what)
	}
}
