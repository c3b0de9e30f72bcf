package mvcc

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A logged is a message that a handler was told.
type logged struct {
	message string
	attrs   map[string]slog.Value
}

// A recorder is a slog.Handler that keeps the messages it is told, and waits if hold is set.
type recorder struct {
	mu      sync.Mutex
	records []logged
	hold    chan struct{}
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r *recorder) WithGroup(string) slog.Handler { return r }

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	if r.hold != nil {
		<-r.hold
	}
	attrs := make(map[string]slog.Value)
	rec.Attrs(func(a slog.Attr) bool { attrs[a.Key] = a.Value; return true })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, logged{rec.Level.String() + " " + rec.Message, attrs})
	return nil
}

func (r *recorder) told() []logged {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records
}

// Old pins are told of, once each, with where they began.
func TestOldPinsAreToldOf(t *testing.T) {
	for _, traced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log recorder
			m := New[string, int](&Options{
				ReclaimInterval: time.Second, Logger: slog.New(&log), PinWarnAge: 10 * time.Second,
				MaxTxAge:  time.Minute,
				TracePins: traced,
			})
			defer m.Close()
			m.Store("k", 1)
			s := m.Snapshot()
			tx := m.Begin(nil)
			m.Store("k", 2)
			at := s.Epoch()
			time.Sleep(9 * time.Second)
			synctest.Wait()
			require.Empty(t, log.told())
			time.Sleep(30 * time.Second)
			synctest.Wait()
			require.Len(t, log.told(), 2, "once each")
			require.NoError(t, m.View(func(Snapshot[string, int]) error { return nil }))
			for _, r := range log.told() {
				require.Contains(t, r.message, "WARN mvcc: an old transaction or snapshot")
				require.Equal(t, at, r.attrs["epoch"].Uint64())
				require.GreaterOrEqual(t, r.attrs["age"].Duration(), 10*time.Second)
				require.Less(t, r.attrs["age"].Duration(), 12*time.Second)
				if traced {
					require.Regexp(t, `^\S*mvcc\.TestOldPinsAreToldOf\S*\n\t\S*warning_test\.go:`,
						r.attrs["began"].String(), "from the call of the program on")
				} else {
					require.NotContains(t, r.attrs, "began")
				}
			}
			tx.Rollback()
			old(m)
			require.Len(t, log.told(), 3)
			require.Contains(t, log.told()[2].message, "has been evicted")
			s.Close()

			// The state of s serves another snapshot, which is told of anew.
			s = m.Snapshot()
			m.Store("k", 3)
			time.Sleep(12 * time.Second)
			synctest.Wait()
			require.Len(t, log.told(), 4)
			s.Close()
		})
	}
}

// A handler that waits holds nothing up. A message that it missed it is told later.
func TestSlowLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := recorder{hold: make(chan struct{})}
		m := New[string, int](&Options{ReclaimInterval: time.Second, Logger: slog.New(&log),
			PinWarnAge: time.Second})
		m.Store("k", 1)
		s := m.Snapshot()
		m.Store("k", 2)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		late := m.Snapshot()
		m.Store("k", 3)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Len(t, chainOf(m, "k"), 3)
		s.Close()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, chainOf(m, "k"), 2, "nothing is reclaimed while the handler waits")
		require.Empty(t, log.told())
		closed := make(chan struct{})
		close(log.hold)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, log.told(), 2)
		late.Close()
		go func() { m.Close(); close(closed) }()
		<-closed
	})
}
