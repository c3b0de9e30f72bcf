package index

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// A visitor visits, in any order, the buckets of an index in which somebody asked for it.
type visitor struct {
	mu          sync.Mutex
	queue       []*Bucket
	asked, seen []atomic.Int64 // by key: how often, and how often of these it was visited since
}

func visitAtRandom(x *Index, keys int) *visitor {
	v := &visitor{asked: make([]atomic.Int64, keys), seen: make([]atomic.Int64, keys)}
	x.Visit = func(b *Bucket) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.queue = append(v.queue, b)
	}
	return v
}

// visitOne visits a bucket, if there is one.
func (v *visitor) visitOne(x *Index) bool {
	v.mu.Lock()
	if len(v.queue) == 0 {
		v.mu.Unlock()
		return false
	}
	i := rand.IntN(len(v.queue))
	b := v.queue[i]
	v.queue = slices.Delete(v.queue, i, i+1)
	v.mu.Unlock()
	visits, heads := askedIn(x, b)
	for i, head := range heads {
		if visits[i] && x.IsHead(head) {
			v.seen[chain.KeyOf[int](head)].Store(v.asked[chain.KeyOf[int](head)].Load())
		}
	}
	return true
}

// A visit is not forgotten, whatever moves meanwhile: keys stay, and are asked for.
func TestVisitsAreNotForgotten(t *testing.T) {
	const n = 50
	x := newTestIndex(nil)
	visits := visitAtRandom(x, n)
	for key := range n {
		x.put(chain.New(key, 0))
	}
	askers, others := stage.NewWorkers(t), stage.NewWorkers(t)
	askers.Run(2, func(w int) error {
		for range stage.Sizes(200_000, 20_000) {
			key := w*n/2 + rand.IntN(n/2)
			visits.asked[key].Add(1)
			h := hashIn(x, key)
			p, _ := findIn(x, h, key)
			x.Ask(p, h, addressOf(key))
		}
		return nil
	})
	others.Loop(1, func(int, int) error {
		now := x.table.Load()
		if now.next.Load() == nil {
			x.resize(now, []int{2, 4, 8, 16}[rand.IntN(4)])
		}
		x.moveSome(now)
		return nil
	})
	others.Loop(1, func(int, int) error { visits.visitOne(x); return nil })
	askers.Wait(t)
	others.Finish(t)
	for visits.visitOne(x) {
	}
	for key := range n {
		require.Equal(t, visits.asked[key].Load(), visits.seen[key].Load(), "key %d", key)
	}
}
