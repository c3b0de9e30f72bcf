//go:build mvcccheck

package mvcc

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// Each invariant is seen to fire: the test breaks the state by hand.

// breakable returns a map whose keys the background work leaves alone when it is
// closed.
func breakable(t *testing.T) *Map[string, int] {
	t.Helper()
	m := newMap[string, int](t, still())
	t.Cleanup(func() {
		for _, h := range heads(m) {
			h.at.Cell().Store(nil)
		}
	})
	return m
}

// two returns a map with a key of two versions, and these.
func two(t *testing.T) (m *Map[string, int], p index.Place, newer,
	older *chain.Node) {
	t.Helper()
	m = breakable(t)
	m.Store("k", 1)
	m.Store("k", 2)
	k := m.lookup("k")
	return m, k.at, k.head, k.head.Next.Load()
}

func TestInvariantOfChains(t *testing.T) {
	set := func(v *chain.Node, w chain.Word) { v.State.Store(uint64(w)) }
	m, _, newer, older := two(t)
	coreOf(m).CheckLink(newer)
	set(older, chain.Load(&newer.State))
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckLink(newer) })
	set(older, chain.Word(0).At(1000))
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckLink(newer) })
	set(older, chain.Word(0).Announced(0, 0))
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckLink(newer) })
	bare := chain.Bare[string, int]("k")
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckOnTop(older, older, bare) })

	m, _, newer, _ = two(t)
	private := func(key string) *chain.Node {
		v := chain.Bare[string, int](key)
		set(v, chain.Word(0).Announced(0, 0))
		return v
	}
	coreOf(m).CheckOnTop(newer, newer, private("k"))
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckOnTop(newer, nil, private("k")) })
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckOnTop(newer, newer, private("l")) })
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckOnTop(m.index.Moved, nil, private("k")) })
	stage.RequireViolation(t, "I5", func() { coreOf(m).CheckOnTop(newer, newer, newer) })

	v := private("k")
	stage.RequireViolation(t, "has been committed", func() { coreOf(m).CheckNewest(v) })
	set(v, chain.Word(0).At(1000))
	stage.RequireViolation(t, "clock stands at", func() { coreOf(m).CheckNewest(v) })

	slot := coreOf(m).Slots.Acquire()
	slot.Record().Store(uint64(chain.Load(&newer.State)))
	set(v, chain.Indirect(slot.Number()))
	coreOf(m).CheckCopy(v, chain.Load(&newer.State).Epoch())
	stage.RequireViolation(t, "copied", func() { coreOf(m).CheckCopy(v, 1000) })
	coreOf(m).Slots.Release(slot)
}

// viewAt returns a view of read-only transactions, made by hand.
func viewAt(bound epoch.Epoch, live ...epoch.Epoch) *gc.View {
	return &gc.View{View: epoch.ViewOf(bound, bound, live, nil)}
}

func TestInvariantOfPruning(t *testing.T) {
	m, p, newer, older := two(t)
	at, bound := chain.Load(&older.State).Epoch(), chain.Load(&newer.State).Epoch()
	stage.RequireViolation(t, "is dropped", func() {
		coreOf(m).CheckCut(newer, older, nil, viewAt(bound, at))
	})
	stage.RequireViolation(t, "is dropped", func() { coreOf(m).CheckCut(newer, older, nil, viewAt(at)) })

	// A pruner whose view does not know of a reader.
	tx := m.Begin(nil) // one that may write
	defer tx.Rollback()
	s := m.Snapshot()
	defer s.Close()
	m.Store("k", 3)
	stage.RequireViolation(t, "I1", func() {
		coreOf(m).prune(p, p.Load(), viewAt(coreOf(m).Slots.Now()), math.MaxInt, math.MaxInt, nil)
		s.Get("k")
	})
	stage.RequireViolation(t, "I1", func() {
		for range s.All() {
		}
	})

	stage.RequireViolation(t, "with more below", func() { coreOf(m).CheckRemove(newer) })
	m.Delete("l")
	m.Store("l", 1)
	m.Delete("l")
	l := m.lookup("l").head
	l.Next.Store(nil)
	stage.RequireViolation(t, "leaves the index", func() { coreOf(m).CheckRemove(l) })
}

