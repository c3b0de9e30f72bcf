//go:build mvcccheck

package mvcc

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A batch that others abort again and again claims the keys that it writes: a large one at once, a
// small one after a few times. In a bubble no tenure ends meanwhile.
func TestAbortedBatchMakesClaim(t *testing.T) {
	for _, c := range []struct {
		n, aborts int
		update    bool
	}{{2, bidAborts, false}, {2, bidAborts, true}, {largeBatch, bidAborts, false},
		{largeBatch + 1, 1, false}} {
		synctest.Test(t, func(t *testing.T) {
			m := New[int, int](still())
			defer m.Close()
			m.Store(0, 0)
			var err error
			w := stage.New(t).Actor("batch", func() {
				batch := func(tx Tx[int, int]) error {
					for i := range c.n {
						tx.Set(i, 1)
					}
					return nil
				}
				if c.update {
					err = m.Update(bg, nil, batch)
					return
				}
				tx := m.Begin(nil)
				_ = batch(tx)
				err = tx.Commit()
			})
			for range c.aborts {
				w.To(hooks.InstalledAll)
				require.False(t, coreOf(m).favour.Any())
				m.Store(0, 2)
			}
			w.To(hooks.InstalledAll)
			for i := range c.n {
				require.True(t, coreOf(m).favour.Claimed(m.hash(i)))
			}
			require.False(t, coreOf(m).favour.Claimed(m.hash(-1)))
			w.Finish()
			require.NoError(t, err)
			requireValue(t, 1)(m.Load(0))
			checkQuiet(t, m)
		})
	}
}
