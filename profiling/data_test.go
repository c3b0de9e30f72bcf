package profiling_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// shop is a database with two tables, an index, a reader and a watch.
func shop(t *testing.T) (db *mvcc.DB, stock *mvcc.Map[string, int]) {
	t.Helper()
	db = mvcc.NewDB(&mvcc.Options{TracePins: true, Retain: time.Hour})
	t.Cleanup(db.Close)
	stock = mvcc.NewOrderedTable[string, int](db, "stock", nil)
	orders := mvcc.NewTable[time.Time, []string](db, "orders", nil)
	_, err := mvcc.NewIndex(stock, "level", func(_ string, n int) []int { return []int{n / 10} }, nil)
	require.NoError(t, err)
	for key, n := range map[string]int{"apple": 3, "apricot": 14, "banana": 15, "<b>": 92} {
		stock.Store(key, n)
	}
	orders.Store(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), []string{"apple", "apple"})
	return db, stock
}

func TestDataPage(t *testing.T) {
	db, stock := shop(t)
	snapshot := db.Snapshot()
	defer snapshot.Close()
	stock.Store("cherry", 1)
	ctx, cancel := context.WithCancel(t.Context())
	watch := stock.Watch(ctx, &mvcc.WatchOptions[string, int]{Buffer: 77})
	defer func() {
		cancel()
		for _, err := range watch {
			require.ErrorIs(t, err, context.Canceled)
		}
	}()
	h := profiling.Handler(profiling.Config{Data: map[string]*mvcc.DB{"shop": db}})
	defer h.Close()

	page := request(h, "/debug/pprof/data/").Body.String()
	for _, want := range []string{">stock<", "time.Time", "level</td>", "3 index keys, 1 entries a record", ">77<",
		">natural<", `<td>5</td><td class="t" colspan="4">`, "profiling_test.TestDataPage"} {
		require.Contains(t, page, want)
	}
	require.Contains(t, request(h, "/debug/pprof/").Body.String(), `href="data/"`)

	none := profiling.Handler(profiling.Config{})
	defer none.Close()
	require.Contains(t, request(none, "/debug/pprof/data/").Body.String(), "see Config.Data")
	require.NotContains(t, request(none, "/debug/pprof/").Body.String(), `href="data/"`)
}
