package tree

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// An item is a head with a key.
type item[K comparable] struct {
	state uint64
	key   K
	value int
}

func (i *item[K]) head() *Head { return (*Head)(unsafe.Pointer(i)) }

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
		Moved: new(item[K]).head(),
		Visit: func(*Leaf) {},
		Name:  func(key unsafe.Pointer) any { return *(*K)(key) },
	})
}

func natural[K cmp.Ordered]() Order { return NaturalOrder(reflect.TypeFor[K]()) }

func by[K any](compare func(a, b K) int) Order {
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

// model runs random operations on a tree, and on a sorted slice of what should be in it.
func model[K comparable](t *testing.T, o Order, key func(r *rand.Rand) K, compare func(a, b K) int) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		tr := newTree[K](o)
		var is []*item[K]
		find := func(k K) (int, bool) {
			return slices.BinarySearchFunc(is, k, func(i *item[K], k K) int { return compare(i.key, k) })
		}
		steps := 20_000
		if testing.Short() {
			steps = 5_000
		}
		for step := range steps {
			k := key(r)
			i, there := find(k)
			at, h := tr.Find(unsafe.Pointer(&k))
			require.Equal(t, there, h != nil, "find %v", k)
			if there {
				require.Same(t, is[i], itemOf[K](h))
				require.Same(t, h, at.Cell().Load())
			}
			grow := step/2000%2 == 0
			switch n := r.IntN(10); {
			case n < 6 && grow || n < 2:
				x := &item[K]{key: k, value: step}
				at, inserted := tr.Insert(x.head(), Gate{})
				require.Equal(t, !there, inserted)
				if inserted {
					is = slices.Insert(is, i, x)
				}
				require.Equal(t, at.Cell().Load(), is[i].head())
			case n < 6 && there:
				if r.IntN(2) == 0 {
					at = Place{}
				}
				removed, tidy := tr.Remove(at, h)
				require.True(t, removed)
				if tidy {
					tr.Tidy(unsafe.Pointer(&k))
				}
				is = slices.Delete(is, i, i+1)
			case n < 8 && there:
				x := &item[K]{key: k, value: step}
				require.True(t, at.Cell().CompareAndSwap(h, x.head()))
				is[i] = x
			case n == 9 && step%50 == 0:
				a, b := key(r), key(r)
				checkSpan(t, tr, is, compare, &a, &b, r.IntN(2) == 0, r.IntN(2) == 0)
				checkSpan(t, tr, is, compare, nil, &b, r.IntN(2) == 0, r.IntN(2) == 0)
				checkSpan(t, tr, is, compare, &a, nil, r.IntN(2) == 0, r.IntN(2) == 0)
				checkSpan(t, tr, is, compare, nil, nil, false, false)
			}
		}
		for len(is) > 0 {
			i := r.IntN(len(is))
			removed, tidy := tr.Remove(Place{}, is[i].head())
			require.True(t, removed)
			if tidy {
				tr.Tidy(unsafe.Pointer(&is[i].key))
			}
			is = slices.Delete(is, i, i+1)
		}
		checkSpan(t, tr, is, compare, nil, nil, false, false)
		require.LessOrEqual(t, tr.leaves.Load(), int64(4))
	}
}

// checkSpan compares what a cursor meets with what is there.
func checkSpan[K comparable](t *testing.T, tr *Tree, is []*item[K], compare func(a, b K) int,
	low, high *K, lowEx, highEx bool) {
	s := Span{Low: unsafe.Pointer(low), High: unsafe.Pointer(high), LowExclusive: lowEx, HighExclusive: highEx}
	var want []*item[K]
	for _, i := range is {
		if tr.Side(&s, unsafe.Pointer(&i.key)) == 0 {
			want = append(want, i)
		}
	}
	for _, down := range []bool{false, true} {
		var met []*item[K]
		c := tr.Scan(s, down)
		for c.Next() {
			for h, at := c.Head(); h != nil; h, at = c.Head() {
				require.Same(t, h, at.Cell().Load())
				met = append(met, itemOf[K](h))
			}
		}
		require.Equal(t, len(want), len(met), "down %v", down)
		for i := range want {
			require.Same(t, want[i], met[i])
		}
		slices.Reverse(want)
	}
}

func TestModel(t *testing.T) {
	t.Run("int", func(t *testing.T) {
		model(t, natural[int](), func(r *rand.Rand) int { return r.IntN(3000) - 1000 }, cmp.Compare[int])
	})
	t.Run("extreme ints", func(t *testing.T) {
		model(t, natural[int64](), func(r *rand.Rand) int64 {
			return [...]int64{-1 << 63, 1<<63 - 1, 0}[r.IntN(3)] + int64(r.IntN(800))
		}, cmp.Compare[int64])
	})
	t.Run("uint8", func(t *testing.T) {
		model(t, natural[uint8](), func(r *rand.Rand) uint8 { return uint8(r.IntN(256)) }, cmp.Compare[uint8])
	})
	t.Run("float", func(t *testing.T) {
		model(t, natural[float64](), func(r *rand.Rand) float64 {
			return float64(r.IntN(1000)-500) / 8
		}, cmp.Compare[float64])
	})
	text := func(r *rand.Rand) string { return fmt.Sprintf("%0*d", r.IntN(12), r.IntN(1000)) }
	t.Run("string", func(t *testing.T) { model(t, natural[string](), text, cmp.Compare[string]) })
	t.Run("prefix", func(t *testing.T) {
		model(t, natural[string](), func(r *rand.Rand) string { return "a key of many characters " + text(r) },
			cmp.Compare[string])
	})
	t.Run("zeros", func(t *testing.T) {
		model(t, natural[string](), func(r *rand.Rand) string {
			return string(make([]byte, r.IntN(60)))
		}, cmp.Compare[string])
	})
	down := func(a, b int) int { return cmp.Compare(b, a) }
	t.Run("function", func(t *testing.T) {
		model(t, by(down), func(r *rand.Rand) int { return r.IntN(2000) }, down)
	})
	t.Run("pairs", func(t *testing.T) {
		model(t, pairs(), func(r *rand.Rand) pair {
			return pair{uint64(r.IntN(100)) << r.IntN(50), uint64(r.IntN(50))}
		}, func(a, b pair) int { return cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b)) })
	})
}

// Keys that come in order fill leaves.
func TestAscending(t *testing.T) {
	tr := newTree[int](natural[int]())
	for k := range 100_000 {
		_, inserted := tr.Insert((&item[int]{key: k}).head(), Gate{})
		require.True(t, inserted)
	}
	require.Less(t, tr.leaves.Load(), int64(100_000/25))
	checkLen(t, tr, 100_000)
}

func checkLen(t *testing.T, tr *Tree, n int) {
	c, met := tr.Scan(Span{}, false), 0
	for c.Next() {
		for h, _ := c.Head(); h != nil; h, _ = c.Head() {
			met++
		}
	}
	require.Equal(t, n, met)
}
