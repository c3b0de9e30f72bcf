//go:build mvcccheck

package mvcc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Who helps a writer, also the goroutine of watches, does not ask when the record of that one
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
