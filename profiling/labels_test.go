package profiling_test

import (
	"context"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// The samples of an Update have its name and its table, beside the labels of the context, and those
// after it do not.
func TestLabelUpdate(t *testing.T) {
	db := mvcc.NewDB(&mvcc.Options{Around: profiling.LabelUpdate})
	defer db.Close()
	m := mvcc.NewTable[string, int](db, "stock", nil)
	srv := handler(t, profiling.Config{})
	seen := func() string {
		text := request(srv, "/debug/pprof/goroutine?debug=1").Body.String()
		for block := range strings.SplitSeq(text, "\n\n") {
			if !strings.Contains(block, ".TestLabelUpdate") {
				continue
			}
			if m := regexp.MustCompile(`(?m)^# labels: (\{.*\})$`).FindStringSubmatch(block); m != nil {
				return m[1]
			}
		}
		return "{}"
	}
	named := &mvcc.TxOptions{Name: "sell"}
	ctx := pprof.WithLabels(t.Context(), pprof.Labels("user", "7"))
	for want, update := range map[string]func(look func()) error{
		`{"mvcc_tx":"sell","mvcc_table":"stock","user":"7"}`: func(look func()) error {
			return m.Update(ctx, named, func(mvcc.Tx[string, int]) error { look(); return nil })
		},
		`{"mvcc_tx":"sell"}`: func(look func()) error {
			return db.Update(t.Context(), named, func(mvcc.DBTx) error { look(); return nil })
		},
		`{"mvcc_table":"stock"}`: func(look func()) error {
			return m.Update(context.Background(), nil, func(mvcc.Tx[string, int]) error { look(); return nil })
		},
		`{}`: func(look func()) error {
			return db.Update(context.Background(), nil, func(mvcc.DBTx) error { look(); return nil })
		},
	} {
		calls := 0
		require.NoError(t, update(func() {
			calls++
			require.JSONEq(t, want, seen())
		}))
		require.Equal(t, 1, calls)
	}
	pprof.SetGoroutineLabels(context.Background())
	require.JSONEq(t, `{}`, seen())
}
