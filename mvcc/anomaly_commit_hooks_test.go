//go:build mvcccheck

package mvcc

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// The anomalies of anomaly_*_test.go, with a commit that is stopped halfway, at
// each of its points in turn, while the others read and write.

// commitPoints are the points at which a commit at a level may be stopped, after
// reads or without any.
func commitPoints(opts *TxOptions, reads bool) []hooks.Point {
	points := []hooks.Point{hooks.CommitEntries, hooks.Installed, hooks.InstalledAll,
		hooks.Announced, hooks.Drawn}
	if reads && opts == serializable {
		points = append(points, hooks.Tentative, hooks.Validated)
	}
	return append(points, hooks.Published, hooks.Finalized)
}

// tens returns a map with x = y = z = 10, that nobody prunes.
func tens(t *testing.T) *Map[string, int] {
	m := newMap[string, int](t, still())
	mustSet(t, m, nil, map[string]int{"x": 10, "y": 10, "z": 10})
	return m
}

// A halfway is a commit that is going to be stopped.
type halfway struct {
	opts  *TxOptions
	reads bool // the transaction has read z
	point hooks.Point
}

// atPoints runs a test for commits at both levels, with and without reads, at
// every point, on a map with x = y = z = 10.
func atPoints(t *testing.T, f func(t *testing.T, m *Map[string, int], h halfway)) {
	for _, opts := range levels {
		for _, how := range []string{"blind", "reads"} {
			for _, p := range commitPoints(opts, how == "reads") {
				t.Run(opts.Isolation.String()+"/"+how+"/"+p.String(), func(t *testing.T) {
					m := tens(t)
					f(t, m, halfway{opts, how == "reads", p})
					checkQuiet(t, m)
				})
			}
		}
	}
}

// start runs a transaction up to the point. finish lets it go on, and returns
// what Commit returned.
func (h halfway) start(
	s *stage, m *Map[string, int], write func(tx Tx[string, int]),
) (finish func() error) {
	s.t.Helper()
	var err error
	a := s.actor("writer", func() {
		tx := m.Begin(h.opts)
		defer tx.Rollback()
		if h.reads {
			tx.Get("z")
		}
		write(tx)
		err = tx.Commit()
	}).to(h.point)
	return func() error { a.finish(); return err }
}

// done reports whether others see the transaction that stands at the point.
func (h halfway) done() bool { return h.point == hooks.Published || h.point == hooks.Finalized }

// G0. Two write x and y, the one while the other stands halfway. Both keys have
// their versions in the same order.
func TestG0WhileCommitting(t *testing.T) {
	atPoints(t, func(t *testing.T, m *Map[string, int], h halfway) {
		same := func(r Reader[string, int]) {
			t.Helper()
			x, _ := r.Get("x")
			requireValue(t, x)(r.Get("y"))
		}
		finish := h.start(newStage(t), m, func(tx Tx[string, int]) { tx.Set("x", 1); tx.Set("y", 1) })
		mustSet(t, m, h.opts, map[string]int{"x": 2, "y": 2})
		between := m.Snapshot()
		defer between.Close()
		requireValue(t, 2)(between.Get("x"))
		same(between)
		err := finish()
		same(between)
		after := m.Snapshot()
		defer after.Close()
		same(after)
		if !h.reads {
			require.NoError(t, err, "a blind write conflicts")
		}
		x, y := chain(m, "x"), chain(m, "y")
		require.Equal(t, x, y, "the keys have different histories")
		between.Close()
		after.Close()
	})
}

// G1a. The transaction is refused in the end. Nobody has seen any of it at any of
// its points, by any operation, and no write has been put on top of it.
func TestG1aWhileCommitting(t *testing.T) {
	was := map[string]int{"x": 10, "y": 10, "z": 11}
	for _, p := range []hooks.Point{
		hooks.CommitEntries, hooks.Installed, hooks.InstalledAll, hooks.Announced,
		hooks.Drawn, hooks.Tentative,
	} {
		t.Run(p.String(), func(t *testing.T) {
			m := tens(t)
			before := m.Snapshot()
			defer before.Close()
			stage := newStage(t)
			var err error
			w := stage.actor("writer", func() {
				tx := m.Begin(nil)
				tx.Get("z")
				tx.Set("x", 11)
				tx.Delete("y")
				tx.Set("new", 1)
				err = tx.Commit()
			}).to(hooks.CommitEntries)
			m.Store("z", 11)
			if p != hooks.CommitEntries {
				w.to(p)
			}
			during := m.Snapshot()
			defer during.Close()
			requireNow(t, m, was, "new")
			requireValue(t, 10)(m.Swap("x", 10))
			_, loaded := m.LoadAndDelete("new")
			require.False(t, loaded)
			w.finish()
			requireConflict(t, err, "z", ConflictRead)
			requireNow(t, m, was, "new")
			requireRead(t, during, was, "new")
			requireRead(t, before, map[string]int{"x": 10, "y": 10, "z": 10}, "new")
			before.Close()
			during.Close()
			checkQuiet(t, m)
		})
	}
}

