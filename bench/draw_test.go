package bench

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table itself, without sampling: the cells' shares add up to the probabilities.
func TestZipfTableIsExact(t *testing.T) {
	for _, n := range []int{1, 2, 3, 1_000, 4_097} {
		for _, theta := range []float64{0, 0.5, 0.9, 0.99, 1, 3} {
			z := newZipf(n, theta)
			got := make([]float64, n)
			for i, c := range z.cells {
				keep := float64(c.keep) / (1 << 64)
				got[i] += keep / float64(n)
				got[c.other] += (1 - keep) / float64(n)
			}
			weights, sum := zipfWeights(n, theta), 0.0
			for _, w := range weights {
				sum += w
			}
			for i := range n {
				require.InDelta(t, weights[i]/sum, got[i], 1e-12, "n %d, theta %v, index %d", n, theta, i)
			}
		}
	}
}

func zipfWeights(n int, theta float64) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -theta)
	}
	return weights
}

// requireShares checks by a chi-square test that counts are probable for the weights: it
// fails but once in millions of seeds, of which this has one.
func requireShares(t *testing.T, weights, counts []float64, what string) {
	t.Helper()
	sum, draws := 0.0, 0.0
	for i := range counts {
		sum, draws = sum+weights[i], draws+counts[i]
	}
	chi, free := 0.0, -1.0
	for i := range counts {
		expected := weights[i] / sum * draws
		if expected == 0 {
			require.Zero(t, counts[i], "%s: number %d", what, i)
			continue
		}
		chi += (counts[i] - expected) * (counts[i] - expected) / expected
		free++
	}
	require.Less(t, chi, free+5*math.Sqrt(2*free)+10, "%s: chi-square with %v degrees of freedom", what,
		free)
}

func TestDraws(t *testing.T) {
	const n, draws = 100, 400_000
	drawn := func(of func(m *Model, table *Table) Draw) []float64 {
		m := &Model{seed: 1}
		draw := of(m, m.Table(Table{Records: n}))
		for _, prepare := range m.prepare {
			prepare()
		}
		r, counts := newRand(1, 2), make([]float64, n)
		for range draws {
			counts[draw(&r)]++
		}
		return counts
	}
	even := slices.Repeat([]float64{1}, n)
	for _, theta := range []float64{0, 0.99, 1.5} {
		counts := drawn(func(m *Model, _ *Table) Draw { return m.Zipf(n, theta) })
		requireShares(t, zipfWeights(n, theta), counts, fmt.Sprint("zipf ", theta))
	}
	scrambled := func(m *Model, _ *Table) Draw { return m.Scrambled(n, 0.99) }
	counts := drawn(scrambled)
	require.Equal(t, counts, drawn(scrambled), "a seed makes the same numbers")
	byRank := slices.Clone(counts)
	slices.Sort(byRank)
	slices.Reverse(byRank)
	for i, share := range []float64{0.1881, 0.0947, 0.0634} { // 1/i^0.99, of their sum to 100
		require.InDelta(t, share, byRank[i]/draws, 0.004, "rank %d", i)
	}
	require.NotEqual(t, 1+slices.Index(counts, byRank[0]), slices.Index(counts, byRank[1]),
		"ranks are spread")

	latest := drawn(func(m *Model, table *Table) Draw { return m.Latest(table, 0.99) })
	slices.Reverse(latest)
	requireShares(t, zipfWeights(n, 0.99), latest, "latest: the newest first")

	hot := make([]float64, n)
	for i := range hot {
		if hot[i] = 0.2 / 80; i < 20 {
			hot[i] = 0.8 / 20
		}
	}
	requireShares(t, hot, drawn(func(m *Model, _ *Table) Draw { return m.Hot(n, 0.2, 0.8) }), "hot")
	requireShares(t, even, drawn(func(m *Model, _ *Table) Draw { return m.Hot(n, 1, 0.3) }), "all are hot")

	uneven := make([]float64, n) // TPC-C, clause 2.1.6, with C 0
	for a := range 16 {
		for k := range n {
			uneven[(a|k)%n]++
		}
	}
	requireShares(t, uneven, drawn(func(m *Model, _ *Table) Draw { return m.NURand(15, n) }), "nurand")

	weights := []float64{35, 0, 10, 5, 0}
	var ops []operation
	for _, w := range weights {
		ops = append(ops, operation{weight: w})
	}
	m, r, chosen := mixOf(ops), newRand(1), make([]float64, len(weights))
	for range 100_000 {
		chosen[m.draw(&r)]++
	}
	requireShares(t, weights, chosen, "mix")
}

func TestHashesAreUndone(t *testing.T) {
	for _, k := range []int64{0, 1, 99, 1 << 40, -1, math.MinInt64} {
		require.Equal(t, k, unhash(Hash(k)))
		require.NotEqual(t, k, Hash(k))
	}
}

