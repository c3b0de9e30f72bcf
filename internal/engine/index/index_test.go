package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// The index by itself: it keeps versions, and does not look at their states.

// hashIn returns the hash of key in x.
func hashIn[K comparable](x *Index, key K) uint64 { return x.Hash.Sum(unsafe.Pointer(&key)) }

// addressOf returns where a copy of key is.
func addressOf[K any](key K) unsafe.Pointer { return unsafe.Pointer(&key) }

// findIn is index.find of key.
func findIn[K comparable](x *Index, h uint64, key K) (Place, *chain.Node) {
	return x.Find(h, unsafe.Pointer(&key))
}

// askedIn is index.asked with a bool for each cell.
func askedIn(x *Index, b *Bucket) (visits [MaxVisits]bool, heads [MaxVisits]*chain.Node) {
	asked := x.Asked(b, &heads)
	for i := range visits {
		visits[i] = asked&(1<<i) != 0
	}
	return visits, heads
}

// newTestIndex returns an index of two buckets whose keys have the hashes that spread
// says, or those of any index.
func newTestIndex(spread func(key int) uint64) *Index {
	x := For[int, int](0)
	x.min, x.small = 2, 0 // a resize takes its time
	x.table.Store(newHashTable(2))
	if spread != nil {
		x.Hash = hasher.Given(spread)
	}
	return x
}

// put makes v the head of key, whatever was, and returns that.
func (x *Index) put(v *chain.Node) *chain.Node {
	h := hashIn(x, chain.KeyOf[int](v))
	for {
		if p, was := findIn(x, h, chain.KeyOf[int](v)); was != nil {
			if p.Swap(was, v) {
				return was
			}
		} else if _, ok := x.Insert(h, v, Gate{}); ok {
			return nil
		}
	}
}

// Ways to hash: as any map does, few different hashes, and all the same.
var spreads = map[string]func(key int) uint64{
	"any":   nil,
	"few":   func(key int) uint64 { return uint64(key%5) << 61 },
	"tags":  func(key int) uint64 { return uint64(key) * 0x9e3779b97f4a7c15 &^ 0x7f },
	"alike": func(int) uint64 { return 1 << 60 },
}

// The work of one goroutine on an index, resizes step by step among it, has the same
// result as in a Go map.
func TestIndexModel(t *testing.T) {
	for name, spread := range spreads {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { modelIndex(rt, newTestIndex(spread)) })
		})
	}
}

func modelIndex(t *rapid.T, x *Index) {
	model := map[int]*chain.Node{}
	asked := map[int]bool{}
	queue := map[*Bucket]bool{}
	x.Visit = func(b *Bucket) {
		require.False(t, queue[b], "a bucket is handed over twice")
		queue[b] = true
	}
	keys := rapid.IntRange(0, 80)
	remembered := map[int]Place{}
	t.Repeat(map[string]func(*rapid.T){
		"put": func(t *rapid.T) {
			v := chain.New(keys.Draw(t, "key"), 0)
			require.Same(t, model[chain.KeyOf[int](v)], x.put(v))
			model[chain.KeyOf[int](v)] = v
		},
		"insert": func(t *rapid.T) {
			v := chain.New(keys.Draw(t, "key"), 0)
			p, ok := x.Insert(hashIn(x, chain.KeyOf[int](v)), v, Gate{})
			require.Equal(t, model[chain.KeyOf[int](v)] == nil, ok)
			if ok {
				model[chain.KeyOf[int](v)] = v
			}
			if now := p.Load(); now != x.Moved { // by the insert itself
				require.Same(t, model[chain.KeyOf[int](v)], now)
			}
			remembered[chain.KeyOf[int](v)] = p
		},
		"remove": func(t *rapid.T) {
			key := keys.Draw(t, "key")
			v := model[key]
			if v == nil {
				v = chain.New(key, 0)
			}
			require.Equal(t, model[key] != nil, x.Remove(Place{}, v))
			delete(model, key)
			delete(asked, key)
		},
		"ask": func(t *rapid.T) {
			key := keys.Draw(t, "key")
			p, v := x.Again(remembered[key], hashIn(x, key), addressOf(key))
			require.Same(t, model[key], v)
			if v != nil {
				x.Ask(p, hashIn(x, key), addressOf(key))
				asked[key] = true
			}
		},
		"visit": func(t *rapid.T) {
			for b := range queue {
				delete(queue, b)
				visits, heads := askedIn(x, b)
				for i, v := range heads {
					if visits[i] && x.IsHead(v) {
						delete(asked, chain.KeyOf[int](v))
					}
				}
			}
		},
		"resize": func(t *rapid.T) {
			now := x.table.Load()
			n := len(now.buckets) * 2
			if rapid.Bool().Draw(t, "shrink") {
				n = max(n/4, 2)
			}
			if n <= 64 {
				x.resize(now, n)
			}
		},
		"move": func(t *rapid.T) {
			if now := x.table.Load(); now.next.Load() != nil {
				x.moveBucket(now, rapid.IntRange(0, len(now.buckets)-1).Draw(t, "bucket"), true)
			}
		},
		"tend": func(*rapid.T) { x.Tend() },
		"": func(t *rapid.T) {
			met := map[int]*chain.Node{}
			x.Scan(func(p Place, v *chain.Node) bool {
				require.Nil(t, met[chain.KeyOf[int](v)], "key %d is met twice", chain.KeyOf[int](v))
				met[chain.KeyOf[int](v)] = v
				require.Same(t, v, p.Load())
				return true
			})
			require.True(t, maps.Equal(model, met), "want %v, scanned %v", model, met)
			for key := range 81 {
				_, v := findIn(x, hashIn(x, key), key)
				require.Same(t, model[key], v)
				at := addressOf(key)
				if v = x.Likely(x.Ahead(at), at); v != nil && chain.KeyOf[int](v) == key {
					require.Same(t, model[key], v)
				}
			}
			require.EqualValues(t, len(model), x.entries.Value())
		},
	})
	for range 8 { // each may move on to the next table
		for b := range queue {
			delete(queue, b)
			visits, heads := askedIn(x, b)
			for i, v := range heads {
				if visits[i] && x.IsHead(v) {
					delete(asked, chain.KeyOf[int](v))
				}
			}
		}
	}
	require.Empty(t, asked, "a visit that was asked for is forgotten")
}

