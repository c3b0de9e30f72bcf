package mvcc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/index"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// Readers begin and end all the time, each as of an epoch of its own, beside writers of the keys
// that they read. What has to be kept moves down the chains then, and what lies between need not be
// kept any more. Writers drop that alone: no tick comes in these tests.

// A beside is a map whose keys are read and written.
type beside struct {
	name string
	m    *Map[int, int]
	// cores has what has chains: the map, and the table of its index.
	cores []*core
}

func besides(t testing.TB, opts Options) (all []beside) {
	if opts.ReclaimInterval == 0 {
		opts.ReclaimInterval = time.Hour
	}
	plain, ordered := newMap[int, int](t, &opts), NewOrdered[int, int](&opts)
	t.Cleanup(ordered.Close)
	db := NewDB(&opts)
	t.Cleanup(db.Close)
	indexed := NewTable[int, int](db, "indexed", nil)
	byValue, err := NewIndex(indexed, "by value", func(_, v int) []int { return []int{v % 2} }, nil)
	require.NoError(t, err)
	all = []beside{
		{"map", plain, []*core{coreOf(plain)}},
		{"ordered", ordered, []*core{coreOf(ordered)}},
		{"index", indexed, []*core{coreOf(indexed), coreAt(byValue.entries.at)}},
	}
	for range 50 { // of which the readers know nothing
		NewTable[int, int](db, fmt.Sprint("another ", len(db.Tables())), nil).Store(1, 1)
	}
	return all
}

// versions returns how many versions a chain has, on average and at most.
func (b *beside) versions() (mean float64, most int) {
	keys, sum := 0, 0
	for _, c := range b.cores {
		c.index.Scan(func(_ index.Place, v *chain.Node) bool {
			n := 0
			for ; v != nil; v = v.Next.Load() {
				n++
			}
			keys, sum, most = keys+1, sum+n, max(most, n)
			return true
		})
	}
	return float64(sum) / float64(keys), most
}

// turnover opens and closes a snapshot, so that readers are open, the oldest of them or any, and
// stores each of keys once for each time.
func (b *beside) turnover(open []Snapshot[int, int], keys, times int, oldest bool) {
	for round := range times {
		if len(open) > 0 {
			i := round % len(open)
			if !oldest {
				i = rand.IntN(len(open))
			}
			open[i].Close()
			open[i] = b.m.Snapshot()
		}
		for key := range keys {
			b.m.Store(key, round)
		}
	}
}

// requireShort checks that chains have at most about twice as many versions as epochs are live, and
// some.
func (b *beside) requireShort(t *testing.T, readers int, about string) {
	t.Helper()
	mean, most := b.versions()
	t.Logf("%s, %d readers: %.1f versions of a key, %d at most; %s", b.name, readers, mean, most, about)
	limit := 2*(readers+1) + DefaultPruneThreshold
	if readers > chain.CountMax { // then chance decides when all of a chain is pruned
		limit = 3 * (readers + 2)
		require.LessOrEqual(t, most, 5*limit)
	} else {
		require.LessOrEqual(t, most, limit+slack)
	}
	require.LessOrEqual(t, mean, float64(limit))
}

func manyReaders() []int {
	if stage.Race || testing.Short() {
		return []int{2, 80}
	}
	return []int{2, 20, 50, 300}
}

// However many readers there are, and however these end, chains are as long as they need them to
// be.
func TestWritersPruneBesideReaders(t *testing.T) {
	const keys = 20
	for name, opts := range map[string]Options{
		"defaults": {}, "threshold of 1": {PruneThreshold: 1}, "committers": {ReclaimWorkers: -1},
		"by hand": {ManualReclaim: true, ReclaimQueue: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range besides(t, opts) {
				for _, readers := range manyReaders() {
					open := make([]Snapshot[int, int], readers)
					for _, oldest := range []bool{true, false} {
						b.turnover(open, keys, 4*readers+20, oldest)
						b.requireShort(t, readers, "turning over")
					}
					// All end but one in the middle, late.
					for i := range open[1:] {
						open[1+i].Close()
					}
					b.turnover(nil, keys, 2*DefaultPruneThreshold, true)
					b.requireShort(t, 1, "one is left")
					open[0].Close()
				}
				checkQuiet(t, b.m)
			}
		})
	}
}

// BenchmarkScansBesideWriters scans 10^4 keys with 50 goroutines, without a pause, beside 50 that
// store and delete them, a second for each iteration: how many versions a key has at the end, and
// how long scans took in the first and in the last quarter of the time.
//
//	go test -run '^$' -bench ScansBesideWriters -benchtime 120x ./mvcc
func BenchmarkScansBesideWriters(b *testing.B) {
	const goroutines, keys = 50, 10_000
	for _, of := range besides(b, Options{ReclaimInterval: DefaultReclaimInterval}) {
		b.Run(of.name, func(b *testing.B) {
			of.turnover(nil, keys, 1, true)
			c := stage.NewCrew(b)
			start, length := time.Now(), time.Duration(b.N)*time.Second
			var mu sync.Mutex
			var first, last []time.Duration
			c.Run(goroutines, func(int) error {
				for began := start; !c.Ended(); began = time.Now() {
					for range of.m.All() {
						continue
					}
					mu.Lock()
					if took, at := time.Since(began), time.Since(start); at < length/4 {
						first = append(first, took)
					} else if at > 3*length/4 {
						last = append(last, took)
					}
					mu.Unlock()
				}
				return nil
			})
			c.Run(goroutines, func(int) error {
				for round := 0; !c.Ended(); round++ {
					for key := range keys {
						if of.m.Store(key, round); key%10 == 0 {
							of.m.Delete(key)
							of.m.Store(key, round)
						}
					}
				}
				return nil
			})
			time.Sleep(length)
			mean, _ := of.versions()
			c.Finish(b)
			b.ReportMetric(mean, "versions/key")
			for name, took := range map[string][]time.Duration{"first": first, "last": last} {
				if len(took) == 0 { // -benchtime is short
					continue
				}
				slices.Sort(took)
				for _, percent := range []int{50, 99, 100} {
					b.ReportMetric(took[(len(took)-1)*percent/100].Seconds()*1000,
						fmt.Sprintf("%s-p%d-ms", name, percent))
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
