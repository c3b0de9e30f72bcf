package mvcc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Snapshots differ in the keys written between them.
func TestDiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db := NewDB(nil)
		defer db.Close()
		m, other := NewTable[int, int](db, "m", nil), NewTable[int, int](db, "other", nil)
		other.Store(1, 1)
		var open []DBSnapshot
		var have []map[int]int
		var written []map[int]bool // since each was opened
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.IntRange(0, 5).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				m.Delete(key)
			case 1:
				s := db.Snapshot()
				defer s.Close()
				open, have, written = append(open, s), append(have, maps.Collect(m.At(s).All())),
					append(written, map[int]bool{})
				continue
			default:
				m.Store(key, rapid.IntRange(0, 3).Draw(t, "value"))
			}
			for _, keys := range written {
				keys[key] = true
			}
		}
		for i := range open {
			for j := range open {
				got := map[int]Change[int, int]{}
				for c := range m.At(open[j]).Diff(m.At(open[i])) {
					_, twice := got[c.Key]
					require.False(t, twice)
					got[c.Key] = c
				}
				for key := range 6 {
					old, had := have[i][key]
					value, has := have[j][key]
					c, changed := got[key]
					if old != value || had != has {
						require.True(t, changed)
					}
					if changed {
						require.Equal(t, Change[int, int]{key, old, value, had, has}, c)
						require.True(t, written[min(i, j)][key])
						require.True(t, had || has)
					}
				}
				c := db.Diff(open[j], open[i])
				require.Len(t, m.Changes(c), len(got))
				require.Empty(t, other.Changes(c))
			}
		}
	})
}

// A channel is closed by the change that it waits for, before or after it was asked for, and by
// nothing else.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t, nil)
		m := NewOrderedTable[int, int](db, "m", nil)
		tens, err := NewOrderedIndex(m, "tens", func(_, v int) []int { return []int{v / 10} }, nil)
		require.NoError(t, err)
		for i := range 10 {
			m.Store(i, 10*i)
		}
		closed := func(c <-chan struct{}) bool {
			time.Sleep(time.Second)
			select {
			case <-c:
				return true
			default:
				return false
			}
		}
		wait := map[string]func(s Snapshot[int, int], ctx context.Context) <-chan struct{}{
			"key": func(s Snapshot[int, int], ctx context.Context) <-chan struct{} {
				return s.Changed(ctx, 5)
			},
			"index": func(s Snapshot[int, int], ctx context.Context) <-chan struct{} {
				return tens.Changed(ctx, s, 5)
			},
		}
		for what, c := range map[string]struct {
			change  func()
			concern []string
		}{
			"the key":                      {func() { m.Store(5, 55) }, []string{"key", "index"}},
			"its end":                      {func() { m.Delete(5) }, []string{"key", "index"}},
			"another one":                  {func() { m.Store(8, 81) }, nil},
			"another with the index key":   {func() { m.Store(9, 59) }, []string{"index"}},
			"an absent one that is absent": {func() { m.Delete(100) }, nil},
			"a new one":                    {func() { m.Store(101, 52) }, []string{"index"}},
			"one of another index key":     {func() { m.Store(102, 49) }, nil},
		} {
			for _, before := range []bool{false, true} {
				for name, wait := range wait {
					ctx, cancel := context.WithCancel(t.Context())
					for i := range 10 {
						m.Store(i, 10*i)
					}
					m.Delete(101)
					m.Delete(102)
					s := m.Snapshot()
					if before {
						c.change()
					}
					changed := wait(s, ctx)
					if before {
						s.Close()
					} else {
						s.Close()
						require.False(t, closed(changed))
						c.change()
					}
					require.Equal(t, slices.Contains(c.concern, name), closed(changed),
						"%s waits for %s", name, what)
					cancel()
					synctest.Wait()
					require.Nil(t, dbAt(db).shared.hub.work.Load())
				}
			}
		}
	})
}

// A replica is a copy of a map that follows its commits.
type replica[K comparable] struct {
	at   uint64
	have map[K]int
}

// apply applies changes, and reports a change that does not fit.
func (r *replica[K]) apply(at uint64, changes []Change[K, int], summary bool) error {
	if at <= r.at && !(summary && at == r.at) || len(changes) == 0 {
		return fmt.Errorf("commit %d with %d changes after %d", at, len(changes), r.at)
	}
	r.at = at
	met := map[K]bool{}
	for _, c := range changes {
		old, had := r.have[c.Key]
		if met[c.Key] || had != c.Had || old != c.Old || !c.Had && !c.Has {
			return fmt.Errorf("commit %d: change %+v of a key that had %d, %t, met before: %t", at, c,
				old, had, met[c.Key])
		}
		met[c.Key] = true
		if delete(r.have, c.Key); c.Has {
			r.have[c.Key] = c.New
		}
	}
	return nil
}

// sum is the sum of all values.
func (r *replica[K]) sum() (n int) {
	for _, v := range r.have {
		n += v
	}
	return n
}

// newReplica returns a copy of the records that a snapshot sees.
func newReplica[K comparable](s Snapshot[K, int]) *replica[K] {
	return &replica[K]{s.Epoch(), maps.Collect(s.All())}
}