// Many goroutines overwrite, insert and remove, each its own keys and all of them some
// shared ones, while the table grows and shrinks all the time, and others scan it and
// make the visits that were asked for.
func TestIndexUnderLoad(t *testing.T) {
	for name, spread := range spreads {
		if name == "alike" {
			continue // it takes very long
		}
		t.Run(name, func(t *testing.T) { loadIndex(t, newTestIndex(spread), stage.Sizes(200, 20)) })
	}
}

func loadIndex(t *testing.T, x *Index, rounds int) {
	const (
		writers = 4
		shared  = 10  // keys 0 to 9 count how often they were overwritten
		own     = 100 // of each goroutine
	)
	visits := visitAtRandom(x, shared+writers*own)
	for key := range shared {
		x.put(chain.New(key, 0))
	}
	c, others := stage.NewWorkers(t), stage.NewWorkers(t)
	c.Run(writers, func(w int) error {
		mine := map[int]*chain.Node{}
		for round := range rounds {
			for i := range own {
				key := shared + w*own + i
				h := hashIn(x, key)
				p, v := findIn(x, h, key)
				if v != mine[key] {
					return fmt.Errorf("round %d: key %d: found %p, want %p", round, key, v, mine[key])
				}
				next := chain.New(key, round)
				switch op := rand.IntN(4); {
				case v == nil:
					if _, ok := x.Insert(h, next, Gate{}); !ok {
						return fmt.Errorf("key %d is there already", key)
					}
					mine[key] = next
				case op == 0:
					if !x.Remove(Place{}, v) {
						return fmt.Errorf("key %d is not removed", key)
					}
					delete(mine, key)
				case op == 1:
					visits.asked[key].Add(1)
					x.Ask(p, h, addressOf(key))
				default:
					if was := x.put(next); was != v {
						return fmt.Errorf("key %d: overwritten %p, want %p", key, was, v)
					}
					mine[key] = next
				}
				for key := rand.IntN(shared); ; {
					p, v := findIn(x, hashIn(x, key), key)
					if v == nil {
						return fmt.Errorf("shared key %d is not found", key)
					}
					if p.Swap(v, chain.New(key, chain.ValueOf[int, int](v)+1)) {
						break
					}
				}
			}
		}
		for _, v := range mine {
			if !x.Remove(Place{}, v) {
				return fmt.Errorf("key %d is not removed in the end", chain.KeyOf[int](v))
			}
		}
		return nil
	})
	others.Loop(1, func(int, int) error { // no bucket too many, and soon again
		now := x.table.Load()
		if now.next.Load() == nil {
			n := len(now.buckets) * 2
			if n > 64 || rand.IntN(2) == 0 {
				n = max(n/4, 2)
			}
			x.resize(now, n)
		} else if rand.IntN(4) == 0 {
			x.moveSome(now)
		} else {
			x.moveBucket(now, rand.IntN(len(now.buckets)), true)
		}
		return nil
	})
	others.Loop(1, func(int, int) error {
		met := [shared]int{}
		x.Scan(func(_ Place, v *chain.Node) bool {
			if chain.KeyOf[int](v) < shared {
				met[chain.KeyOf[int](v)]++
			}
			return true
		})
		for key, n := range met {
			if n != 1 {
				return fmt.Errorf("key %d is met %d times", key, n)
			}
		}
		return nil
	})
	others.Loop(1, func(int, int) error { visits.visitOne(x); return nil })
	c.Wait(t)
	others.Finish(t)
	for visits.visitOne(x) {
	}
	sum := 0
	for key := range shared {
		_, v := findIn(x, hashIn(x, key), key)
		require.NotNil(t, v)
		sum += chain.ValueOf[int, int](v)
	}
	require.Equal(t, writers*rounds*own, sum, "overwrites are lost")
	require.EqualValues(t, shared, x.entries.Value())
	n := 0
	x.Scan(func(Place, *chain.Node) bool { n++; return true })
	require.Equal(t, shared, n)
}
