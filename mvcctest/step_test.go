package mvcctest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A lease says when its record expires.
type lease struct{ until time.Time }

func until(_ int, l lease) time.Time { return l.until }

// Time that is moved on has records expire, before the call returns, with background work or
// without.
func TestAdvance(t *testing.T) {
	for _, manual := range []bool{false, true} {
		r := New(t, nil)
		o := r.Options()
		o.ManualReclaim = manual
		db := mvcc.NewDB(o)
		leases := mvcc.NewTable[int, lease](db, "leases", nil)
		alone := mvcc.New[int, lease](o)
		begin := r.Now()
		for i := range 1000 {
			leases.Store(i, lease{begin.Add(time.Duration(1+i) * time.Hour)})
		}
		alone.Store(0, lease{begin.Add(time.Hour)})
		for _, m := range []*mvcc.Map[int, lease]{leases, alone} {
			m.Expire(until)
		}
		r.Advance(time.Hour / 2)
		require.Equal(t, 1000, leases.Len())
		require.True(t, alone.Has(0))
		r.Advance(time.Hour)
		require.False(t, leases.Has(0))
		require.True(t, leases.Has(1))
		require.False(t, alone.Has(0))
		require.WithinRange(t, r.Now(), begin.Add(90*time.Minute), time.Now().Add(90*time.Minute))
		for h := 1; h < 100; h++ { // of many, beside the background work
			require.True(t, leases.Has(h))
			r.Advance(time.Hour)
			require.False(t, leases.Has(h))
		}
		r.Advance(2000 * time.Hour)
		require.Zero(t, leases.Len())
		require.EqualValues(t, 1000, db.Stats().Expired)
		alone.Store(1, lease{r.Now().Add(-time.Second)})
		r.Step()
		require.False(t, alone.Has(1))
		alone.Close()
		db.Close()
	}
}

// A step tells watches of the commits before it, and reclaims.
func TestStep(t *testing.T) {
	r := New(t, nil)
	o := r.Options()
	o.ManualReclaim = true
	m := mvcc.New[int, int](o)
	defer m.Close()
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	watch := m.Watch(ctx, nil)
	s := m.Snapshot()
	for i := range 10 {
		m.Store(1, i)
	}
	changed := s.Changed(ctx, 1)
	s.Close()
	<-changed // has happened already
	s = m.Snapshot()
	changed = s.Changed(ctx, 1)
	s.Close()
	require.Greater(t, m.Stats().Versions, 1)
	m.Store(1, 10)
	r.Step()
	select {
	case <-changed:
	default:
		require.Fail(t, "the channel is not closed after a step")
	}
	require.Equal(t, 11, m.Stats().WatchWaiting)
	require.Zero(t, m.Stats().WatchLag)
	r.Step()
	require.Equal(t, 1, m.Stats().Versions)
	n := 0
	for c, err := range watch {
		require.NoError(t, err)
		if n += len(c.Changes); n == 11 {
			break
		}
	}
	for range 8 {
		r.Step() // with nothing to do
	}
}

// A function that panics in a step leaves its work to the next one.
func TestStepPanics(t *testing.T) {
	r := New(t, nil)
	o := r.Options()
	o.ManualReclaim = true
	m := mvcc.New[int, lease](o)
	defer m.Close()
	fails := false
	m.Expire(func(_ int, l lease) time.Time {
		if fails {
			panic("oh")
		}
		return l.until
	})
	m.Store(1, lease{r.Now().Add(time.Hour)})
	fails = true
	require.PanicsWithValue(t, "oh", func() { r.Advance(2 * time.Hour) })
	require.PanicsWithValue(t, "oh", func() { r.Advance(time.Second) })
	fails = false
	require.True(t, m.Has(1))
	r.Advance(time.Second)
	require.False(t, m.Has(1))
}

// Steps, other calls, and new maps may meet.
func TestStepsAtOnce(t *testing.T) {
	r := New(t, &Config{Chance: 0.2})
	db := mvcc.NewDB(r.Options())
	leases := mvcc.NewTable[int, lease](db, "leases", nil)
	leases.Expire(until)
	ctx, cancel := context.WithCancel(bg)
	watch := leases.Watch(ctx, nil)
	begin := r.Now()
	var writers, all sync.WaitGroup
	const each = 100
	for g := range 3 {
		writers.Go(func() {
			for i := range each {
				if err := leases.Update(bg, nil, func(tx mvcc.Tx[int, lease]) error {
					tx.Get(g)
					tx.Set(g*each+i, lease{begin.Add(time.Duration(i) * time.Minute)})
					return nil
				}); err != nil {
					t.Error(err)
				}
				mvcc.New[int, int](r.Options()).Close()
			}
		})
	}
	all.Go(func() {
		for _, err := range watch {
			if err != nil {
				break
			}
		}
	})
	done := make(chan struct{})
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					r.Advance(time.Minute)
					r.Step()
				}
			}
		})
	}
	writers.Wait()
	close(done)
	cancel()
	all.Wait()
	r.Advance(each * time.Minute)
	require.Zero(t, leases.Len())
	db.Close()
}