// counting is an engine whose goroutines count, each for itself, the records that they read and write.
func counting() (spec EngineSpec, reads, writes *[]map[int64]int) {
	reads, writes = new([]map[int64]int), new([]map[int64]int)
	return faulty(func(s *tampered) {
		r, w := map[int64]int{}, map[int64]int{}
		*reads, *writes = append(*reads, r), append(*writes, w)
		s.get = func(table int, key int64) (Record, bool) {
			r[key]++
			return s.Access.Get(table, key)
		}
		s.put = func(table int, key int64, v Record) {
			w[key]++
			s.Access.Put(table, key, v)
		}
	}), reads, writes
}

// The goroutines read and write every record in the proportions asked for: the choice between the
// two does not follow from the record, and no two goroutines make the same choices.
func TestEveryKeyIsReadAndWritten(t *testing.T) {
	for _, theta := range []float64{0, 0.9} {
		w := halves(t)
		w.Params.ReadPct, w.Params.Theta = 90, theta
		spec, reads, writes := counting()
		tr := newTrial(t, Config{Workload: w, Engine: spec, Threads: 2, Seed: 3})
		const ops = 200_000
		runOps(t, tr, ops)
		require.NoError(t, tr.Verify())
		sum := 0.0
		for _, x := range zipfWeights(4, theta) {
			sum += x
		}
		for i := range 2 {
			for k, share := range zipfWeights(4, theta) {
				r := (*reads)[i][int64(k)]
				n := float64(r + (*writes)[i][int64(k)])
				require.InDelta(t, ops/2*share/sum, n, 5*math.Sqrt(n), "goroutine %d, record %d", i, k)
				require.InDelta(t, 0.9*n, r, 5*math.Sqrt(n*0.9*0.1), "goroutine %d, record %d", i, k)
			}
		}
		require.NotEqual(t, (*reads)[0], (*reads)[1])
	}
}

// Equal seeds make equal choices; other seeds and samples make others.
func TestEqualSeedsMakeEqualChoices(t *testing.T) {
	run := func(seed uint64, sample int) map[int64]int {
		spec, _, writes := counting()
		runOps(t, newTrial(t, Config{Workload: halves(t), Engine: spec, Threads: 1, Seed: seed, Sample: sample}),
			20_000)
		return (*writes)[0]
	}
	require.Equal(t, run(5, 1), run(5, 1))
	require.NotEqual(t, run(5, 1), run(6, 1))
	require.NotEqual(t, run(5, 1), run(5, 2))
}

func TestStampsKeepTheirParts(t *testing.T) {
	for _, c := range []struct {
		writer, key int
		seq         uint64
	}{{0, 0, 1}, {1, 1, 1}, {MaxThreads, 255, seqMask}, {17, 1_000_003, 1 << 37}} {
		s := makeStamp(c.writer, c.key, c.seq)
		require.Equal(t, c.writer, stampWriter(s))
		require.Equal(t, c.seq, stampSeq(s))
		require.True(t, keyMatches(s, c.key))
		require.False(t, keyMatches(s, c.key+1))
		require.NotZero(t, s, "no stamp is the zero value of an absent key")
	}
}

// Any change of the bytes is noticed, but for one that makes them another's stamp, which the
// observers know of; here, those are bytes without filling.
func TestDamagedBytesAreNoticed(t *testing.T) {
	bytesOf := func(least, most int) *filler { return &filler{ValueSize{least, most}, newRand(1)} }
	for _, n := range []int{9, 16, 21, 100} {
		c := bytesOf(n, n)
		s := makeStamp(3, 5, 9)
		for i := range n {
			b := c.bytes(s)
			b[i] ^= 0x40
			require.Zero(t, c.stamp(b), "%d bytes, byte %d", n, i)
			require.Contains(t, c.flaw(b), "damaged")
		}
		require.Equal(t, s, c.stamp(c.bytes(s)))
		require.Zero(t, c.stamp(c.bytes(s)[:n-1]))
		require.Contains(t, c.flaw(c.bytes(s)[:n-1]), "where all have")
		require.Zero(t, c.stamp(append(c.bytes(s), 0)))
		require.Zero(t, c.stamp(nil))
	}
	c := bytesOf(16, 64) // the length is part of it: cut within the range
	require.Zero(t, c.stamp(bytesOf(64, 64).bytes(5)[:32]))
	a, b := bytesOf(64, 64).bytes(5), bytesOf(64, 64).bytes(6) // the head of one and the tail of another
	copy(a[32:], b[32:])
	require.Zero(t, c.stamp(a))
	sizes := map[int]bool{}
	for range 10_000 {
		sizes[len(c.bytes(5))] = true
	}
	require.Len(t, sizes, 49)
}
