package mvcc_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A block is void when somebody else has written the record, even if it has the same value: the
// numbers up to that may be those of other records. None of the block is given back then.
func TestSequenceVoid(t *testing.T) {
	type numbers = mvcc.Map[string, uint64]
	var saved bytes.Buffer
	old := mvcc.NewDB(nil)
	defer old.Close()
	mvcc.NewTable[string, uint64](old, "numbers", nil).Store("k", 10)
	_, err := durable.Save(t.Context(), old, &saved, durable.Gob, nil)
	require.NoError(t, err)
	load := func(db *mvcc.DB) {
		_, err := durable.Load(t.Context(), db, bytes.NewReader(saved.Bytes()), durable.Gob, nil)
		require.NoError(t, err)
	}
	draw := func(s *mvcc.Sequence[string]) uint64 {
		n, err := s.Next()
		require.NoError(t, err)
		return n
	}
	for what, c := range map[string]struct {
		write func(db *mvcc.DB, m *numbers)
		next  uint64
	}{
		"nothing":            {func(*mvcc.DB, *numbers) {}, 2},
		"another record":     {func(_ *mvcc.DB, m *numbers) { m.Store("other", 1000) }, 2},
		"another sequence":   {func(_ *mvcc.DB, m *numbers) { draw(mvcc.NewSequence(m, "k", 10)) }, 2},
		"a load":             {func(db *mvcc.DB, _ *numbers) { load(db) }, 21},
		"the same value":     {func(_ *mvcc.DB, m *numbers) { m.Store("k", 20) }, 21},
		"a higher one":       {func(_ *mvcc.DB, m *numbers) { m.Store("k", 1000) }, 1001},
		"a lower one":        {func(_ *mvcc.DB, m *numbers) { m.Store("k", 1) }, 21},
		"it is deleted":      {func(_ *mvcc.DB, m *numbers) { m.Clear() }, 21},
		"a load, and others": {func(db *mvcc.DB, m *numbers) { draw(mvcc.NewSequence(m, "k", 10)); load(db) }, 31},
	} {
		for _, releases := range []bool{false, true} {
			db := mvcc.NewDB(nil)
			defer db.Close()
			m := mvcc.NewTable[string, uint64](db, "numbers", nil)
			s, other := mvcc.NewSequence(m, "k", 10), mvcc.NewSequence(m, "k", 10)
			require.EqualValues(t, 1, draw(s), what)
			if !releases {
				require.EqualValues(t, 11, draw(other), what)
			}
			c.write(db, m)
			was, _ := m.Load("k")
			if releases {
				require.NoError(t, s.Release())
				if now, _ := m.Load("k"); what == "nothing" || what == "another record" {
					require.EqualValues(t, 1, now, what)
				} else {
					require.Equal(t, was, now, what)
				}
				continue
			}
			n := draw(s)
			if c.next == 2 {
				require.EqualValues(t, 2, n, what)
				require.EqualValues(t, 12, draw(other), what)
				continue
			}
			require.Equal(t, c.next, n, what)
			require.Greater(t, draw(other), n, what) // of a block behind that
		}
	}
}
