package history

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// long returns a good history of n transactions.
func long(kind Kind, n, open int) *History {
	s := &sim{r: rand.New(rand.NewPCG(1, 1)), kind: kind, keys: 8, txs: n, open: open, maxOps: 4, snapshot: 20, blind: 20, deletes: 10, scans: 1, final: true}
	if kind == KindAppend {
		s.keys = n / 20 // lists of a reasonable length
		s.scans = 0
	}
	return s.run()
}

func BenchmarkCheck(b *testing.B) {
	for _, kind := range []Kind{KindAppend, KindRegister} {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("kind=%v/txs=%d", kind, n), func(b *testing.B) {
				h := long(kind, n, 16)
				var r *Report
				for b.Loop() {
					r = Check(h, Snapshot)
				}
				require.True(b, r.OK(), "%v", r)
				b.ReportMetric(float64(r.Txs)/r.Time.Seconds(), "txs/s")
				b.ReportMetric(float64(r.Edges), "edges")
			})
		}
	}
}

// TestBrokenLongHistory: thousands of transactions, of which many depend on each
// other in circles, are still explained by short ones.
func TestBrokenLongHistory(t *testing.T) {
	for _, kind := range []Kind{KindAppend, KindRegister} {
		s := &sim{r: rand.New(rand.NewPCG(1, 1)), kind: kind, keys: 100, txs: max(1000, runs(5000)), open: 16, maxOps: 4, snapshot: 100, final: true}
		h := s.run()
		requireOK(t, Check(h, Snapshot))
		r := Check(h, StrictSerializable)
		require.False(t, r.OK())
		for _, a := range r.Anomalies {
			require.NotEmpty(t, a.Cycle)
			require.LessOrEqual(t, len(a.Cycle), 8, "%v", r)
		}
	}
}
