package tree

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// An item is a head with a key.
type item[K comparable] struct {
	state uint64
	key   K
	value int
}

func (i *item[K]) asHead() *Head { return (*Head)(unsafe.Pointer(i)) }

func itemOf[K comparable](h *Head) *item[K] { return (*item[K])(unsafe.Pointer(h)) }

// newTree returns a tree of items, in the order of Go's operators, or by compare if that is not
// nil.
func newTree[K comparable](o Order) *Tree {
	return New(Config{
		Order: o,
		KeyAt: unsafe.Offsetof(item[K]{}.key),
		Equal: func(a, b unsafe.Pointer) bool { return *(*K)(a) == *(*K)(b) },
		Own: func(key unsafe.Pointer) unsafe.Pointer {
			own := *(*K)(key)
			return unsafe.Pointer(&own)
		},
		Moved: new(item[K]).asHead(),
		Visit: func(*Leaf) {},
		Name:  func(key unsafe.Pointer) any { return *(*K)(key) },
	})
}

func natural[K cmp.Ordered]() Order { return NaturalOrder(reflect.TypeFor[K]()) }

func orderBy[K any](compare func(a, b K) int) Order {
	return OrderBy(func(a, b unsafe.Pointer) int { return compare(*(*K)(a), *(*K)(b)) })
}

// A pair is a key of two parts with 128 bits.
type pair struct{ a, b uint64 }

func pairs() Order {
	bits := func(p pair, skip uint32) uint64 {
		if skip >= 64 {
			return p.b << (skip - 64)
		}
		return p.a<<skip | p.b>>(64-skip)
	}
	return OrderOfBits(func(a, b unsafe.Pointer) int {
		x, y := (*pair)(a), (*pair)(b)
		return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	}, func(key unsafe.Pointer, skip uint32) uint64 { return bits(*(*pair)(key), skip) },
		func(a, b unsafe.Pointer) (n uint32) {
			for n < 128 && bits(*(*pair)(a), n)>>63 == bits(*(*pair)(b), n)>>63 {
				n++
			}
			return n
		})
}

// model runs random operations on a tree of some of n keys, and on a list of its expected contents.
func model[K comparable](t *testing.T, keys keys[K], n int) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(keys)
		want := make([]*Head, n)
		span := func() (of Span) {
			low, high := w.key(r.IntN(n)), w.key(r.IntN(n))
			if r.IntN(3) > 0 {
				of.Low, of.LowExclusive = unsafe.Pointer(&low), r.IntN(2) == 0
			}
			if r.IntN(3) > 0 {
				of.High, of.HighExclusive = unsafe.Pointer(&high), r.IntN(2) == 0
			}
			return of
		}
		for step := range stage.Sizes(20_000, 5_000) {
			i := r.IntN(n)
			at, h := w.find(i)
			require.Same(t, want[i], h, "find %v", w.key(i))
			require.True(t, h == nil || h == at.Cell().Load())
			grow := step/2000%2 == 0
			switch op := r.IntN(10); {
			case op < 6 && grow || op < 2:
				x := w.newItem(i, step).asHead()
				at, inserted := w.tr.Insert(x, Gate{})
				if require.Equal(t, h == nil, inserted); inserted {
					want[i] = x
				}
				require.Same(t, want[i], at.Cell().Load())
			case op < 6 && h != nil:
				require.True(t, w.remove([]Place{at, {}}[r.IntN(2)], h))
				want[i] = nil
			case op < 8 && h != nil:
				want[i] = w.newItem(i, step).asHead()
				require.True(t, at.Cell().CompareAndSwap(h, want[i]))
			case op == 9 && step%50 == 0:
				for range 4 {
					w.checkSpan(t, want, span())
				}
			}
		}
		w.checkAll(t, want)
		w.empty(t, want)
	}
}

// checkSpan compares the entries that a cursor meets with those of the list.
func (w *world[K]) checkSpan(t *testing.T, want []*Head, of Span) {
	var all []*Head
	for i, h := range want {
		if key := w.key(i); h != nil && w.tr.Side(&of, unsafe.Pointer(&key)) == 0 {
			all = append(all, h)
		}
	}
	for _, down := range []bool{false, true} {
		var met []*Head
		c := w.tr.Scan(of, down)
		for c.Next() {
			for h, at := c.Head(); h != nil; h, at = c.Head() {
				require.Same(t, h, at.Cell().Load())
				met = append(met, h)
			}
		}
		require.True(t, slices.Equal(all, met), "down %v", down)
		slices.Reverse(all)
	}
}

func TestModel(t *testing.T) {
	t.Run("int", func(t *testing.T) { model(t, someInts, 3000) })
	t.Run("edges", func(t *testing.T) { model(t, edgeInts(1600), 1600) })
	t.Run("extreme ints", func(t *testing.T) {
		model(t, keys[int64]{natural[int64], func(i int) int64 {
			return [...]int64{-1 << 63, 0, 1<<63 - 800}[i/800] + int64(i%800)
		}}, 2400)
	})
	t.Run("uint8", func(t *testing.T) {
		model(t, keys[uint8]{natural[uint8], func(i int) uint8 { return uint8(i) }}, 256)
	})
	t.Run("float", func(t *testing.T) {
		model(t, keys[float64]{natural[float64], func(i int) float64 { return float64(i-500) / 8 }}, 1000)
	})
	t.Run("text", func(t *testing.T) { model(t, someText, 1000) })
	t.Run("ragged", func(t *testing.T) { model(t, raggedText, 2000) })
	t.Run("zeros", func(t *testing.T) {
		model(t, keys[string]{natural[string], func(i int) string { return string(make([]byte, i)) }}, 60)
	})
	t.Run("compare", func(t *testing.T) { model(t, someByCompare, 2000) })
	t.Run("pairs", func(t *testing.T) { model(t, somePairs, 2000) })
}

// Keys that come in order fill leaves.
func TestAscending(t *testing.T) {
	w := newWorld(someInts)
	want := make([]*Head, 100_000)
	for k := range want {
		want[k] = w.newItem(k, 0).asHead()
		w.tr.Insert(want[k], Gate{})
	}
	require.Less(t, w.tr.leaves.Load(), int64(len(want)/25))
	w.checkKeys(t, want)
}
