package mvcc

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// Readers begin and end all the time, each as of an epoch of its own, beside writers of the keys
// that they read. The versions to be kept move down the chains then, and those between need not be
// kept any more. Writers drop these alone: no tick comes in these tests.

// A beside is a map whose keys are read and written.
type beside struct {
	name string
	m    *Map[int, int]
	// cores are those with chains: of the map, and of the table of its index.
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

// However many readers there are, and however these end, chains are as long as they need them to
// be.
func TestWritersPruneBesideReaders(t *testing.T) {
	const keys = 20
	many := []int{2, 20, 50, 300}
	if stage.Race || testing.Short() {
		many = []int{2, 80}
	}
	for name, opts := range map[string]Options{
		"defaults": {}, "threshold of 1": {PruneThreshold: 1}, "committers": {ReclaimWorkers: -1},
		"by hand": {ManualReclaim: true, ReclaimQueue: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range besides(t, opts) {
				for _, readers := range many {
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

// A writer drops the versions below the one that it covers, if nobody sees them.
func TestWritersTrim(t *testing.T) {
	m := newMap[int, int](t, still())
	for i := range 5 {
		m.Store(1, i)
	}
	require.Len(t, chainOf(m, 1), 5)
	coreOf(m).gc.Refresh()
	m.Store(1, 5)
	require.Len(t, chainOf(m, 1), 2)
	s := m.Snapshot()
	m.Store(1, 6)
	coreOf(m).gc.Refresh()
	m.Store(1, 7)
	requireValue(t, 5)(s.Get(1))
	m.Store(1, 8)
	s.Close()
	coreOf(m).gc.Refresh()
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		tx.Set(1, 9)
		tx.Set(2, 9)
	})
	require.Len(t, chainOf(m, 1), 2)
}
