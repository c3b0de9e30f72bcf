//go:build mvcccheck

package index

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// oneHash gives all keys the same hash: they are in one chain, with the same tag.
func oneHash(int) uint64 { return 1 << 60 }

// requireIndex checks that x has the heads of want, each once, and no others.
func requireIndex(t *testing.T, want map[int]*chain.Node, x *Index) {
	t.Helper()
	met := map[int]*chain.Node{}
	x.Scan(func(_ Place, v *chain.Node) bool {
		require.NotContains(t, met, chain.KeyOf[int](v), "met twice")
		met[chain.KeyOf[int](v)] = v
		return true
	})
	require.Len(t, met, len(want))
	for key, v := range want {
		require.Same(t, v, met[key])
		_, found := findIn(x, hashIn(x, key), key)
		require.Same(t, v, found, "key %d", key)
	}
	require.EqualValues(t, len(want), x.entries.Value())
}

// An insert has looked for its key, and for a free cell, and sleeps before it locks the
// bucket. It looks again afterwards, or finds that nobody has had the lock meanwhile: a
// key has one cell, and a cell one key.
func TestInsertLooksAgain(t *testing.T) {
	const key = 100
	for name, meanwhile := range map[string]func(x *Index, want map[int]*chain.Node){
		"same key":    func(x *Index, want map[int]*chain.Node) { insertInto(x, want, key) },
		"another key": func(x *Index, want map[int]*chain.Node) { insertInto(x, want, 101) },
		"comes, leaves": func(x *Index, want map[int]*chain.Node) {
			insertInto(x, want, key)
			removeFrom(x, want, key)
		},
		"one leaves, another comes": func(x *Index, want map[int]*chain.Node) {
			removeFrom(x, want, 0)
			insertInto(x, want, 101)
		},
		"many": func(x *Index, want map[int]*chain.Node) {
			for key := 101; key < 110; key++ {
				insertInto(x, want, key)
			}
		},
		"moved": func(x *Index, want map[int]*chain.Node) {
			now := x.table.Load()
			x.resize(now, 4)
			for x.moveSome(now) {
			}
			insertInto(x, want, key)
		},
	} {
		// A bucket with room, a full one, a chain with room, a full one.
		for _, n := range []int{3, BucketCells, BucketCells + 1, 2 * BucketCells} {
			t.Run(fmt.Sprint(name, "/", n), func(t *testing.T) {
				x := newTestIndex(oneHash)
				want := map[int]*chain.Node{}
				for key := range n {
					insertInto(x, want, key)
				}
				v := chain.New(key, 0)
				var inserted bool
				var p Place
				a := stage.New(t).Actor("inserter", func() {
					p, inserted = x.Insert(hashIn(x, key), v, Gate{})
				}).To(hooks.InsertLooked)
				meanwhile(x, want)
				a.Finish()
				require.Equal(t, want[key] == nil, inserted)
				if inserted {
					want[key] = v
				}
				require.Same(t, want[key], p.Load())
				requireIndex(t, want, x)
			})
		}
	}
}

// So it does when keys of another bucket were moved into its own.
func TestInsertBesideMerge(t *testing.T) {
	// Even keys are in bucket 0 of four, odd ones in bucket 1; of two all are in bucket 0.
	x := newTestIndex(func(key int) uint64 { return uint64(key%2)<<62 | uint64(key) })
	x.table.Store(newHashTable(4))
	want := map[int]*chain.Node{}
	for key := range BucketCells + 1 {
		insertInto(x, want, 2*key)
		insertInto(x, want, 2*key+1)
	}
	now := x.table.Load()
	x.resize(now, 2)
	x.moveBucket(now, 0, true)
	now.taken.Store(2) // the inserter helps elsewhere
	const key = 100
	want[key] = chain.New(key, 0)
	a := stage.New(t).Actor("inserter", func() { x.Insert(hashIn(x, key), want[key], Gate{}) }).
		To(hooks.InsertLooked). // in the old table, where its bucket has moved
		To(hooks.InsertLooked)
	x.moveBucket(now, 1, true)
	a.Finish()
	requireIndex(t, want, x)
}

func insertInto(x *Index, want map[int]*chain.Node, key int) {
	want[key] = chain.New(key, 0)
	x.Insert(hashIn(x, key), want[key], Gate{})
}

func removeFrom(x *Index, want map[int]*chain.Node, key int) {
	x.Remove(Place{}, want[key])
	delete(want, key)
}

// A lookup has loaded the tags of a bucket. Then a key is inserted into it, and somebody
// begins to move the bucket. The lookup meets a mark, and does not use the key's cell in
// the next table as long as that is not the key's.
func TestLookupMeetsMark(t *testing.T) {
	const key = 100
	x := newTestIndex(oneHash)
	want := map[int]*chain.Node{}
	for key := range BucketCells + 1 {
		insertInto(x, want, key)
	}
	removeFrom(x, want, 1) // the second cell is free
	stage := stage.New(t)
	var p Place
	var found *chain.Node
	f := stage.Actor("lookup", func() { p, found = findIn(x, hashIn(x, key), key) })
	f.To(hooks.TagsLoaded)
	insertInto(x, want, key)
	now := x.table.Load()
	m := stage.Actor("mover", func() {
		x.resize(now, 4)
		x.moveBucket(now, 0, true)
	}).To(hooks.CellFilled) // the first
	m.To(hooks.CellFilled) // the first is marked, the second is there twice
	f.Finish()
	require.Same(t, want[key], found)
	overwrite := func(p Place, was *chain.Node) {
		t.Helper()
		want[key] = chain.New(key, 0)
		require.True(t, p.Swap(was, want[key]))
	}
	overwrite(p, found)
	_, found = findIn(x, hashIn(x, key), key)
	require.Same(t, want[key], found, "what was written is not found")
	overwrite(p, found)
	m.Finish()
	requireIndex(t, want, x)
}

// The locks of a table are passed that takes the place of another one meanwhile.
func TestPassLocksOfTheNextTable(t *testing.T) {
	x := newTestIndex(nil)
	old, next := newHashTable(2), newHashTable(4)
	x.table.Store(old)
	old.next.Store(next)
	mover, inserter := &old.buckets[1], &next.buckets[2]
	require.True(t, mover.lock() && inserter.lock())
	var passed atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.PassLocks()
		passed.Store(true)
	}()
	stage.Waits(t, done, "(*Bucket).lock(")
	x.table.Store(next)
	old.next.Store(nil)
	mover.meta.Or(bucketMoved)
	mover.unlock()
	stage.Waits(t, done, "(*Bucket).lock(")
	require.False(t, passed.Load())
	inserter.unlock()
	<-done
}
