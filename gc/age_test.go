package gc_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
)

// A transaction that is too old is evicted before anything is dropped that it could see, and the
// versions that it alone kept go with it.
func TestEvictionPrecedesPruning(t *testing.T) {
	for _, workers := range []int{0, 1, 3} {
		for _, age := range []time.Duration{time.Second, time.Minute} { // young, and old
			bubble(t, config{Workers: workers, MaxAge: age, Interval: time.Second},
				func(t *testing.T, f *fixture) {
					k := f.keys(1)[0]
					first := k.chain()[0]
					r := f.begin()
					k.onVisit = func(v *gc.View) {
						if v.Min > r.at {
							require.True(t, r.slot.Evicted(r.gen), "its version is dropped before it was evicted")
						}
					}
					f.write(k)
					f.ticks(int(age / time.Second))
					require.Contains(t, k.chain(), first)
					require.Zero(t, f.Stats().Evicted)
					f.ticks(3)
					require.Len(t, k.chain(), 1)
					require.EqualValues(t, 1, f.Stats().Evicted)
					require.True(t, r.slot.End(r.gen))
					require.Equal(t, age == time.Second, r.slot.Keep(r.gen))
					f.ticks(2)
					require.True(t, f.Resting())
				})
		}
	}
}

func TestOldestPin(t *testing.T) {
	bubble(t, config{Workers: 1, Interval: time.Second}, func(t *testing.T, f *fixture) {
		pin := func(at epoch.Epoch, age time.Duration) {
			t.Helper()
			s := f.Stats()
			require.Equal(t, at, s.OldestPin)
			require.InDelta(t, age, s.OldestPinAge, float64(time.Microsecond)) // of the bubble's time
		}
		pin(0, 0)
		old := f.begin()
		f.slots.Next()
		pin(0, 0) // no tick has seen it
		f.ticks(1)
		pin(old.at, 0)
		young := f.begin()
		f.slots.Next()
		f.ticks(10)
		pin(old.at, 10*time.Second)
		time.Sleep(time.Second / 2) // between ticks too
		pin(old.at, 10*time.Second+time.Second/2)
		old.end()
		f.ticks(1)
		pin(young.at, 10*time.Second+time.Second/2) // seen since the tick after it began
		young.end()
		f.ticks(1)
		pin(0, 0)
		require.True(t, f.Resting())
		require.Equal(t, epoch.First, old.at)
	})
}

// A logger that passes its records on, and may panic.
type logger struct {
	told chan slog.Record
	boom bool
}

func (l *logger) Enabled(context.Context, slog.Level) bool { return true }
func (l *logger) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logger) WithGroup(string) slog.Handler            { return l }
func (l *logger) Handle(_ context.Context, r slog.Record) error {
	l.told <- r
	if l.boom {
		panic("boom")
	}
	return nil
}

// After Close nobody is told anything: a committer must not have to wait for a logger,
// nor see it panic.
func TestLoggerAfterClose(t *testing.T) {
	l := &logger{told: make(chan slog.Record, 100), boom: true}
	cfg := config{Interval: time.Second, Logger: slog.New(l), WarnAge: 5 * time.Second,
		MaxAge: time.Minute}
	bubble(t, cfg, func(t *testing.T, f *fixture) {
		f.Close()
		r := f.begin()
		keys := f.keys(1000)
		for range 100 {
			time.Sleep(time.Second)
			for _, k := range keys {
				f.write(k)
			}
		}
		require.Empty(t, l.told)
		require.EqualValues(t, 1, f.Stats().Evicted)
		require.True(t, r.slot.Evicted(r.gen))
	})
}
