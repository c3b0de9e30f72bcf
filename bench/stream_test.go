package bench

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table itself, without sampling: the cells' shares add up to the
// probabilities.
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
			sum := 0.0
			for i := range n {
				sum += math.Pow(float64(i+1), -theta)
			}
			for i := range n {
				want := math.Pow(float64(i+1), -theta) / sum
				require.InDelta(t, want, got[i], 1e-12, "n %d, theta %v, index %d", n, theta, i)
			}
		}
	}
}

// Streams of neighbouring seeds, goroutines and purposes agree on a bit as often
// as coins do, at any small distance.
func TestStreamsAreUnrelated(t *testing.T) {
	const n = 1 << 16
	a := make([]uint64, n+8)
	b := make([]uint64, n+8)
	fill := func(dst []uint64, s stream) {
		for i := range dst {
			dst[i] = s.next() >> 63
		}
	}
	for name, pair := range map[string][2]stream{
		"seeds":      {newStream(1, 0, 0, 0), newStream(2, 0, 0, 0)},
		"samples":    {newStream(1, 0, 0, 0), newStream(1, 1, 0, 0)},
		"goroutines": {newStream(1, 0, 0, 0), newStream(1, 0, 1, 0)},
		"purposes":   {newStream(1, 0, 0, 0), newStream(1, 0, 0, 1)},
		"paths":      {newStream(1, 0, 1, 0), newStream(1, 0, 0, 1)},
	} {
		fill(a, pair[0])
		fill(b, pair[1])
		for lag := range 8 {
			same := 0
			for i := range n {
				if a[i] == b[i+lag] {
					same++
				}
			}
			require.InDelta(t, n/2, same, 5*math.Sqrt(n)/2, "%s at distance %d", name, lag)
		}
	}
}

// counting is an engine whose goroutines count, each for itself, what they read and write.
func counting() (spec EngineSpec, reads, writes *[]map[string]int) {
	reads, writes = new([]map[string]int), new([]map[string]int)
	return faulty(func(s *numberSession) {
		r, w := map[string]int{}, map[string]int{}
		*reads, *writes = append(*reads, r), append(*writes, w)
		s.get = func(key string) (uint64, bool, error) {
			r[key]++
			return s.rwMutex.Get(key)
		}
		s.put = func(key string, v uint64) error {
			w[key]++
			return s.rwMutex.Put(key, v)
		}
	}), reads, writes
}

// The goroutines of a get-and-put workload read and write every key in the
// proportions asked for: the choice between the two does not follow from the key.
func TestEveryKeyIsReadAndWritten(t *testing.T) {
	for _, name := range []string{"read-heavy", "balanced", "write-heavy", "zipf-read", "zipf-write"} {
		w, ok := WorkloadByName(name)
		require.True(t, ok)
		spec, reads, writes := counting()
		tr := newTrial(t, Config{Workload: w, Engine: spec, Threads: 2, Seed: 3})
		const ops = 200_000
		runOps(t, tr, ops)
		require.NoError(t, tr.Verify())
		p := float64(w.Params.ReadPct) / 100
		keys := makeKeys(4, false)
		for i := range 2 {
			for k := range keys {
				r := (*reads)[i][keys[k]]
				n := r + (*writes)[i][keys[k]]
				if w.Params.Theta == Unset {
					require.InDelta(t, ops/2/4, n, 1, "%s: goroutine %d goes round its keys", name, i)
				}
				require.InDelta(t, p*float64(n), r, 5*math.Sqrt(float64(n)*p*(1-p)),
					"%s: goroutine %d, key %d", name, i, k)
			}
		}
	}
}

// No two goroutines make the same choices, and they do not begin at the same key.
func TestGoroutinesGoTheirOwnWays(t *testing.T) {
	for _, name := range []string{"balanced", "zipf-read", "transfer", "counter"} {
		w, _ := WorkloadByName(name)
		if name == "counter" {
			w.Params.Keys = 4
		}
		logs := make([][]string, 0, 16+1) // with an auditor
		spec := faulty(func(s *numberSession) {
			i := len(logs)
			logs = append(logs, nil)
			note := func(op string) { logs[i] = append(logs[i], op) }
			s.get = func(key string) (uint64, bool, error) { note("G" + key); return s.rwMutex.Get(key) }
			s.put = func(key string, v uint64) error { note("P" + key); return s.rwMutex.Put(key, v) }
			s.add = func(key string, d uint64) (uint64, error) {
				note("A" + key)
				return s.rwMutex.Add(key, d)
			}
			s.transfer = func(from, to string, amount uint64) error {
				note("T" + from + to)
				return s.rwMutex.Transfer(from, to, amount)
			}
		})
		const threads = 16
		runOps(t, newTrial(t, Config{Workload: w, Engine: spec, Threads: threads, Seed: 1}), 64*threads)
		all, first, kinds := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, log := range logs[:threads] {
			require.Len(t, log, 64)
			all[strings.Join(log, " ")] = true
			first[log[0][1:]] = true
			var choices strings.Builder
			for _, op := range log {
				choices.WriteString(op[:1])
			}
			kinds[choices.String()] = true
		}
		require.Greater(t, len(first), 1, "%s: not all begin at the same key", name)
		if name != "counter" { // 4 keys, round robin: only the beginning differs
			require.Len(t, all, threads, name)
		}
		if w.Params.ReadPct != Unset {
			require.Len(t, kinds, threads, "%s: gets and puts", name)
		}
	}
}

func TestEqualSeedsMakeEqualChoices(t *testing.T) {
	w, _ := WorkloadByName("zipf-write")
	run := func(seed uint64, sample int) map[string]int {
		spec, _, writes := counting()
		runOps(t, newTrial(t, Config{Workload: w, Engine: spec, Threads: 1, Seed: seed, Sample: sample}),
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
