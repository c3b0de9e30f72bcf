//go:build mvcccheck

package mvcc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// A transaction that another one has aborted installs again, and compares each key with
// what it read of that key: that is no conflict.
func TestWrittenReadsInstallAgain(t *testing.T) {
	for _, n := range []int{2, linearWrites, linearWrites + 1, 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			m := newMap[int, int](t, still())
			for i := range n {
				m.Store(i, i)
			}
			tx := m.Begin(nil)
			for i := range n {
				key := i * 7 % n
				v, _ := tx.Get(key)
				tx.Set(key, v+1)
			}
			aborted := false
			remove := hooks.Set(func(p hooks.Point) {
				if p == hooks.InstalledAll && !aborted {
					aborted = true
					done := make(chan bool)
					go func() { // as one that then finds that it has nothing to write
						for ok := false; !ok; {
							_, ok = m.settle(m.lookup(0).head)
						}
						done <- true
					}()
					<-done
				}
			})
			err := tx.Commit()
			remove()
			require.NoError(t, err)
			require.EqualValues(t, 1, m.Stats().Reinstalled)
			for i := range n {
				requireValue(t, i+1)(m.Load(i))
			}
		})
	}
}