// G1b, and commits half visible. Operations on one key, one after the other, look
// at a transaction that stands halfway: a reader that has seen it by one key sees it by all.
func TestG1bWhileCommitting(t *testing.T) {
	look := []struct {
		name string
		at   func(m *Map[string, int], key string) int
	}{
		{"Load", func(m *Map[string, int], key string) int { v, _ := m.Load(key); return v }},
		{"LoadOrStore", func(m *Map[string, int], key string) int {
			v, _ := m.LoadOrStore(key, -1)
			return v
		}},
		{"Range", func(m *Map[string, int], key string) int { return ranged(m)[key] }},
		{"Snapshot", func(m *Map[string, int], key string) int {
			s := m.Snapshot()
			defer s.Close()
			v, _ := s.Get(key)
			return v
		}},
		{"Begin", func(m *Map[string, int], key string) int {
			tx := m.Begin(nil)
			defer tx.Rollback()
			v, _ := tx.Get(key)
			return v
		}},
		{"Swap", func(m *Map[string, int], key string) int {
			v, _ := m.Swap(key, 0)
			m.Store(key, v)
			return v
		}},
	}
	atPoints(t, func(t *testing.T, _ *Map[string, int], h halfway) {
		for i, first := range look {
			for j, second := range look {
				if j != (i+1)%len(look) && (j != i || testing.Short()) {
					continue
				}
				m := tens(t)
				finish := h.start(newStage(t), m, func(tx Tx[string, int]) {
					tx.Set("x", 11)
					tx.Set("y", 11)
					tx.Set("y", 12)
					tx.Set("x", 12)
				})
				seen := 10
				if h.done() {
					seen = 12
				}
				for i, key := range []string{"x", "y", "x"} {
					at := first
					if i == 1 {
						at = second
					}
					got := at.at(m, key)
					require.Contains(t, []int{10, 12}, got, "%s of %s", at.name, key)
					require.GreaterOrEqual(t, got, seen, "%s of %s, after %s", at.name, key, first.name)
					seen = got
				}
				want := map[string]int{"x": 12, "y": 12, "z": 10}
				if err := finish(); err != nil { // Swap has written what it has read
					require.True(t, h.reads && h.opts == snapshot && (first.name == "Swap" ||
						second.name == "Swap"), "%v", err)
					require.Equal(t, 10, seen, "what was seen is taken back")
					want = map[string]int{"x": 10, "y": 10, "z": 10}
				}
				requireNow(t, m, want)
				checkQuiet(t, m)
			}
		}
	})
}

// P4. A read-modify-write stands halfway while others count x up in every way:
// no count is lost, whether it is refused or not.
func TestP4WhileCommitting(t *testing.T) {
	for _, other := range []struct {
		name  string
		count func(m *Map[string, int]) error
	}{
		{"Update", func(m *Map[string, int]) error { return incrementBy(m, 1, "x") }},
		{"Update of two", func(m *Map[string, int]) error { return incrementBy(m, 1, "x", "y") }},
		{"Update, snapshot level", func(m *Map[string, int]) error {
			return m.Update(bg, snapshot, func(tx Tx[string, int]) error {
				x, _ := tx.Get("x")
				tx.Set("x", x+1)
				return nil
			})
		}},
		{"CompareAndSwap", func(m *Map[string, int]) error {
			for {
				if x, _ := m.Load("x"); CompareAndSwap(m, "x", x, x+1) {
					return nil
				}
			}
		}},
		{"LoadAndDelete", func(m *Map[string, int]) error {
			x, _ := m.LoadAndDelete("x")
			_, loaded := m.LoadOrStore("x", x+1)
			return expect("loaded after delete", false, loaded)
		}},
	} {
		t.Run(other.name, func(t *testing.T) {
			for _, opts := range levels {
				for _, p := range commitPoints(opts, true) {
					m := tens(t)
					finish := halfway{opts, true, p}.start(newStage(t), m, func(tx Tx[string, int]) {
						x, _ := tx.Get("x")
						tx.Set("x", x+1)
					})
					require.NoError(t, other.count(m))
					want := 12
					if err := finish(); err != nil {
						requireConflict(t, err, "x", ConflictRead, ConflictWrite)
						want = 11
					}
					requireValue(t, want)(m.Load("x"))
					checkQuiet(t, m)
				}
			}
		})
	}
}

// G-single, OTV. A reader has seen x of one transaction when the next one stands
// halfway: it sees nothing of that one, during and after; one that begins meanwhile
// sees it wholly or not at all, and the same again when it is done.
func TestOTVWhileCommitting(t *testing.T) {
	atPoints(t, func(t *testing.T, m *Map[string, int], h halfway) {
		for _, first := range []string{"x", "y"} {
			m := tens(t)
			mustSet(t, m, h.opts, map[string]int{"x": 11, "y": 19})
			old, now := map[string]int{"x": 11, "y": 19, "z": 10}, map[string]int{"x": 12, "y": 18, "z": 10}
			third, doomed := m.Begin(h.opts), m.Begin(h.opts)
			requireValue(t, old[first])(third.Get(first))
			requireValue(t, old[first])(doomed.Get(first))
			finish := h.start(newStage(t), m, func(tx Tx[string, int]) { tx.Set("x", 12); tx.Set("y", 18) })
			requireRead(t, third, old)
			during := m.Snapshot()
			seen, _ := during.Get(first)
			load, _ := m.Load(first)
			after := m.Snapshot()
			whole := now
			if seen == old[first] {
				whole = old
			}
			requireRead(t, during, whole)
			wholeAfter := maps.Collect(after.All())
			require.Contains(t, []map[string]int{old, now}, wholeAfter)
			if load == now[first] {
				require.Equal(t, now, wholeAfter, "what a Load has seen vanishes")
			}
			require.NoError(t, finish())
			prune(m)
			requireRead(t, third, old)
			requireRead(t, during, whole)
			requireRead(t, after, wholeAfter)
			requireNow(t, m, now)
			require.NoError(t, third.Commit())
			doomed.Set(first, -1)
			require.ErrorIs(t, doomed.Commit(), ErrConflict)
			during.Close()
			after.Close()
			checkQuiet(t, m)
		}
	})
}
