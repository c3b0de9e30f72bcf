package tree

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Keys that come at one end and go at the other leave nothing behind.
func TestQueue(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 15_000
	}
	for name, number := range map[string]func(i int) int{
		"up":   func(i int) int { return i },
		"down": func(i int) int { return n - 1 - i },
	} {
		t.Run(name, func(t *testing.T) {
			const long = 1000
			w := newWorld(someInts)
			queue := make([]*Head, n)
			for k := range queue {
				i := number(k)
				queue[i] = w.item(i, 0).head()
				w.tr.Insert(queue[i], Gate{})
				if k >= long {
					i = number(k - long)
					require.True(t, w.remove(Place{}, queue[i]))
					queue[i] = nil
				}
			}
			require.Less(t, w.tr.leaves.Load(), int64(long/10))
			require.Less(t, w.tr.inners.Load(), int64(6))
			w.empty(t, queue)
		})
		t.Run(name+" by several", func(t *testing.T) {
			moreProcs(t)
			const long, several = 50, 4
			w := newWorld(someInts)
			queue := make([]*Head, n)
			var all sync.WaitGroup
			for g := range several {
				all.Go(func() {
					for k := g; k < n; k += several {
						i := number(k)
						queue[i] = w.item(i, 0).head()
						w.tr.Insert(queue[i], Gate{})
						if k >= several*long {
							i = number(k - several*long)
							w.remove(Place{}, queue[i])
							queue[i] = nil
						}
					}
				})
			}
			finish(t, all.Wait)
			t.Logf("%+v", w.checkAll(t, queue))
			w.empty(t, queue)
		})
	}
}

// Nothing is inserted with a gate that was shut before PassLocks was called, once that has
// returned.
func TestGate(t *testing.T) {
	moreProcs(t)
	for _, n := range []int{24, 400} {
		w := newWorld(someInts)
		var gate unsafe.Pointer
		atomic.StorePointer(&gate, unsafe.Pointer(new(int)))
		var stop atomic.Bool
		var all sync.WaitGroup
		for id := range 3 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(id), 0))
				for !stop.Load() {
					saw := atomic.LoadPointer(&gate)
					i := r.IntN(n)*3 + id
					if _, h := w.find(i); h != nil {
						w.remove(Place{}, h)
						continue
					}
					w.tr.Insert(w.item(i, *(*int)(saw)).head(), Gate{&gate, saw})
				}
			})
		}
		met := func(version int) map[*Head]bool {
			met := map[*Head]bool{}
			c := scanner{Cursor: w.tr.Scan(Span{}, false)}
			for h := c.next(); h != nil; h = c.next() {
				if int(itemOf[int](h).state) < version {
					met[h] = true
				}
			}
			return met
		}
		begun := time.Now()
		for version := 1; time.Since(begun) < stressTime()/2; version++ {
			now := version
			atomic.StorePointer(&gate, unsafe.Pointer(&now))
			w.tr.PassLocks()
			before := met(version)
			time.Sleep(50 * time.Microsecond)
			for h := range met(version) {
				require.True(t, before[h], "an insert has passed a gate that is shut")
			}
		}
		stop.Store(true)
		finish(t, all.Wait)
	}
}

// What is not there has no place, though another key that looks the same had one.
func TestNothingHasNoPlace(t *testing.T) {
	for name, find := range map[string]func(t *testing.T) (Place, *Head){
		"ints":    func(t *testing.T) (Place, *Head) { return findNothing(t, someInts) },
		"text":    func(t *testing.T) (Place, *Head) { return findNothing(t, someText) },
		"ragged":  func(t *testing.T) (Place, *Head) { return findNothing(t, raggedText) },
		"compare": func(t *testing.T) (Place, *Head) { return findNothing(t, someByCompare) },
		"pairs":   func(t *testing.T) (Place, *Head) { return findNothing(t, somePairs) },
	} {
		t.Run(name, func(t *testing.T) {
			at, h := find(t)
			require.Nil(t, h)
			require.Zero(t, at)
		})
	}
}

func findNothing[K comparable](t *testing.T, k keys[K]) (Place, *Head) {
	w := newWorld(k)
	at, inserted := w.tr.Insert(w.item(1, 0).head(), Gate{})
	require.True(t, inserted)
	removed, _ := w.tr.Remove(at, at.Cell().Load())
	require.True(t, removed)
	return w.find(2)
}
