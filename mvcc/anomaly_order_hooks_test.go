//go:build mvcccheck

package mvcc

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// More anomalies with commits that stand halfway: those about which came first, and
// about predicates.

// PMP. A transaction that inserts, changes and deletes stands halfway; scans that
// began before see nothing of it, those that begin meanwhile all or nothing, and
// a second scan finds what the first one did.
func TestPMPWhileCommitting(t *testing.T) {
	atPoints(t, func(t *testing.T, m *Map[string, int], h halfway) {
		old := map[string]int{"x": 10, "y": 10, "z": 10}
		now := map[string]int{"y": 33, "z": 10, "p": 30, "q": 36}
		before := m.Begin(h.opts)
		require.Zero(t, threes(before))
		finish := h.start(newStage(t), m, func(tx Tx[string, int]) {
			tx.Set("p", 30)
			tx.Set("q", 36)
			tx.Set("y", 33)
			tx.Delete("x")
		})
		requireRead(t, before, old, "p", "q")
		var open []Snapshot[string, int]
		var saw []map[string]int
		last := 0
		for range 3 {
			s := m.Snapshot()
			open = append(open, s)
			seen := maps.Collect(s.All())
			require.Contains(t, []map[string]int{old, now}, seen)
			require.Equal(t, len(seen), s.Len())
			saw = append(saw, seen)
			require.Contains(t, []map[string]int{old, now}, ranged(m))
			require.GreaterOrEqual(t, threes(s), last, "what an earlier scan found is gone")
			last = threes(s)
		}
		require.NoError(t, finish())
		prune(m)
		requireRead(t, before, old, "p", "q")
		for i, s := range open {
			require.Equal(t, saw[i], maps.Collect(s.All()), "a second scan finds something else")
			s.Close()
		}
		requireNow(t, m, now, "x")
		require.NoError(t, before.Commit())
	})
}

// Long fork. The writers of x and of y both stand halfway, at each pair of points;
// what is seen by readers of every kind, one after the other, only ever grows:
// no two disagree about which came first.
func TestLongForkWhileCommitting(t *testing.T) {
	type writer struct {
		name  string
		start func(s *stage, m *Map[string, int], key string) (finish func())
	}
	var writers []writer
	for _, opts := range levels {
		for _, p := range commitPoints(opts, true) {
			h := halfway{opts, true, p}
			writers = append(writers, writer{opts.Isolation.String() + "/" + p.String(),
				func(s *stage, m *Map[string, int], key string) func() {
					finish := h.start(s, m, func(tx Tx[string, int]) {
						tx.Get(key)
						tx.Set(key, 1)
						tx.Set("of "+key, 1)
					})
					return func() { require.NoError(s.t, finish()) }
				}})
		}
	}
	for _, p := range []hooks.Point{hooks.StoreInstalled, hooks.StoreDrawn} {
		writers = append(writers, writer{"Store/" + p.String(), func(s *stage, m *Map[string, int],
			key string) func() {
			return s.actor("Store", func() { m.Store(key, 1) }).to(p).finish
		}})
	}
	for i, a := range writers {
		t.Run(a.name, func(t *testing.T) {
			for j, b := range writers {
				if testing.Short() && (i+j)%3 != 0 {
					continue
				}
				m := newMap[string, int](t, still())
				mustSet(t, m, nil, map[string]int{"x": 0, "y": 0, "z": 10})
				stage := newStage(t)
				finishA := a.start(stage, m, "x")
				finishB := b.start(stage, m, "y")
				var open []Snapshot[string, int]
				var saw []view
				last := view{}
				look := func(xFirst bool) {
					t.Helper()
					s := m.Snapshot()
					v := viewOf(s.Get, xFirst)
					open, saw = append(open, s), append(saw, v)
					for _, v := range []view{v, viewOf(m.Load, !xFirst), viewOf(m.Load, xFirst)} {
						require.True(t, last.before(v), "beside %s: after %v somebody sees %v", b.name, last, v)
						last = v
					}
				}
				look(true)
				look(false)
				finishB()
				look(true)
				look(false)
				finishA()
				look(true)
				require.Equal(t, view{1, 1}, last)
				prune(m)
				for i, s := range open {
					require.Equal(t, saw[i], viewOf(s.Get, i%2 == 0))
					s.Close()
				}
				checkQuiet(t, m)
			}
		})
	}
}

// before reports whether a reader that saw v may come before one that saw w.
func (v view) before(w view) bool { return v.X <= w.X && v.Y <= w.Y }

// viewOf reads x and y, in the given order.
func viewOf(get func(key string) (int, bool), xFirst bool) (v view) {
	if xFirst {
		v.X, _ = get("x")
	}
	v.Y, _ = get("y")
	if !xFirst {
		v.X, _ = get("x")
	}
	return v
}

// The read-only anomaly. The withdrawal stands halfway through its commit when the
// deposit is made and reported. If the report has not seen the withdrawal, it is
// refused, even when it had been validated already.
func TestReadOnlyAnomalyWhileCommitting(t *testing.T) {
	deposits := append([]oneKeyWrite{{"Update", func(m *Map[string, int], key string, value int) bool {
		return m.Update(bg, nil, func(tx Tx[string, int]) error {
			y, _ := tx.Get(key)
			tx.Set(key, y+value)
			return nil
		}) == nil
	}}}, overwrites...)
	reports := []struct {
		name string
		see  func(t *testing.T, m *Map[string, int]) view
	}{
		{"Load", func(t *testing.T, m *Map[string, int]) view { return viewOf(m.Load, false) }},
		{"Load, x first", func(t *testing.T, m *Map[string, int]) view { return viewOf(m.Load, true) }},
		{"Range", func(t *testing.T, m *Map[string, int]) view {
			all := ranged(m)
			return view{all["x"], all["y"]}
		}},
	}
	for _, way := range readings {
		reports = append(reports, struct {
			name string
			see  func(t *testing.T, m *Map[string, int]) view
		}{way.name, func(t *testing.T, m *Map[string, int]) (v view) {
			way.run(t, m, func(r Reader[string, int]) { v = viewOf(r.Get, true) })
			return v
		}})
	}
	for i, deposit := range deposits {
		for j, report := range reports {
			if testing.Short() && (i+j)%3 != 0 {
				continue
			}
			t.Run(deposit.name+"/"+report.name, func(t *testing.T) {
				for _, p := range commitPoints(serializable, true) {
					m := newMap[string, int](t, still())
					mustSet(t, m, nil, map[string]int{"x": 0, "y": 0, "z": 0})
					finish := halfway{serializable, true, p}.start(newStage(t), m, func(tx Tx[string, int]) {
						x, _ := tx.Get("x")
						if y, _ := tx.Get("y"); x+y < 10 {
							tx.Set("x", x-11) // with the charge
						}
					})
					require.True(t, deposit.set(m, "y", 20))
					saw := report.see(t, m)
					require.Equal(t, 20, saw.Y, "%v: the report misses a deposit that was made before", p)
					err := finish()
					if saw.X == 0 {
						requireConflict(t, err, "y", ConflictRead)
						requireNow(t, m, map[string]int{"x": 0, "y": 20, "z": 0})
					} else {
						require.NoError(t, err, "%v: what the report has seen is taken back", p)
						requireNow(t, m, map[string]int{"x": -11, "y": 20, "z": 0})
					}
					checkQuiet(t, m)
				}
			})
		}
	}
}
