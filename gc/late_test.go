package gc_test

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// stick writes keys, has the ticker stand still over one of them until the function is called that
// it returns, and lets so many intervals pass.
func (f *fixture) stick(keys []*key, intervals int) (release func()) {
	goOn, first := make(chan struct{}), new(atomic.Bool)
	for _, k := range keys {
		k.onVisit = func(*gc.View) {
			if first.CompareAndSwap(false, true) {
				<-goOn
			}
		}
		f.write(k)
	}
	f.ticks(1 + intervals)
	return sync.OnceFunc(func() { close(goOn) })
}

// inHand is how many items the ticker has in hand that stands still.
const inHand = 64

// commits has committers commit n times, on a key that nobody hands over.
func (f *fixture) commits(n int) {
	k := &key{}
	for range n {
		k.versions = nil
		if e := f.commit(k); f.Due(e) {
			f.RefreshPast(e, 0)
		}
	}
}

// Where the ticker does not get its turn committers do its work: items that are listed, queued or
// set aside are visited, and transactions grow old and are evicted. In time they leave it alone.
func TestLateTick(t *testing.T) {
	var log strings.Builder
	cfg := config{Workers: 1, MaxAge: time.Minute, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	bubble(t, cfg, func(t *testing.T, f *fixture) {
		old, tooOld := f.begin(), f.begin()
		f.slots.Next()
		f.ticks(3)
		kept := f.keys(1)[0]
		f.slots.Next()
		reader := f.begin()
		f.ticks(3)
		f.write(kept)
		f.ticks(1)
		require.Equal(t, 1, f.Stats().Aside)

		listed, queued := f.keys(200), f.keys(50)
		release := f.stick(listed, 0)
		defer release()
		for _, k := range queued {
			f.write(k)
		}
		f.commits(3000)
		require.Equal(t, len(listed)+len(queued), f.Stats().Pending+inHand, "it is not late yet")

		f.ticks(2)
		reader.end()
		old.end()
		young := f.begin()
		for range 4 {
			f.commits(3000)
			f.ticks(1)
		}
		require.Zero(t, f.Stats().Pending)
		require.Zero(t, f.Stats().Aside)
		require.Len(t, kept.chain(), 1)
		require.Contains(t, f.View().Old(), young.at)
		young.end()

		time.Sleep(2 * time.Minute)
		f.commits(2000)
		synctest.Wait()
		require.True(t, tooOld.slot.Evicted(tooOld.gen))
		require.Equal(t, 1, strings.Count(log.String(), "has been evicted"), log.String())

		release()
		f.ticks(2)
		settled(t, f, append(listed, queued...))
		for _, k := range listed {
			f.write(k)
		}
		f.commits(3000)
		require.Equal(t, len(listed), f.Stats().Pending, "ticks are in time again")
	})
}

// For each item that is handed over while ticks are late a committer visits two.
func TestOfferedLate(t *testing.T) {
	bubble(t, config{Workers: 1}, func(t *testing.T, f *fixture) {
		release := f.stick(f.keys(1), 2)
		defer release()
		f.commits(2000)
		for range 3 {
			f.writeTwice(t, f.keys(3000), 512)
		}
		require.NotZero(t, f.Stats().Fallbacks)
	})
}

// The past is retained for as long as it is to be while ticks are late, and no longer: the bound
// moves on, and views say some times in that time that writers have to prune.
func TestRetainLate(t *testing.T) {
	bubble(t, config{Workers: 1, Retain: 8 * time.Second}, func(t *testing.T, f *fixture) {
		f.ticks(100)
		require.Equal(t, epoch.First, f.View().Since, "ticks are in time: they prune")
		release := f.stick(f.keys(1), 2)
		defer release()
		moved, since := 0, f.View().Since
		var clocks []epoch.Epoch
		for i := range 320 {
			clocks = append(clocks, f.slots.Now())
			f.commits(1100)
			f.ticks(1)
			if s := f.View().Since; s != since {
				require.Greater(t, s, since)
				moved, since = moved+1, s
			}
			if i > 80 {
				require.LessOrEqual(t, f.View().Bound, clocks[i-78])
				require.GreaterOrEqual(t, f.View().Bound, clocks[i-81])
			}
		}
		require.InDelta(t, 32, moved, 4)
	})
}
