//go:build mvcccheck

package mvcc

import (
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A record that is given a later time when it is about to be deleted stays, until that time.
func TestSweepLooksAgain(t *testing.T) {
	m := sessions(t, &Options{ManualReclaim: true})
	m.Store(1, session{until: time.Unix(1, 0)})
	once(t, hooks.Swept, func() { m.Store(1, in(time.Hour)) })
	require.NoError(t, m.Reclaim(bg))
	require.Equal(t, 1, m.Len())
	m.Store(1, session{until: time.Unix(1, 0)})
	require.NoError(t, m.Reclaim(bg))
	require.Zero(t, m.Len())
}

// However often others abort the deletion of a record, and if others commit it, all watches are
// told that it is expiry: also those of a table in which OnExpire alone has written.
func TestExpiredIsTold(t *testing.T) {
	for _, on := range []bool{false, true} {
		y := newYard(t, &Options{ManualReclaim: true})
		if on {
			y.leases.OnExpire(y.back)
		}
		y.leases.Expire(untilOf)
		y.leases.Store(1, session{until: time.Unix(1, 0)})
		watch := func() iter.Seq2[uint64, bool] {
			if !on {
				return toldExpired(y.leases.Watch(t.Context(), nil))
			}
			return toldExpired(y.queue.Watch(t.Context(), nil)) // alone
		}
		next, stop := iter.Pull2(watch())
		defer stop()
		done := 0
		remove := hooks.Set(func(p hooks.Point) {
			if p == hooks.InstalledAll {
				if done++; done == 1 && on {
					y.queue.Store(1, "it aborts that")
				} else if !on {
					require.False(t, y.leases.Has(1), "it commits that")
				}
			}
		})
		require.NoError(t, y.db.Reclaim(bg))
		remove()
		require.Equal(t, uint64(1), y.db.Stats().Expired)
		if on {
			_, expired, _ := next()
			require.False(t, expired)
		}
		_, expired, _ := next()
		require.True(t, expired)
	}
}

// toldExpired returns which of the commits of a watch are expiry.
func toldExpired[K comparable, V any](w iter.Seq2[Commit[K, V], error]) iter.Seq2[uint64, bool] {
	return func(yield func(uint64, bool) bool) {
		for c, err := range w {
			if err != nil || !yield(c.Epoch, c.Expired) {
				return
			}
		}
	}
}

// Who helps a writer, also a round of watches, does not ask when the record of that one
// expires; and the record goes in its time, though the writer sleeps.
func TestHelperAsksNobody(t *testing.T) {
	for name, read := range map[string]func(tx Tx[int, session]){
		"Get":          func(tx Tx[int, session]) { tx.Get(1) },
		"GetForUpdate": func(tx Tx[int, session]) { tx.GetForUpdate(1) },
		"All": func(tx Tx[int, session]) {
			for range tx.All() {
			}
		},
		"Commit": func(tx Tx[int, session]) { tx.Get(2); tx.Set(1, session{until: time.Unix(1, 0)}) },
		"Watch":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[int, session](t, still())
			m.Store(1, session{})
			asked := false
			m.Expire(func(_ int, s session) time.Time {
				asked = true
				return s.until
			})
			if read == nil {
				m.Watch(t.Context(), nil)
			}
			w := stage.New(t).Actor("writer", func() {
				m.Store(1, session{until: time.Unix(1, 0)})
			}).To(hooks.StoreInstalled)
			if read == nil {
				w.To(hooks.Told) // else the hub does not know of it
			}
			if asked = false; read == nil {
				coreOf(m).shared.hub.step()
			} else {
				mustUpdate(t, m, nil, read)
			}
			require.Equal(t, name == "Commit", asked, "it has a record of its own")
			require.NoError(t, m.Reclaim(bg))
			require.Zero(t, m.Len())
			w.Finish()
			require.NoError(t, m.Reclaim(bg))
			checkQuiet(t, m)
		})
	}
}
