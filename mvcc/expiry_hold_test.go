package mvcc

import (
	"encoding/gob"
	"io"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/favour"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// While somebody holds it nothing expires, and what is renewed or deleted meanwhile never does; what
// is due goes after the last release, by itself or by Reclaim.
func TestHoldExpiry(t *testing.T) {
	t.Parallel()
	for _, manual := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t, &Options{ManualReclaim: manual})
			y.leases.OnExpire(y.back)
			y.leases.Expire(untilOf)
			first, second := y.db.HoldExpiry(), y.db.HoldExpiry()
			for i := range 1000 {
				y.leases.Store(i, session{time.Now().Add(time.Second), i})
			}
			wait := func() {
				time.Sleep(time.Minute)
				synctest.Wait()
				if manual {
					require.NoError(t, y.db.Reclaim(bg))
				}
			}
			wait()
			first()
			first() // it is once
			wait()
			require.Equal(t, 1000, y.leases.Len())
			y.leases.Delete(0)
			y.leases.Store(1, session{time.Now().Add(time.Hour), 1})
			second()
			wait()
			require.Equal(t, 1, y.leases.Len())
			require.Equal(t, 998, y.queue.Len())
			require.False(t, y.queue.Has(0))
			require.False(t, y.queue.Has(1))
			require.EqualValues(t, 998, y.db.Stats().Expired)
		})
	}
}

// A deletion under way has ended when HoldExpiry returns; one whose function panics as well.
func TestHoldExpiryWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, nil)
		var calls atomic.Int32
		y.leases.OnExpire(func(tx DBTx, job int, s session) error {
			calls.Add(1)
			time.Sleep(time.Minute)
			if s.n == 1 {
				panic("one")
			}
			return y.back(tx, job, s)
		})
		y.leases.Expire(untilOf)
		for n := range 2 {
			y.leases.Store(n, session{time.Now().Add(time.Second), n})
		}
		time.Sleep(2 * time.Second) // amid the first call
		require.EqualValues(t, 1, calls.Load())
		release := y.db.HoldExpiry()
		before := calls.Load()
		require.False(t, y.leases.Has(0))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, before, calls.Load())
		release()
		time.Sleep(time.Hour)
		require.Greater(t, calls.Load(), before, "it is tried again")
	})
}

// A backup that comes slowly does not keep the records from expiring that are there meanwhile.
func TestLoadReadsBesideExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, nil)
		y.leases.Expire(untilOf)
		y.leases.Store(1, session{time.Now().Add(time.Second), 1})
		r, w := io.Pipe()
		done := make(chan error)
		go func() {
			_, err := y.db.Load(bg, r, Codec{Name: "gob",
				NewEncoder: func(w io.Writer) encoder { return gob.NewEncoder(w) },
				NewDecoder: func(r io.Reader) decoder { return gob.NewDecoder(r) }}, nil)
			done <- err
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, y.leases.Len())
		require.NoError(t, w.CloseWithError(io.ErrUnexpectedEOF))
		require.Error(t, <-done)
	})
}

// A sweep holds up no watch: it does not wait for others to go first, on an index either, and a
// function that says when a record expires may take its time.
func TestSweepHoldsUpNoWatch(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t, &Options{ManualReclaim: true})
			if on {
				y.leases.OnExpire(y.back)
			}
			var slow atomic.Bool
			y.leases.Expire(func(_ int, s session) time.Time {
				if slow.Load() && inUpdate() {
					time.Sleep(time.Hour)
				}
				return s.until
			})
			ix, err := NewIndex(y.leases, "n", func(_ int, s session) []int { return []int{s.n} }, nil)
			require.NoError(t, err)
			for n := range 3 {
				y.leases.Store(n, session{time.Now().Add(time.Second), n})
			}
			time.Sleep(time.Minute)

			index := favour.NewKeys(0)
			index.AddTable(uint16(coreAt(ix.entries.at).ordinal))
			claim := coreOf(y.leases).favour.Enter(index, time.Hour)
			start := time.Now()
			require.NoError(t, y.db.Reclaim(bg))
			require.Zero(t, time.Since(start))
			require.Equal(t, 3, y.leases.Len())
			claim.End()
			time.Sleep(tick) // it is tried again with the next

			next, stop := iter.Pull2(y.queue.Watch(t.Context(), nil))
			defer stop()
			slow.Store(true)
			swept := make(chan error, 1)
			go func() { swept <- y.db.Reclaim(bg) }()
			rounds := 0
			for ; len(swept) == 0; rounds++ {
				time.Sleep(10 * time.Minute)
				start := time.Now()
				y.queue.Store(-1, "")
				c, err, ok := next()
				for ok && c.Expired {
					c, err, ok = next()
				}
				require.True(t, ok)
				require.NoError(t, err)
				require.Less(t, time.Since(start), time.Second, "in round %d", rounds)
			}
			require.GreaterOrEqual(t, rounds, 3*6, "an hour for each")
			require.NoError(t, <-swept)
			require.Zero(t, y.leases.Len())
		})
	}
}

// A sweep that waits for a round of the watches has no transaction open meanwhile, and is told as what
// it is.
func TestSweepWaitsOutside(t *testing.T) {
	for _, on := range []bool{false, true} {
		y := newYard(t, &Options{ManualReclaim: true})
		if on {
			y.leases.OnExpire(y.back)
		}
		y.leases.Expire(untilOf)
		next, stop := iter.Pull2(y.leases.Watch(t.Context(), nil))
		defer stop()
		y.leases.Store(1, session{until: time.Unix(1, 0)})
		h := &coreOf(y.leases).shared.hub
		h.mu.Lock()
		swept := make(chan error)
		go func() { swept <- y.db.Reclaim(bg) }()
		stage.Eventually(t, func() bool { return stage.Standing("(*telling).wait(") }, "it does not wait")
		require.Zero(t, y.db.Stats().LiveTx)
		require.Equal(t, 1, y.leases.Len())
		h.mu.Unlock()
		require.NoError(t, <-swept)
		require.Zero(t, y.leases.Len())
		for _, expired := range []bool{false, true} {
			c, err, ok := next()
			require.True(t, ok)
			require.NoError(t, err)
			require.Equal(t, expired, c.Expired)
		}
	}
}

// A sweep waits for the first watch to begin, which has let the maps note their commits already: else
// that would be told of a commit that it does not know to be expiry.
func TestSweepMeetsFirstWatch(t *testing.T) {
	m := sessions(t, &Options{ManualReclaim: true})
	m.Store(1, session{until: time.Unix(1, 0)})
	h := &coreOf(m).shared.hub
	h.mu.Lock()
	coreOf(m).fed() // as hub.begin does, before it looks at all keys
	swept := make(chan error)
	go func() { swept <- m.Reclaim(bg) }()
	stage.Eventually(t, func() bool { return stage.Standing("(*telling).wait(") }, "it does not wait")
	require.Equal(t, 1, m.Len())
	h.join()
	h.mu.Unlock()
	require.NoError(t, <-swept)
	require.Zero(t, m.Len())
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(t, h.expired, 1)
	h.sweep() // nobody watches
}
