package journey

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// start runs f in the background.
func start(f func()) { go f() }

// trackers are all of them.
var trackers = append(slices.Collect(maps.Keys(registers)), Keeper, KeeperNoop, KeeperIdle, Slots)

// eachTracker runs a test on every kind of tracker.
func eachTracker(t *testing.T, test func(t *testing.T, kind TrackerKind, tr Tracker, c Clock)) {
	for _, kind := range trackers {
		t.Run(string(kind), func(t *testing.T) {
			tr, c := newTracker(kind, start)
			defer tr.Close()
			test(t, kind, tr, c)
		})
	}
}

// forgets reports whether a tracker notices that transactions end.
func forgets(kind TrackerKind) bool { return kind != KeeperNoop && kind != KeeperIdle }

// There is no reader below the min visible epoch, and it moves on when the lowest reader has ended,
// but for the trackers that have that bug.
func TestMinVisible(t *testing.T) {
	eachTracker(t, func(t *testing.T, kind TrackerKind, tr Tracker, c Clock) {
		over := make(chan struct{})
		defer close(over)
		begin := func() Handle {
			h := make(chan Handle)
			go func() { // which lasts: some trackers keep the lowest of a goroutine
				h <- tr.Begin(c)
				<-over
			}()
			return <-h
		}
		first := begin()
		require.Equal(t, epoch.First, first.Epoch)
		c.Next()
		second, third := begin(), begin()
		require.Equal(t, epoch.First+1, second.Epoch)
		require.Equal(t, epoch.First+1, third.Epoch)
		c.Next()
		require.Equal(t, first.Epoch, tr.MinVisible(c))

		tr.End(second)
		other := begin() // the owner of the list has taken all that came before
		require.Equal(t, first.Epoch, tr.MinVisible(c), "the lowest is still there")
		tr.End(first)
		last := begin()
		require.Equal(t, epoch.First+2, last.Epoch)
		want := third.Epoch
		if !forgets(kind) {
			want = first.Epoch
		}
		require.Equal(t, want, tr.MinVisible(c))
		for _, h := range []Handle{third, other, last} {
			tr.End(h)
		}
		c.Next()
		tr.End(begin())
		if forgets(kind) {
			require.Greater(t, tr.MinVisible(c), third.Epoch)
		} else {
			require.Equal(t, first.Epoch, tr.MinVisible(c))
		}
	})
}

// Several transactions of one goroutine may be open at once, end in any order, and on another one.
func TestSeveralOfOneGoroutine(t *testing.T) {
	eachTracker(t, func(t *testing.T, kind TrackerKind, tr Tracker, c Clock) {
		var list []Handle
		for range 4 {
			list = append(list, tr.Begin(c))
			c.Next()
		}
		for _, i := range []int{3, 1, 0, 2} {
			for _, h := range list {
				if h != (Handle{}) {
					require.LessOrEqual(t, tr.MinVisible(c), h.Epoch)
				}
			}
			var wg sync.WaitGroup
			wg.Go(func() { tr.End(list[i]) })
			wg.Wait()
			list[i] = Handle{}
		}
		h := tr.Begin(c)
		require.Equal(t, c.Now(), h.Epoch)
		if forgets(kind) {
			require.Equal(t, h.Epoch, tr.MinVisible(c))
		}
	})
}

// stale is a clock that has been read before it has moved on.
type stale struct {
	Clock
	read epoch.Epoch
}

func (c *stale) Now() epoch.Epoch {
	e := c.read
	if c.read = 0; e == 0 {
		e = c.Clock.Now()
	}
	return e
}

// beginRace begins a transaction that has read the clock before another commits and computes the
// min visible epoch, and is entered after that. It returns an error if the transaction reads below.
func beginRace(tr Tracker, c Clock) error {
	m := &stale{c, c.Now()}
	c.Next()
	least := tr.MinVisible(c)
	h := tr.Begin(m)
	defer tr.End(h)
	if h.Epoch < least {
		return fmt.Errorf("a transaction reads at %d, and what is not seen at %d may be dropped",
			h.Epoch, least)
	}
	return nil
}

// A transaction that is entered after the min visible epoch was computed reads nothing that may be
// dropped since.
func TestBeginRace(t *testing.T) {
	eachTracker(t, func(t *testing.T, kind TrackerKind, tr Tracker, c Clock) {
		if kind == Slots {
			t.Skip("the clock is its own: TestBeginRaceSlots, with the tag mvcccheck")
		}
		h := tr.Begin(c)
		for range 3 {
			c.Next()
			require.NoError(t, beginRace(tr, c), "beside a reader")
		}
		tr.End(h)
		for range 3 {
			c.Next()
			require.NoError(t, beginRace(tr, c))
		}
	})
}

// scanned is a register that calls after when it has been scanned.
type scanned struct {
	register
	after func()
}

func (r *scanned) lowest() epoch.Epoch {
	e := r.register.lowest()
	r.after()
	return e
}

// A scan has announced the bound before: a transaction that has loaded the clock before that,
// and is entered when the scan is over, begins again.
func TestBoundBeforeScan(t *testing.T) {
	eachTracker(t, func(t *testing.T, _ TrackerKind, made Tracker, c Clock) {
		tr, ok := made.(*checked)
		if !ok {
			t.Skip("it has no bound, or package epoch's")
		}
		slow := &stale{c, c.Now()}
		c.Next()
		var h Handle
		tr.register = &scanned{tr.register, func() { h = tr.Begin(slow) }}
		require.LessOrEqual(t, tr.MinVisible(c), h.Epoch)
	})
}