// abort puts an aborted version on top of key, as a writer leaves it that was
// aborted and has not got round to taking it off.
func abort(t *testing.T, m *Map[string, int], key string) {
	t.Helper()
	was := m.lookup(key)
	v := chain.New(key, -1)
	chain.SetWord(&v.State, chain.Word(0).Announced(0, chain.CheckBit))
	base, ok := coreOf(m).DecidedBase(was.head)
	require.True(t, ok && coreOf(m).putOnTop(was.at, was.head, base, v))
	require.True(t, chain.Advance(&v.State, chain.Load(&v.State), chain.Load(&v.State).Aborted()))
}

func TestInvariantOfReads(t *testing.T) {
	m, p, newer, older := two(t)
	s := m.Snapshot()
	defer s.Close()
	partOf(s.st).checkRead(s.gen, keyAt("k"), newer)
	stage.RequireViolation(t, "read twice", func() { partOf(s.st).checkRead(s.gen, keyAt("k"), older) })
	stage.RequireViolation(t, "read twice nothing", func() { partOf(s.st).checkRead(s.gen, keyAt("l"), newer) })

	// A slot-less load that falls through.
	abort(t, m, "k")
	top := p.Load()
	before := coreOf(m).CheckNewestBegin(top)
	require.Same(t, newer, before)
	coreOf(m).CheckNewestEnd(before, newer)
	stage.RequireViolation(t, "is read", func() { coreOf(m).CheckNewestEnd(before, older) })
	stage.RequireViolation(t, "is read", func() { coreOf(m).CheckNewestEnd(before, nil) })
	require.Nil(t, coreOf(m).CheckNewestBegin(newer),
		"what is below a committed version may have been cut off")
}

func TestInvariantOfCommits(t *testing.T) {
	begin := func(level *TxOptions) (*Map[string, int], Tx[string, int]) {
		m, _, _, _ := two(t)
		m.Store("l", 1)
		return m, m.Begin(level)
	}
	// publish is a commit that validates nothing.
	publish := func(m *Map[string, int], tx Tx[string, int]) func() {
		return func() {
			e := coreOf(m).Slots.Next()
			for i := range stateOf(tx.st).writes {
				w := &stateOf(tx.st).writes[i]
				w.v.State.Store(uint64(chain.Load(&w.v.State).At(e)))
				if p, h := m.index.Find(w.hash, w.v.Key()); h != nil {
					w.v.Next.Store(h)
					p.Swap(h, w.v)
				} else {
					m.index.Insert(w.hash, w.v, index.Gate{})
				}
			}
			stateOf(tx.st).checkCommit(tx.gen, e)
		}
	}
	m, tx := begin(serializable)
	tx.Get("k")
	tx.Set("x", 1)
	publish(m, tx)()
	m, tx = begin(serializable)
	tx.Get("k")
	tx.Set("x", 1)
	m.Store("k", 3)
	stage.RequireViolation(t, "came between", publish(m, tx))
	m, tx = begin(serializable)
	tx.Get("absent")
	tx.Set("x", 1)
	m.Store("absent", 3)
	stage.RequireViolation(t, "found it absent", publish(m, tx))
	m, tx = begin(serializable)
	for range tx.All() {
		break
	}
	tx.Set("x", 1)
	m.Store("new", 3)
	stage.RequireViolation(t, "came between", publish(m, tx))
	m, tx = begin(snapshot)
	tx.Get("k")
	tx.Set("k", 1)
	m.Store("k", 3)
	stage.RequireViolation(t, "lost update", publish(m, tx))

	_, tx = begin(serializable)
	stage.RequireViolation(t, "commits at", func() { stateOf(tx.st).checkCommit(tx.gen, stateOf(tx.st).epoch()) })
	stage.RequireViolation(t, "commits at", func() { stateOf(tx.st).checkCommit(tx.gen, 1000) })
	tx.Rollback()
	stage.RequireViolation(t, "not live", func() { stateOf(tx.st).checkCommit(tx.gen, 1000) })
}

func TestInvariantOfStates(t *testing.T) {
	m := breakable(t)
	tx := m.Begin(nil)
	tx.Get("k")
	stage.RequireViolation(t, "remembers", func() { stateOf(tx.st).checkTaken() })
	tx.Rollback()
	stage.RequireViolation(t, "there already", func() { stateOf(tx.st).checkGiven() })
	stage.RequireViolation(t, "not begun", func() { stateOf(tx.st).end(stateOf(tx.st).gen()) })

	coreOf(m).counters.Wasted.Store(100)
	stage.RequireViolation(t, "wasted", func() { m.Stats() })
	coreOf(m).counters.Wasted.Store(0)
}
