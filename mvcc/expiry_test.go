package mvcc

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A session is a record that expires, if it has a time.
type session struct {
	until time.Time
	n     int
}

func untilOf(_ int, s session) time.Time { return s.until }

// sessions returns a map whose records expire.
func sessions(t *testing.T, opts *Options) *Map[int, session] {
	m := newMap[int, session](t, opts)
	m.Expire(untilOf)
	return m
}

func in(d time.Duration) session { return session{until: time.Now().Add(d)} }

// tick is when something that was due has gone.
const tick = DefaultReclaimInterval + time.Millisecond

// keysAfter waits for d, and says which keys there are then.
func keysAfter(m *Map[int, session], d time.Duration) []int {
	time.Sleep(d)
	synctest.Wait()
	return slices.Sorted(m.Keys())
}

// notesOf is how many notes the wheel has.
func notesOf(m *Map[int, session]) int {
	x := coreOf(m).expiry()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wheel.n
}

func TestExpire(t *testing.T) {
	t.Parallel()
	check := func(name string, f func(t *testing.T, m *Map[int, session])) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := sessions(t, nil)
				f(t, m)
			})
		})
	}
	check("each in its time", func(t *testing.T, m *Map[int, session]) {
		m.Store(0, session{})
		for _, d := range []time.Duration{-time.Hour, 0, time.Nanosecond, time.Second, time.Minute,
			24 * time.Hour, 100 * time.Hour} {
			m.Store(int(d/time.Second)+2, in(d))
		}
		require.Equal(t, []int{0, 3, 62, 86402, 360002}, keysAfter(m, tick))
		require.Equal(t, []int{0, 3, 62, 86402, 360002}, keysAfter(m, 800*time.Millisecond))
		require.Equal(t, []int{0, 62, 86402, 360002}, keysAfter(m, tick))
		require.Equal(t, []int{0, 86402, 360002}, keysAfter(m, time.Minute))
		require.Equal(t, []int{0, 86402, 360002}, keysAfter(m, 23*time.Hour))
		require.Equal(t, []int{0, 360002}, keysAfter(m, time.Hour))
		require.Equal(t, []int{0}, keysAfter(m, 100*time.Hour))
		require.Equal(t, uint64(6), m.Stats().Expired)
		time.Sleep(time.Second)
		require.False(t, coreOf(m).gc.Closed())
		require.Zero(t, notesOf(m))
	})
	check("later, sooner, never", func(t *testing.T, m *Map[int, session]) {
		for i := range 4 {
			m.Store(i, in(time.Minute))
		}
		m.Store(0, in(time.Hour))
		m.Store(1, in(time.Second))
		m.Store(2, session{})
		m.Delete(3)
		require.Equal(t, []int{0, 2}, keysAfter(m, time.Second+tick))
		require.Equal(t, []int{0, 2}, keysAfter(m, time.Minute))
		m.Store(2, in(time.Second))
		m.Store(3, in(2*time.Second))
		require.Equal(t, []int{0, 3}, keysAfter(m, time.Second+tick))
		require.Equal(t, []int{}, append([]int{}, keysAfter(m, time.Hour)...))
	})
	check("transactions", func(t *testing.T, m *Map[int, session]) {
		mustUpdate(t, m, nil, func(tx Tx[int, session]) {
			for i := range 1000 {
				tx.Set(i, in(time.Duration(i)*time.Second))
			}
		})
		s := m.Snapshot()
		defer s.Close()
		tx := m.Begin(nil)
		defer tx.Rollback()
		tx.Get(400)
		tx.Set(-1, session{})
		require.Len(t, keysAfter(m, 500*time.Second+tick), 499)
		require.Equal(t, 1000, s.Len())
		require.ErrorIs(t, tx.Commit(), ErrConflict)
	})
	check("no more notes than are of use", func(t *testing.T, m *Map[int, session]) {
		for range 20 {
			for i := range 2000 {
				m.Store(i%50, in(time.Hour-time.Duration(i)*time.Second))
				m.Delete(i % 50)
			}
			m.Store(7, in(time.Hour))
			time.Sleep(tick)
			synctest.Wait()
		}
		require.LessOrEqual(t, notesOf(m), crowd+2)
		require.Equal(t, []int{7}, keysAfter(m, 59*time.Minute))
		require.Empty(t, keysAfter(m, time.Minute))
	})
	check("the clock goes back", func(t *testing.T, m *Map[int, session]) {
		m.Store(1, in(2*time.Hour))
		keysAfter(m, tick)
		x := coreOf(m).expiry()
		x.mu.Lock()
		x.wheel.advance(time.Now().Add(time.Hour).UnixMilli())
		x.mu.Unlock()
		m.Store(2, in(time.Minute))
		require.Equal(t, []int{1, 2}, keysAfter(m, tick))
		x.mu.Lock()
		require.LessOrEqual(t, x.wheel.now, time.Now().UnixMilli())
		x.mu.Unlock()
		require.Equal(t, []int{1}, keysAfter(m, time.Minute))
		require.Empty(t, keysAfter(m, 2*time.Hour))
	})
	check("after close", func(t *testing.T, m *Map[int, session]) {
		m.Store(1, in(time.Second))
		m.Close()
		m.Store(2, in(time.Second))
		require.Equal(t, []int{1, 2}, keysAfter(m, time.Minute))
		require.NoError(t, m.Reclaim(bg))
		require.Equal(t, 2, m.Len())
		require.Nil(t, coreOf(m).expiry())
	})
}

