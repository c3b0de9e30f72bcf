package favour

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

var bg = context.Background()

// hash spreads small numbers over lanes and places, with collisions.
func hash(key int) uint64 {
	x := uint64(key+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return x ^ x>>27
}

func setOf(keys ...int) *Keys {
	k := NewKeys(len(keys))
	for _, key := range keys {
		k.Add(hash(key))
	}
	return k
}

// keysBetween is the set of the keys from a up to b.
func keysBetween(a, b int) *Keys {
	k := NewKeys(b - a)
	for ; a < b; a++ {
		k.Add(hash(a))
	}
	return k
}

// inBubble runs f in a bubble, where time passes only while all wait.
func inBubble(t *testing.T, f func(t *testing.T, q *Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, new(Queue)) })
}

// requireEmpty checks that nothing is left of the claims that were made.
func requireEmpty(t *testing.T, q *Queue) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	require.Empty(t, q.live)
	require.Empty(t, q.since)
	require.Empty(t, q.last)
	require.Empty(t, q.wide)
	require.Nil(t, q.timer)
	for i := range q.lanes {
		require.Nil(t, q.lanes[i].Load())
	}
	require.Zero(t, q.grantedCount.Load())
	require.Zero(t, q.waiting.Load())
}

// Claims on one key are granted one after the other, in the order in which they
// were made.
func TestOrder(t *testing.T) {
	for name, keys := range map[string]func(i int) *Keys{
		"one key":           func(int) *Keys { return setOf(1) },
		"one key in common": func(i int) *Keys { return setOf(1, 100+i) },
		"many keys":         func(int) *Keys { return keysBetween(0, 50) },
		"few and many":      func(i int) *Keys { return keysBetween(0, 1+i%2*50) },
		"all":               func(int) *Keys { return All() },
		"all and few":       func(i int) *Keys { return []*Keys{All(), setOf(i)}[i%2] },
		"all, few and many": func(i int) *Keys {
			return []*Keys{All(), setOf(i), All(), keysBetween(0, 50)}[i%4]
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *Queue) {
				const n = 20
				var claims []*Claim
				var order []int
				for i := range n {
					c := q.Enter(keys(i), time.Hour)
					claims = append(claims, c)
					go func() {
						if c.Wait(bg) {
							order = append(order, i)
						}
					}()
				}
				var want []int
				for i, c := range claims {
					synctest.Wait()
					want = append(want, i)
					require.Equal(t, want, order)
					require.True(t, c.Held())
					require.Equal(t, n-i-1, q.Stats().Waiting)
					c.End()
					require.False(t, c.Held())
					c.End()
				}
				requireEmpty(t, q)
			})
		})
	}
}

// A claim on few keys waits for the wide claims that it has a key in common with, and for no others.
func TestStrangersOfWideClaims(t *testing.T) {
	var q Queue
	tagged := func(key int) *Keys {
		k := NewKeys(1)
		k.Add(Tagged(hash(key), 7))
		return k
	}
	table := NewKeys(0)
	table.AddTable(7)
	first := q.Enter(table, time.Hour)
	second := q.Enter(keysBetween(0, 2*keyedKeys), time.Hour) // waits for the first
	stranger := q.Enter(setOf(3*keyedKeys), time.Hour)
	ofFirst, ofSecond := q.Enter(tagged(3*keyedKeys), time.Hour), q.Enter(setOf(1), time.Hour)
	require.True(t, first.Held() && stranger.Held())
	require.False(t, second.Held() || ofFirst.Held() || ofSecond.Held())
	first.End()
	require.True(t, second.Held() && ofFirst.Held())
	require.False(t, ofSecond.Held())
	last := q.Enter(All(), time.Hour)
	second.End()
	require.True(t, ofSecond.Held())
	for _, c := range []*Claim{stranger, ofFirst, ofSecond} {
		require.False(t, last.Held())
		c.End()
	}
	require.True(t, last.Held())
	last.End()
	requireEmpty(t, &q)
}

