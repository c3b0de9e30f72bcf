package dump

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

// logged returns the changes of a journal, each as epoch, table, change and key.
func logged(t *testing.T, dir string) (list []string) {
	last := uint64(0)
	for _, line := range lines(t, "log", dir) {
		var c struct {
			Since, Epoch       uint64
			Table, Change, Key any
		}
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		require.GreaterOrEqual(t, c.Epoch, last, line)
		require.Less(t, c.Since, c.Epoch, line)
		last = c.Epoch
		list = append(list, fmt.Sprint(c.Epoch, " ", c.Table, " ", c.Change, " ", c.Key))
	}
	return list
}

// Each change has the epoch of its commit, in the order of the commits over the tables: also where
// many of them are in one group, and where a table was closed.
func TestLogOfCommits(t *testing.T) {
	for _, c := range codecs {
		db, m := fourRecords(t)
		other := mvcc.NewTable[string, int](db, "other", nil)
		dir := t.TempDir()
		j, err := durable.Open(t.Context(), db, dir, &durable.Options{Codec: c})
		require.NoError(t, err)
		var all []string
		add := func(change string, key any) { all = append(all, fmt.Sprint(db.Epoch(), " ", change, " ", key)) }
		for i := range 500 {
			switch i % 3 {
			case 0:
				m.Store(i, "x")
				add("t set", i)
			case 1:
				other.Store("k", i)
				add("other set", "k")
			case 2:
				require.NoError(t, db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
					m.In(tx).Delete(i - 2)
					other.In(tx).Set("l", i)
					return nil
				}))
				add("t deleted", i-2)
				add("other set", "l")
			}
		}
		require.NoError(t, j.Sync(t.Context()))
		other.Close()
		require.NoError(t, j.Sync(t.Context()))
		add("other closed", nil)
		require.NoError(t, j.Close())
		got := logged(t, dir)
		slices.Sort(all) // within a commit the order is that of the tables
		slices.Sort(got)
		require.Equal(t, all, got)
	}
}