// Notes are dropped by the writer that makes too many, without the background work.
func TestExpiryNotesAreBounded(t *testing.T) {
	m := sessions(t, &Options{ManualReclaim: true})
	notes := func() (n int) {
		x := coreOf(m).expiry()
		for i := range x.lists {
			for note := x.lists[i].head.Load(); note != nil; note = note.next {
				n++
			}
		}
		return n
	}
	far := time.Now().Add(time.Hour)
	for i := range stage.Sizes(200_000, 20_000) {
		m.Store(i%40, session{until: far.Add(-time.Duration(i) * time.Millisecond)}) // ever sooner
		if i%3 == 0 {
			m.Delete(i % 40)
		}
		m.Store(1000+i, session{until: far})
		m.Delete(1000 + i)
	}
	require.LessOrEqual(t, notes(), feedLists*(longDue+200))
	x := coreOf(m).expiry()
	x.look(1 << 40)
	left := map[int]bool{}
	for _, one := range x.take(true) {
		left[*(*int)(one.what)] = true
	}
	for key := range m.Keys() {
		require.True(t, left[key])
	}
}

// The background work rests when there is nothing that will expire, and the map can be collected.
func TestExpiryRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := sessions(t, nil)
		for range 3 {
			m.Store(1, in(time.Minute))
			require.Equal(t, []int{1}, keysAfter(m, time.Minute-tick))
			require.Empty(t, keysAfter(m, 2*tick))
			parks := m.Stats().Parks
			time.Sleep(time.Hour)
			require.LessOrEqual(t, m.Stats().Parks, parks+1)
			require.Zero(t, coreOf(m).expiry().awake.Load())
		}
	})
}

// Who watches is told which records have expired, and which were deleted.
func TestWatchExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t, nil)
		m := NewTable[int, session](db, "sessions", nil)
		byN, err := NewIndex(m, "n", func(_ int, s session) []int { return []int{s.n} }, nil)
		require.NoError(t, err)
		m.Store(1, session{until: time.Now().Add(time.Second), n: 1})
		m.Store(2, session{until: time.Now().Add(time.Second), n: 1})
		m.Expire(untilOf) // of a table in use
		m.Store(3, session{n: 1})
		all := db.Watch(t.Context(), nil)
		m.Delete(2)
		time.Sleep(time.Second + tick)
		m.Delete(3)
		var told []string
		for c, err := range all {
			require.NoError(t, err)
			for _, change := range m.Changes(c) {
				require.True(t, change.Had && !change.Has)
				told = append(told, fmt.Sprint(change.Key, c.Expired))
			}
			if len(told) == 3 {
				break
			}
		}
		require.Equal(t, []string{"2 false", "1 true", "3 false"}, told)
		s := m.Snapshot()
		defer s.Close()
		_, _, found := byN.First(s, 1)
		require.False(t, found)
	})
}

// A function that goes by the time of the call would never let anything go. It is found out by the
// first records: in a write, and when Expire looks at those that are there.
func TestExpireByTheTimeOfTheCall(t *testing.T) {
	ttl := func(int, session) time.Time { return time.Now().Add(time.Hour) }
	for _, before := range []bool{true, false} {
		m := New[int, session](&Options{ManualReclaim: true})
		defer m.Close()
		if before {
			m.Store(1, session{})
		}
		m.Expire(ttl)
		if !before {
			mustUpdate(t, m, nil, func(tx Tx[int, session]) { tx.Set(1, session{}) })
		}
		require.PanicsWithValue(t, errUntil, func() { _ = m.Reclaim(bg) })
	}
}

// Where nothing would ever expire Expire panics.
func TestExpireAfterClose(t *testing.T) {
	closed := New[int, session](nil)
	closed.Close()
	db := NewDB(nil)
	table, ofClosed := NewTable[int, session](db, "a", nil), NewTable[int, session](db, "b", nil)
	table.Expire(untilOf)
	table.Close()
	expires := func(m *Map[int, session]) {
		requirePanicText(t, "the map was closed: nothing would expire", func() { m.Expire(untilOf) })
		require.Nil(t, coreOf(m).expiry())
	}
	expires(closed)
	expires(table)
	db.Close()
	expires(ofClosed)
}
