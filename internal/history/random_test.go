package history

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomSim returns a sim for small histories.
func randomSim(r *rand.Rand, kind Kind) *sim {
	return &sim{r: r, kind: kind, keys: 1 + r.IntN(3), txs: 2 + r.IntN(4), open: 1 + r.IntN(4), maxOps: 1 + r.IntN(3),
		snapshot: r.IntN(2) * r.IntN(101), blind: r.IntN(60), deletes: r.IntN(30), scans: r.IntN(20)}
}

func requireOK(t *testing.T, r *Report) {
	t.Helper()
	if !r.OK() {
		var b bytes.Buffer
		_ = r.history.Write(&b)
		require.Fail(t, "an anomaly where there is none", "%v\n%s", r, &b)
	}
}

var times = flag.Int("history-times", 1, "how many times the usual number of random histories to check")

func runs(full int) int {
	full *= *times
	if testing.Short() {
		return full / 10
	}
	return full
}

// TestGoodHistories: what a store has done that keeps its promise passes.
func TestGoodHistories(t *testing.T) {
	for seed := range uint64(runs(3000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, kind := range []Kind{KindAppend, KindRegister} {
			s := randomSim(r, kind)
			s.keys, s.txs, s.open, s.final = 1+r.IntN(8), 10+r.IntN(60), 1+r.IntN(10), r.IntN(2) == 0
			h := s.run()
			requireOK(t, CheckWith(h, Options{Promise: Snapshot, Opacity: true}))
			if s.snapshot == 0 {
				requireOK(t, CheckWith(h, Options{Opacity: true}))
			}
		}
	}
}

// TestAgainstBruteForce: small histories, good ones and bad ones. The checker never
// finds an anomaly where some order explains everything. In append histories that
// end with a read of all keys it finds one wherever no order does.
func TestAgainstBruteForce(t *testing.T) {
	type count struct{ good, bad, missed int }
	for _, kind := range []Kind{KindAppend, KindRegister} {
		counts := map[bool]*count{true: {}, false: {}}
		names := map[string]int{}
		for seed := range uint64(runs(20_000)) {
			r := rand.New(rand.NewPCG(seed, 2))
			s := randomSim(r, kind)
			s.fault, s.final = r.IntN(2)*r.IntN(60), r.IntN(2) == 0
			h := s.run()
			for range r.IntN(3) {
				corrupt(r, h)
			}
			o := Options{Promise: Promise(r.IntN(2)), Opacity: r.IntN(2) == 0}
			good := bruteForce(h, o)
			report := CheckWith(h, o)
			n := counts[s.final]
			if good {
				n.good++
				requireOK(t, report)
				continue
			}
			n.bad++
			if report.OK() {
				n.missed++
				if kind == KindAppend && s.final {
					var b bytes.Buffer
					_ = h.Write(&b)
					require.Fail(t, "no order explains this history, and the checker finds nothing", "seed %d, %+v\n%s", seed, o, &b)
				}
				continue
			}
			names[report.Anomalies[0].Name]++
		}
		for final, n := range counts {
			t.Logf("%v histories, read in the end: %v: %d good, %d bad, of which missed %d (%.2f %%)",
				kind, final, n.good, n.bad, n.missed, 100*float64(n.missed)/float64(max(n.bad, 1)))
			require.Less(t, n.missed*20, n.bad+100, "more than one of twenty bad histories is missed")
		}
		t.Log(names)
	}
}
