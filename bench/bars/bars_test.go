package bars

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkBars measures the sides of every row as benchmarks of their own:
//
//	go test -bench 'Bars/load' -count 10 ./bench/bars > bars.txt
//	go tool benchstat -col /side bars.txt
//
// Unlike the command in internal/bars it measures one side after the other, and
// gives no verdict.
func BenchmarkBars(b *testing.B) {
	for _, row := range Rows(Options{}) {
		b.Run(row.Name(), func(b *testing.B) {
			for _, side := range []Side{row.Base, row.Ours} {
				b.Run("side="+side.Name, func(b *testing.B) {
					r, err := side.Open()
					require.NoError(b, err)
					_, err = r.Run(b.Context(), 1) // nothing is cold
					require.NoError(b, err)
					b.ReportAllocs()
					b.ResetTimer()
					took, err := r.Run(b.Context(), b.N)
					b.StopTimer()
					require.NoError(b, err)
					b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
					if w, ok := r.(Weigher); ok {
						b.ReportMetric(w.Bytes(), "B/key")
					}
					require.NoError(b, r.Close())
				})
			}
		})
	}
}

// Every side of every row works, and the rows make sense.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Rows(Options{PathKeys: [2]int{500, 2_000}, ScanKeys: 2_000, MemoryKeys: 2_000}) {
		id := row.Name() + " " + row.Ours.Name
		require.False(t, seen[id], "%s is there twice", id)
		seen[id] = true
		require.NotEmpty(t, row.What)
		require.NotEqual(t, row.Ours.Name, row.Base.Name, row.Name())
		require.Positive(t, row.Bar, row.Name())
		require.True(t, row.Kind.Met(row.Aim, row.Bar), "%s: who reaches the aim has passed the bar", row.Name())
		if testing.Short() && (row.Kind == Memory || strings.HasPrefix(row.Group, "many-")) {
			continue // they take long under the race detector
		}
		for _, side := range []Side{row.Base, row.Ours} {
			r, err := side.Open()
			require.NoError(t, err, row.Name())
			_, err = r.Run(t.Context(), 50)
			require.NoError(t, err, row.Name())
			_, ok := r.(Weigher)
			require.Equal(t, row.Kind == Memory, ok, row.Name())
			require.NoError(t, r.Close(), row.Name())
		}
	}
}

// What is weighed is what the filling leaves behind.
func TestWeight(t *testing.T) {
	const keys, each = 4_000, 16 << 10
	w := &weight{keys: keys, fill: func() (any, func()) {
		var list [][]byte
		for range keys {
			list = append(list, make([]byte, each))
		}
		return list, func() {}
	}}
	_, err := w.Run(t.Context(), 1)
	require.NoError(t, err)
	// Other tests' garbage may go away meanwhile: it is little beside 64 MB.
	require.InDelta(t, each, w.Bytes(), each/4)
}

// Whoever runs n operations in parallel runs exactly n.
func TestParallelSharesOut(t *testing.T) {
	for _, g := range []int{1, 2, 3, 7} {
		for _, n := range []int{0, 1, 6, 100} {
			shares := make([]int, g)
			p := &parallel{goroutines: g, op: func(i, n int) { shares[i] += n }}
			_, err := p.Run(t.Context(), n)
			require.NoError(t, err)
			sum := 0
			for _, s := range shares {
				sum += s
				require.InDelta(t, float64(n)/float64(g), s, 1)
			}
			require.Equal(t, n, sum)
			require.NoError(t, p.Close())
		}
	}
}
