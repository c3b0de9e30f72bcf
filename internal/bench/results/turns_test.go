package results

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchmath"
)

// The distribution of the sum of ranks is that of all sets of few ranks.
func TestDistributionOfRanks(t *testing.T) {
	for n := 1; n <= 12; n++ {
		count := make([]float64, n*(n+1)/2+1)
		for set := range uint(1) << n {
			sum := 0
			for rank := 1; rank <= n; rank++ {
				sum += rank * int(set>>(rank-1)&1)
			}
			count[sum]++
		}
		upTo := 0.0
		for u, c := range count {
			upTo += c
			require.InDelta(t, upTo/float64(uint(1)<<n), chanceOfRanks(n, u), 1e-12)
		}
		require.Equal(t, n, bits.Len(uint(1/chanceOfRanks(n, 0)))-1)
	}
	require.Zero(t, chanceOfRanks(5, -1))
	n := maxExactTurns + 1
	exact := distributionOfRanks(n)
	for _, u := range []int{2800, 3300, 3690} {
		require.InDelta(t, exact[u], chanceOfRanks(n, u), 0.001, "beyond what is computed exactly")
	}
	require.Equal(t, 6, PairsFor(0.05))
	require.Equal(t, 9, PairsFor(0.05/12))
}

// Estimate, bounds and p-value of pairs. A factor common to both samples of a pair counts for
// nothing.
func TestShiftOfTurns(t *testing.T) {
	s, ok := turnsShiftOf([]float64{1, 100, 7, 20, 3}, []float64{2, 200, 14, 40, 6}, false)
	require.True(t, ok)
	require.InDelta(t, 2, s.estimate(), 1e-12)
	require.InDelta(t, 1.0/32, s.chance(1), 1e-12)
	require.InDelta(t, 2.0/32, s.chanceOfEither(), 1e-12)
	lo, hi := s.bounds(1.0 / 32)
	require.InDelta(t, 2, lo, 1e-12)
	require.InDelta(t, 2, hi, 1e-12)
	lo, hi = s.bounds(1.0 / 33)
	require.Zero(t, lo)
	require.True(t, math.IsInf(hi, 1))

	s, ok = turnsShiftOf([]float64{2, 4}, []float64{1, 2}, true)
	require.True(t, ok)
	require.InDelta(t, 2, s.estimate(), 1e-12, "half as much of what is better if higher")
	s, _ = turnsShiftOf([]float64{0, 0, 1}, []float64{0, 1, 0}, false)
	require.Equal(t, 1.0, s.chanceOfEither(), "from zero and to zero are no difference together")
	same := []float64{0, 0, 5, 6}
	s, _ = turnsShiftOf(same, same, false)
	require.Equal(t, 1.0, s.chanceOfEither())
	for _, bad := range [][2][]float64{{{1}, {1, 2}}, {{}, {}}, {{-1}, {1}}} {
		_, ok = turnsShiftOf(bad[0], bad[1], false)
		require.False(t, ok)
	}
}

// drifting returns samples, taken in turns, of two programs of which the new one is slower by a
// percentage, on a machine that grows slower and faster by a third meanwhile.
func drifting(rnd *rand.Rand, n int, slower float64) pair {
	p := pair{name: "a", turns: true}
	speed := 1.0
	for range n {
		speed = min(1.3, max(0.7, speed*(1+0.15*rnd.NormFloat64())))
		p.before = append(p.before, speed*(1+0.02*rnd.NormFloat64()))
		p.after = append(p.after, speed*(1+0.02*rnd.NormFloat64())/(1+slower/100))
	}
	return p
}

