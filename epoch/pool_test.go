package epoch_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

// An object is one of the pool of the tests. owned tells whether somebody has it.
type object struct {
	owned atomic.Bool
	id    int
	_     [64]byte
}

func (o *object) takeOwned(t testing.TB) {
	if !o.owned.CompareAndSwap(false, true) {
		t.Errorf("object %d has two owners", o.id)
	}
}

func (o *object) leave() { o.owned.Store(false) }

// drain gets objects until none are left anywhere.
func drain(p *epoch.Pool[object], f func(*object)) {
	for misses := 0; p.Idle() > 0; {
		if o := p.Get(); o != nil {
			f(o)
			continue
		}
		// Another shard has the rest. A goroutine comes to it on another P, or
		// without pinning when the garbage collector has made it forget
		// which shard it used.
		if misses++; misses%32 == 0 {
			runtime.GC()
			runtime.GC()
		}
		runtime.Gosched()
	}
}

// churn has goroutines take and give back a few objects each, passing some of
// them to others, and returns how many objects it made.
func churn(t *testing.T, p *epoch.Pool[object], goroutines, rounds int, seed uint64) (made int64) {
	var n atomic.Int64
	pass := make(chan *object, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(g)))
			var held []*object
			put := func(o *object) {
				o.leave()
				p.Put(o)
			}
			for range rounds {
				for range r.IntN(2 * epoch.PoolLocal) {
					o := p.Get()
					if o == nil {
						o = &object{id: int(n.Add(1))}
					}
					o.takeOwned(t)
					held = append(held, o)
				}
				if r.IntN(8) == 0 {
					runtime.Gosched()
				}
				for _, o := range held {
					if r.IntN(4) > 0 {
						put(o)
						continue
					}
					select {
					case pass <- o: // taken here, given back there
					default:
						put(o)
					}
				}
				held = held[:0]
				select {
				case o := <-pass:
					put(o)
				default:
				}
			}
		})
	}
	wg.Wait()
	close(pass)
	for o := range pass {
		o.leave()
		p.Put(o)
	}
	return n.Load()
}

// Taking and giving back in any order neither loses nor doubles an object, also where GOMAXPROCS
// changes between and during the use of one pool.
func TestPoolProcsChange(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	var p epoch.Pool[object]
	var made int64
	cpus := runtime.NumCPU()
	for i, procs := range []int{1, 2, cpus + 6, 3, 2*cpus + 16} {
		runtime.GOMAXPROCS(procs)
		made += churn(t, &p, 4*procs, 40, uint64(i))
		require.Equal(t, made, int64(p.Idle()), "at %d", procs)
	}

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				runtime.GOMAXPROCS(1 + i%(3*cpus+32))
			}
		}
	})
	made += churn(t, &p, 16, 50, 9)
	close(stop)
	wg.Wait()
	require.Equal(t, made, int64(p.Idle()))
}

// Trim lets go, bit by bit, of the objects that nobody has needed since it was called last.
func TestTrim(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var p epoch.Pool[object]
	released := 0
	trim := func() bool {
		return p.Trim(func(o *object) {
			o.takeOwned(t)
			released++
		})
	}
	require.False(t, trim(), "there is nothing")
	const n = 10_000
	for i := range n {
		p.Put(&object{id: i})
	}
	trim() // begins to look
	require.True(t, trim())
	half := p.Idle()
	require.InDelta(t, n/2, half, 300)
	require.Equal(t, n, half+released, "each is released once")

	// Objects needed meanwhile are kept: all of them were in use.
	var busy []*object
	for o := p.Get(); o != nil; o = p.Get() {
		busy = append(busy, o)
	}
	for _, o := range busy {
		p.Put(o)
	}
	trim()
	require.Equal(t, half, p.Idle())

	rounds := 0
	for trim() {
		rounds++
	}
	require.Less(t, rounds, 15)
	const keep = 64
	require.LessOrEqual(t, p.Idle(), keep+4*epoch.PoolLocal)
	require.GreaterOrEqual(t, p.Idle(), keep)
	require.Equal(t, n, p.Idle()+released)
	got := map[int]bool{}
	drain(&p, func(o *object) {
		o.takeOwned(t)
		require.False(t, got[o.id])
		got[o.id] = true
	})
}
