package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// The remains of a commit: in chains, in its state, in its slot.

func TestStateForgets(t *testing.T) {
	m := newMap[int, int](t, still())
	m.Store(1, 1)
	for _, end := range []func(Tx[int, int]){
		func(tx Tx[int, int]) { tx.Rollback() },
		func(tx Tx[int, int]) { require.NoError(t, tx.Commit()) },
	} {
		for _, writes := range []int{0, 1, 2, 3 * linearWrites} {
			tx := m.Begin(nil)
			st := tx.st
			tx.Get(1)
			tx.Get(-1)
			for range tx.All() {
				break
			}
			for i := range writes {
				tx.Set(i, i)
			}
			stateOf(st).rare().revoked = maxRevocations
			end(tx)
			require.Empty(t, stateOf(st).reads)
			require.Zero(t, stateOf(st).absences())
			require.Empty(t, stateOf(st).writes)
			require.False(t, stateOf(st).hasRead || partOf(st).scanned || partOf(st).hasWritten)
			require.Zero(t, stateOf(st).revoked)
			require.Nil(t, stateOf(st).alarm)
			require.Nil(t, stateOf(st).byHash)
			for _, r := range stateOf(st).reads[:cap(stateOf(st).reads)] {
				require.Nil(t, r.seen)
				require.True(t, r.at().Nowhere())
			}
			for _, w := range stateOf(st).writes[:cap(stateOf(st).writes)] {
				require.Nil(t, w.v)
				require.True(t, w.at().Nowhere())
				require.Zero(t, w.read)
			}
		}
	}
}

// leftInstalled begins a transaction that installs two keys, and is left there, as by a fault in a
// commit. Its record is set to the result of record.
func leftInstalled(t *testing.T, m *Map[int, int], record func(w chain.Word) chain.Word) *txState {
	t.Helper()
	tx := m.Begin(nil)
	tx.Set(1, -1)
	tx.Set(2, -2)
	st := stateOf(tx.st)
	st.prepare(0)
	require.Equal(t, resultOK, st.installAll(tx.gen))
	w := chain.Load(st.record())
	st.record().Store(uint64(record(w)))
	return st
}

var leftRecords = map[string]func(w chain.Word) chain.Word{
	"active":    func(w chain.Word) chain.Word { return w },
	"goes on":   func(w chain.Word) chain.Word { return w + chain.InstallStep },
	"tentative": func(w chain.Word) chain.Word { return w.Announced(1, chain.CheckBit).Drawn(2) },
	"aborted":   func(w chain.Word) chain.Word { return w.Aborted() },
}

// collectSlots has the garbage collector find a state that nobody has any more.
func collectSlots(t *testing.T, m *Map[int, int], owned int) {
	t.Helper()
	whenCollected(t, func() bool {
		return coreOf(m).Slots.Leaked() > 0 && coreOf(m).Slots.Owned() <= owned
	}, "the state has not been found")
}

// A commit that was left in the middle is never seen, whoever has the slot afterwards: neither is
// the slot given to another transaction, nor its number to another slot.
func TestLeftCommitStaysAborted(t *testing.T) {
	for name, record := range leftRecords {
		for how, leave := range map[string]func(t *testing.T, m *Map[int, int]){
			"dropped": func(t *testing.T, m *Map[int, int]) {
				leftInstalled(t, m, record)
				collectSlots(t, m, 1)
			},
			"given back": func(t *testing.T, m *Map[int, int]) {
				st := leftInstalled(t, m, record)
				gen := st.gen()
				require.True(t, st.end(gen))
				st.recycle(gen)
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				m := newMap[int, int](t, still())
				m.Store(1, 1)
				leave(t, m)
				for i := range 100 { // whoever has the number of its slot by now
					var all []Tx[int, int]
					for j := range 3 {
						tx := m.Begin(nil)
						tx.Set(10+2*j, i)
						tx.Set(11+2*j, i)
						all = append(all, tx)
					}
					for _, tx := range all {
						require.NoError(t, tx.Commit())
					}
				}
				requireValue(t, 1)(m.Load(1))
				require.False(t, m.Has(2))
				require.Equal(t, 1, contents(t, m)[1])
				m.Store(1, 5)
				mustUpdate(t, m, nil, func(tx Tx[int, int]) { tx.Set(1, 6); tx.Set(2, 6) })
				requireValue(t, 6)(m.Load(2))
				checkQuiet(t, m)
			})
		}
	}
}

// A version whose slot is gone says aborted from then on, whoever gets the number.
func TestSlotGone(t *testing.T) {
	m := newMap[int, int](t, still())
	st := leftInstalled(t, m, func(w chain.Word) chain.Word { return w })
	gen := st.gen()
	v := st.writes[0].v
	st.slot.Settle(0) // which is not so
	require.True(t, st.end(gen))
	number := st.slot.Number()
	coreOf(m).Slots.Release(st.slot)
	require.False(t, m.Has(1))
	require.False(t, m.Has(2)) // either is the first that was installed
	require.True(t, chain.Load(&v.State).Is(chain.KindAborted))
	s := coreOf(m).Slots.Acquire()
	require.Equal(t, number, s.Number())
	s.Record().Store(uint64(chain.Word(0).At(epoch.First)))
	require.False(t, m.Has(1))
	require.Nil(t, coreOf(m).Newest(v))
}