// How often samples in turns show a slowdown of 5 %, and how often one that is not there, on a
// machine whose speed drifts by much more than that; beside it, the same of the samples as two
// heaps.
func TestTurnsFindAndDoNotInvent(t *testing.T) {
	const rounds, samples = 400, 20
	rnd := rand.New(rand.NewPCG(1, 2))
	found := func(slower float64, turns bool) (n int) {
		for range rounds {
			p := drifting(rnd, samples, slower)
			p.turns = turns
			table := tableOf("ops/s", 1, benchmath.AssumeNothing, 0.05, []pair{p})
			if table.Rows[0].Verdict != "" {
				require.True(t, slower == 0 || table.Rows[0].Verdict == Worsened)
				n++
			}
		}
		return n
	}
	require.LessOrEqual(t, found(0, true), rounds*8/100, "no more than one in 20, but for chance")
	require.GreaterOrEqual(t, found(5, true), rounds*95/100)
	require.LessOrEqual(t, found(5, false), rounds*30/100)
}

// turnsOf returns sides with such samples of some benchmarks.
func turnsOf(t *testing.T, seed uint64, n int, slower ...float64) [2]*Source {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	runs := [2]*Run{testRun(t, 1, 1), testRun(t, 1, 1)}
	for side := range runs {
		runs[side].Samples = nil
	}
	for k, pct := range slower {
		p := drifting(rnd, n, pct)
		for side, values := range [][]float64{p.before, p.after} {
			for i, v := range values {
				runs[side].Samples = append(runs[side].Samples, Sample{Workload: "begin",
					Title: fmt.Sprint("Begin", k), Engine: "mvcc", Threads: 1, Index: i, Ops: 1000, Wall: 1000,
					Metrics: map[string]float64{"ops/s": 1e6 * v, "ns/op": 1e3 / v}})
			}
		}
	}
	var sides [2]*Source
	for side, label := range []string{"old", "new"} {
		r := runs[side]
		r.Outcome = Outcome{Kind: Complete, Done: len(r.Samples), Of: len(r.Samples)}
		var err error
		sides[side], err = r.Source(label)
		require.NoError(t, err)
	}
	return sides
}

// One verdict on all that is judged.
func TestVerdict(t *testing.T) {
	verdict := func(n int, slower ...float64) *Verdict {
		sides := turnsOf(t, 3, n, slower...)
		c, err := Compare(sides[0], sides[1], Options{Alpha: 0.05, Turns: true})
		require.NoError(t, err)
		require.Contains(t, c.Method(), "signed-rank")
		return c.Decide(false)
	}
	v := verdict(20, 0, 10, 0)
	require.Equal(t, GotWorse, v.Outcome)
	require.Equal(t, []string{"ops/s"}, v.Units, "once, though its time says so too")
	require.Len(t, v.Worse, 1)
	require.Equal(t, "Begin1/engine=mvcc/threads=1-2", v.Worse[0].Name)
	require.InDelta(t, -9.1, *v.Worse[0].DeltaPct, 2.5, "by the pairs, whatever the medians are")
	require.Equal(t, "verdict: WORSE: of 3 comparisons of ops/s 1 worse", v.String())

	v = verdict(20, 10, -10)
	require.Equal(t, GotBoth, v.Outcome)
	require.Equal(t, GotBetter, verdict(20, 0, -10).Outcome)

	v = verdict(20, 0, 0)
	require.Equal(t, NoDifference, v.Outcome)
	require.Less(t, *v.MostPct, 4.0)
	require.Contains(t, v.String(), "verdict: NO DIFFERENCE FOUND: of 2 comparisons of ops/s none has "+
		"changed; none is worse by more than ")
	require.Contains(t, v.String(), " %, with 95 % confidence")

	v = verdict(5, 90)
	require.Equal(t, NoDifference, v.Outcome, "five pairs tell nothing")
	require.Nil(t, verdict(2, 0).MostPct)
	require.Contains(t, verdict(2, 0).String(), "too few")
}

// A figure that a sample lacks takes the one beside it away, and no other.
func TestTurnsWithoutAFigure(t *testing.T) {
	x := figuresOf{[]float64{1, 2, 3}, []int{0, 1, 2}}
	y := figuresOf{[]float64{10, 30, 40}, []int{0, 2, 3}}
	require.Equal(t, pair{"a", []float64{1, 3}, []float64{10, 30}, true}, pairOf("a", x, y, true))
	require.Equal(t, pair{"a", x.values, y.values, false}, pairOf("a", x, y, false))
}
