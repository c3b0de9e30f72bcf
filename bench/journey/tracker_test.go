package journey

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// start runs f in the background.
func start(f func()) { go f() }

// eachTracker runs a test on every kind of tracker.
func eachTracker(t *testing.T, test func(t *testing.T, kind TrackerKind, tr Tracker, c Clock)) {
	for _, kind := range trackerKinds {
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

// meddling is a clock that has something happen between its being read and whatever the reader
// does with what it has read.
type meddling struct {
	Clock
	meddle func()
}

func (c *meddling) Now() epoch.Epoch {
	e := c.Clock.Now()
	if f := c.meddle; f != nil {
		c.meddle = nil
		f()
	}
	return e
}

// beginRace begins a transaction, has another commit and compute the min visible epoch between
// its reading of the clock and its entry, and says whether it is lost: reads below.
func beginRace(tr Tracker, c Clock) error {
	var least epoch.Epoch
	m := &meddling{Clock: c}
	m.meddle = func() {
		c.Next()
		least = tr.MinVisible(c)
	}
	h := tr.Begin(m)
	defer tr.End(h)
	if least == 0 {
		return fmt.Errorf("nobody has read the clock")
	}
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

// unchecked begins as it should not: it does not look at the bound when it is entered.
type unchecked struct{ checked }

func (t *unchecked) Begin(c Clock) Handle { return t.enter(c.Now()) }

// The test above finds a tracker that does not look again.
func TestBeginRaceIsFound(t *testing.T) {
	tr, c := &unchecked{checked{register: newCounted()}}, newClock()
	require.ErrorContains(t, beginRace(tr, c), "may be dropped")
}

// The same by chance, and everything at once for the race detector.
func TestTrackersTogether(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 300
	}
	eachTracker(t, func(t *testing.T, _ TrackerKind, tr Tracker, c Clock) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range rounds {
					h := tr.Begin(c)
					e := c.Next()
					if least := tr.MinVisible(c); least > h.Epoch || h.Epoch >= e {
						t.Errorf("a transaction reads at %d, the min visible epoch is %d, and the clock %d",
							h.Epoch, least, e)
					}
					tr.End(h)
				}
			})
		}
		wg.Wait()
	})
}

// heldClock is a clock that holds its first reader until it is released, and says what it meets.
type heldClock struct {
	Clock
	loaded, release, again chan struct{}
	calls                  int // of Now, by one goroutine
}

func (c *heldClock) Now() epoch.Epoch {
	e := c.Clock.Now()
	switch c.calls++; c.calls {
	case 1:
		close(c.loaded)
		<-c.release
	case 2:
		close(c.again)
	}
	return e
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
		slow := &heldClock{Clock: c}
		slow.loaded, slow.release, slow.again = make(chan struct{}), make(chan struct{}),
			make(chan struct{})
		begun := make(chan Handle, 1)
		go func() { begun <- tr.Begin(slow) }()
		<-slow.loaded
		c.Next()
		tr.register = &scanned{tr.register, func() {
			close(slow.release)
			select {
			case <-slow.again:
			case h := <-begun:
				begun <- h
			}
		}}
		least := tr.MinVisible(c)
		h := <-begun
		require.GreaterOrEqual(t, h.Epoch, least)
	})
}

// Close waits for the keeper's goroutine, which begins late here, to end.
func TestCloseWaitsForTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		tracker, _ := newTracker(Keeper, func(own func()) {
			time.AfterFunc(time.Second, own)
		})
		tracker.Close()
		require.Equal(t, time.Second, time.Since(begun))
	})
}
