package mvcc

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Promises of docs/guarantees.md that belong to no anomaly.

// A commit synchronizes before every read that observes it: the reader's goroutine may read by
// ordinary means the variables that the committer's has written so before. If it did not, the race
// detector would say so.
func TestCommitSynchronizesBeforeRead(t *testing.T) {
	for _, write := range []struct {
		name   string
		commit func(m *Map[int, *int], p *int) error
	}{
		{"Store", func(m *Map[int, *int], p *int) error { m.Store(1, p); return nil }},
		{"blind batch", func(m *Map[int, *int], p *int) error {
			return m.Update(bg, nil, func(tx Tx[int, *int]) error { tx.Set(0, p); tx.Set(1, p); return nil })
		}},
		{"read and write", func(m *Map[int, *int], p *int) error {
			return m.Update(bg, nil, func(tx Tx[int, *int]) error {
				tx.Get(1)
				tx.Set(0, p)
				tx.Set(1, p)
				return nil
			})
		}},
	} {
		for _, read := range []struct {
			name string
			see  func(m *Map[int, *int]) *int
		}{
			{"Load", func(m *Map[int, *int]) *int { p, _ := m.Load(1); return p }},
			{"Get", func(m *Map[int, *int]) (p *int) {
				_ = m.View(func(s Snapshot[int, *int]) error { p, _ = s.Get(1); return nil })
				return p
			}},
			{"Tx.Get", func(m *Map[int, *int]) *int {
				tx := m.Begin(nil)
				defer tx.Rollback()
				p, _ := tx.Get(1)
				return p
			}},
			{"Range", func(m *Map[int, *int]) (last *int) {
				m.Range(func(_ int, p *int) bool { last = p; return true })
				return last
			}},
		} {
			t.Run(write.name+"/"+read.name, func(t *testing.T) {
				m := newMap[int, *int](t, nil)
				c := stage.NewWorkers(t)
				c.Run(1, func(int) error {
					p := new(int)
					*p = 42
					return write.commit(m, p)
				})
				seen := 0
				stage.Eventually(t, func() bool {
					p := read.see(m)
					if p != nil {
						seen = *p
					}
					return p != nil
				}, "a commit is not seen")
				c.Wait(t)
				require.Equal(t, 42, seen)
			})
		}
	}
}

// An iterator may be run again, within itself too: every pass is the same.
func TestAllRunsAgain(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		want := map[string]int{"x": 10, "y": 10}
		tx, s := m.Begin(opts), m.Snapshot()
		defer s.Close()
		for _, r := range []Reader[string, int]{tx, s} {
			all := r.All()
			for range all {
				require.Equal(t, want, maps.Collect(all))
				m.Store("x", 1)
				m.Delete("y")
				prune(m)
			}
			require.Equal(t, want, maps.Collect(all))
			m.Store("x", 10)
			m.Store("y", 10)
		}
		tx.Rollback()
		s.Close()
	})
}