// The queue does not grow faster than the claims do, whatever they are on.
func TestEdges(t *testing.T) {
	for name, keys := range map[string]func(i int) *Keys{
		"all":         func(int) *Keys { return All() },
		"many keys":   func(int) *Keys { return keysBetween(0, 10) },
		"all and few": func(i int) *Keys { return []*Keys{All(), setOf(i), setOf(i)}[i%3] },
	} {
		t.Run(name, func(t *testing.T) {
			var q Queue
			const n = 1000
			var claims []*Claim
			edges := 0
			for i := range n {
				c := q.Enter(keys(i), time.Hour)
				claims = append(claims, c)
				edges += c.blockers
			}
			require.LessOrEqual(t, edges, 11*n)
			for _, c := range claims {
				require.True(t, c.Held())
				c.End()
			}
			requireEmpty(t, &q)
		})
	}
}

// A grant is taken away when its time is over, and the next claims rest for as long
// again, or until the holder ends its claim.
func TestGrantEnds(t *testing.T) {
	for _, ends := range []bool{false, true} {
		inBubble(t, func(t *testing.T, q *Queue) {
			const grantTime = 50 * time.Millisecond
			a := q.Enter(setOf(1), grantTime)
			time.Sleep(grantTime / 5)
			b := q.Enter(setOf(1), grantTime)
			time.Sleep(grantTime*4/5 - 1)
			synctest.Wait()
			require.True(t, a.Held())
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.False(t, a.Held() || b.Held() || q.Any())
			require.EqualValues(t, 1, q.Stats().Expired)
			if ends {
				a.End()
			} else {
				time.Sleep(grantTime - 1)
				synctest.Wait()
				require.False(t, b.Held())
				time.Sleep(time.Nanosecond)
				synctest.Wait()
			}
			require.True(t, b.Held())
			a.End()
			require.True(t, b.Held())
			time.Sleep(grantTime - 1)
			synctest.Wait()
			require.True(t, b.Held())
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.False(t, b.Held())
			b.End()
			requireEmpty(t, q)
		})
	}
}

// A writer of a key that is claimed waits until the claim ends, or its grant does, once.
func TestAwait(t *testing.T) {
	for name, end := range map[string]func(c *Claim){
		"ended":      func(c *Claim) { time.Sleep(time.Millisecond); c.End() },
		"taken away": func(*Claim) { time.Sleep(MinGrantTime) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *Queue) {
				a, b := q.Enter(setOf(1, 2), MinGrantTime), q.Enter(setOf(1), time.Hour)
				var done atomic.Int32
				for range 10 {
					go func() {
						require.True(t, q.Await(bg, hash(0), hash(1), hash(2)))
						done.Add(1)
					}()
				}
				require.False(t, q.Await(bg, hash(0)), "a stranger")
				require.False(t, q.Await(bg))
				require.True(t, q.Claimed(hash(1)))
				require.False(t, q.Claimed(hash(0)))
				synctest.Wait()
				require.Zero(t, done.Load())
				require.Equal(t, 11, q.Stats().Waiting)
				end(a)
				synctest.Wait()
				require.EqualValues(t, 10, done.Load(), "it waits for the next one too")
				require.EqualValues(t, 10, q.Stats().Deferrals)
				a.End()
				require.True(t, b.Held())
				b.End()
				requireEmpty(t, q)
			})
		})
	}
}

// Many goroutines, few keys: two that hold a claim on one key are never found there
// together, and all get their turns.
func TestExclusion(t *testing.T) {
	const workers, rounds, keys = 32, 200, 5
	var q Queue
	var inside [keys]atomic.Int32
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 0))
			for range rounds {
				mine := r.Perm(keys)[:1+r.IntN(keys)]
				set := setOf(mine...)
				if r.IntN(20) == 0 {
					set, mine = All(), []int{0, 1, 2, 3, 4}
				}
				c := q.Enter(set, time.Hour)
				if r.IntN(10) == 0 {
					ctx, cancel := context.WithCancel(bg)
					cancel()
					if !c.Wait(ctx) {
						continue
					}
				}
				c.Wait(bg)
				for _, k := range mine {
					if n := inside[k].Add(1); n != 1 {
						errs <- fmt.Errorf("%d have a claim on key %d", n, k)
						return
					}
				}
				for _, k := range mine {
					inside[k].Add(-1)
				}
				c.End()
				q.Await(bg, hash(r.IntN(keys)))
			}
		})
	}
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
	requireEmpty(t, &q)
}
