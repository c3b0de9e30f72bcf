package mvcc

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/index"
)

// What is done to one chain at a time: by the functions themselves, where no
// schedule of calls gets between their steps.

func TestInstallComparesHead(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	was := m.lookup("k")
	m.Store("k", 2)
	v := chain.New("k", 3)
	chain.SetWord(&v.State, chain.Word(0).Announced(0, 0))
	require.False(t, coreOf(m).putOnTop(was.at, was.head, was.head, v))
	requireValue(t, 2)(m.Load("k"))
	require.Len(t, chainOf(m, "k"), 2)
}

// What is left of a key after pruning with a view, and what the pruner says.
func TestPruneOutcomes(t *testing.T) {
	at := func(m *Map[string, int]) (epochs []epoch.Epoch) {
		for _, l := range chainOf(m, "k") {
			epochs = append(epochs, epoch.Epoch(l.Epoch))
		}
		slices.Reverse(epochs)
		return epochs
	}
	fill := func(t *testing.T, stores int) (*Map[string, int], index.Place, []epoch.Epoch) {
		m := newMap[string, int](t, still())
		for i := range stores {
			m.Store("k", i)
		}
		return m, m.lookup("k").at, at(m)
	}

	// What a prune says: what is left to look at, and the old epochs that something
	// waits for, with the commit epoch of the version that does, or 0 for a tombstone.
	type outcome struct {
		left  left
		waits [][2]epoch.Epoch
	}
	see := func(m *Map[string, int], p index.Place, view gc.View, alone bool) (o outcome) {
		f := found{Alone: alone}
		o.left = coreOf(m).prune(p, p.Load(), &view, math.MaxInt, math.MaxInt, &f)
		for _, w := range f.Waits {
			wait := [2]epoch.Epoch{w.Epoch}
			if !w.What.of.last {
				wait[1] = coreOf(m).CommitEpoch((*chain.Node)(w.What.v))
			}
			o.waits = append(o.waits, wait)
		}
		return o
	}
	view := func(bound, writers epoch.Epoch, young, old []epoch.Epoch) gc.View {
		return gc.View{View: epoch.ViewOf(bound, writers, young, old)}
	}
	prune := func(m *Map[string, int], p index.Place, bound epoch.Epoch,
		old ...epoch.Epoch) outcome {
		return see(m, p, view(bound, bound, nil, old), false)
	}
	type es = []epoch.Epoch
	var done outcome
	waits := func(at, version epoch.Epoch) outcome {
		return outcome{waits: [][2]epoch.Epoch{{at, version}}}
	}

	m, p, epochs := fill(t, 3)
	require.Equal(t, outcome{left: leftAbove}, prune(m, p, epochs[1]), "the newest is above the bound")
	require.Equal(t, epochs[1:], at(m))
	young := view(epochs[2], epochs[2], es{epochs[1]}, nil)
	require.Equal(t, outcome{left: leftYoung}, see(m, p, young, false), "most of those end soon")
	require.Equal(t, outcome{left: leftYoung},
		see(m, p, view(epochs[2], epochs[2], nil, es{epochs[1]}), true),
		"a committer sets nothing aside")
	require.Equal(t, waits(epochs[1], epochs[1]), prune(m, p, epochs[2], epochs[1]))
	require.Equal(t, epochs[1:], at(m))
	require.Equal(t, done, prune(m, p, epochs[2], epochs[1]), "it waits already")
	require.Equal(t, done, see(m, p, young, false), "it waits already")
	m.index.List(p, m.hash("k"), keyAt("k"))
	old := p.Load().Next.Load()
	require.Empty(t, coreOf(m).due(coreOf(m).waiting(old, false), nil), "it will be visited")
	require.Equal(t, waits(epochs[1], epochs[1]), prune(m, p, epochs[2], epochs[1]),
		"its wait is over, and it waits again")
	require.Equal(t, done, prune(m, p, epochs[2]))
	require.Equal(t, epochs[2:], at(m))

	m, p, epochs = fill(t, 2)
	require.Equal(t, outcome{left: leftAbove}, prune(m, p, epochs[0]-1), "all are above the bound")
	require.Equal(t, epochs, at(m))
	m.Store("other", 1)
	between := coreOf(m).Slots.Now()
	m.Store("k", 9)
	require.Equal(t, waits(between, epochs[1]), prune(m, p, coreOf(m).Slots.Now(), epochs[1], between),
		"the newest epoch that needs it")
	require.Equal(t, es{epochs[1], coreOf(m).Slots.Now()}, at(m))

	m, p, epochs = fill(t, 1)
	require.Equal(t, done, prune(m, p, epochs[0]-1), "one version is none too many")

	m, p, _ = fill(t, 1)
	m.Delete("k")
	epochs = at(m)
	before := epochs[0] - 1
	writer := view(epochs[1], before, nil, es{before})
	require.Equal(t, waits(before, 0), see(m, p, writer, false),
		"somebody reads from before it who may write")
	require.Equal(t, done, see(m, p, writer, false), "a tombstone waits once")
	m.index.Asked(p.Bucket, new([index.MaxVisits]*chain.Node))
	require.Len(t, coreOf(m).due(coreOf(m).waiting(p.Load(), true), nil), 1)
	require.True(t, m.visitAsked("k"))
	require.Equal(t, waits(before, 0), see(m, p, writer, false))
	require.Equal(t, outcome{left: leftYoung},
		see(m, p, view(epochs[1], before, es{before}, nil), false))
	require.Equal(t, epochs[1:], at(m), "the tombstone alone is left")
	require.True(t, m.has("k"))
	require.Equal(t, outcome{left: leftNoKey}, prune(m, p, epochs[1], before),
		"who only reads sees nothing, with it or without it")
	require.False(t, m.has("k"))
	require.Equal(t, done, prune(m, p, epochs[1]), "gone already")

	m, p, _ = fill(t, 1)
	m.Delete("k")
	epochs = at(m)
	require.Equal(t, waits(epochs[0], epochs[0]), prune(m, p, epochs[1], epochs[0]),
		"somebody sees what was deleted")
	require.Equal(t, epochs, at(m))
	m, p, _ = fill(t, 1)
	m.Delete("k")
	require.Equal(t, outcome{left: leftAbove}, prune(m, p, 1), "all are above the bound")
}

// A writer drops what is below the version that it covers, if nobody sees it.
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
