package tree

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A stress is goroutines that work on a tree with n keys. Key i belongs to, by i%4: 0 nobody, it is
// there throughout; 1 to 3 a writer. But if i%16 is 5 all writers share it.
type stress[K comparable] struct {
	*world[K]
	t      *testing.T
	n      int
	stop   atomic.Bool
	heads  []atomic.Pointer[Head] // the present head, by its only writer
	floor  []atomic.Uint64        // the version of a key of nobody, once it is written
	visits []atomic.Uint64        // how often a key was visited
	adds   atomic.Int64           // to keys that are shared
	taken  atomic.Int64           // the sum of those that were removed
}

func (s *stress[K]) failOnce(format string, args ...any) {
	s.t.Errorf(format, args...)
	s.stop.Store(true)
}

func isShared(i int) bool { return i%16 == 5 }

// place has the memory of a goroutine of a key.
type places struct{ old, last Place }

// somePlace returns one of them, or nowhere.
func (p *places) somePlace(r *rand.Rand) Place {
	return [...]Place{p.old, p.last, p.last, {}}[r.IntN(4)]
}

func (p *places) notePlace(at Place, r *rand.Rand) {
	if p.last = at; p.old.Leaf == nil || r.IntN(16) == 0 {
		p.old = at
	}
}

// write inserts, overwrites and removes keys of writer id, and looks whether they are as it has
// left them.
func (s *stress[K]) write(id int, r *rand.Rand) {
	known := make([]places, s.n)
	for step := 1; !s.stop.Load(); step++ {
		i := 4*r.IntN(s.n/4) + id
		if isShared(i) {
			s.share(i, r)
			continue
		}
		h := s.heads[i].Load()
		at, found := s.find(i)
		if found != h {
			s.failOnce("key %d of writer %d: it finds %v, not %v", i, id, found, h)
			return
		}
		grow := step>>9&1 == 0
		switch n := r.IntN(8); {
		case h == nil && (grow || n == 0):
			x := s.newItem(i, step).asHead()
			at, inserted := s.tr.Insert(x, Gate{})
			if !inserted {
				s.failOnce("key %d is there, and should not be", i)
				return
			}
			s.heads[i].Store(x)
			known[i] = places{at, at}
		case h == nil:
		case n < 3:
			x := s.newItem(i, step).asHead()
			if at = s.overwrite(known[i].somePlace(r), h, x); at.Leaf == nil {
				s.failOnce("key %d cannot be overwritten", i)
				return
			}
			s.heads[i].Store(x)
			known[i].notePlace(at, r)
		case n == 3:
			again, inserted := s.tr.Insert(s.newItem(i, step).asHead(), Gate{})
			if inserted {
				s.failOnce("key %d was inserted twice", i)
				return
			}
			if now := again.Cell().Load(); now != h && now != s.tr.Moved {
				s.failOnce("key %d is not at its place", i)
				return
			}
			known[i].notePlace(at, r)
		case !grow || n == 4:
			if !s.remove(known[i].somePlace(r), h) {
				s.failOnce("key %d cannot be removed", i)
				return
			}
			s.heads[i].Store(nil)
			if s.remove(known[i].somePlace(r), h) {
				s.failOnce("key %d was removed twice", i)
				return
			}
			known[i] = places{}
		}
	}
}

// share adds one to a key that others may add to, or remove.
func (s *stress[K]) share(i int, r *rand.Rand) {
	at, h := s.find(i)
	switch {
	case h == nil:
		s.tr.Insert(s.newItem(i, 0).asHead(), Gate{})
	case r.IntN(4) == 0:
		if s.remove([...]Place{{}, at}[r.IntN(2)], h) {
			s.taken.Add(int64(itemOf[K](h).state))
		}
	case at.Cell().CompareAndSwap(h, s.newItem(i, int(itemOf[K](h).state)+1).asHead()):
		s.adds.Add(1)
	}
}

// raise overwrites the keys of nobody.
func (s *stress[K]) raise(r *rand.Rand) {
	known := make([]places, s.n)
	for !s.stop.Load() {
		i := 4 * r.IntN(s.n/4)
		h := s.heads[i].Load()
		x := s.newItem(i, int(itemOf[K](h).state)+1)
		at := s.overwrite(known[i].somePlace(r), h, x.asHead())
		if at.Leaf == nil {
			s.failOnce("key %d, which is there throughout, cannot be overwritten", i)
			return
		}
		s.heads[i].Store(x.asHead())
		s.floor[i].Store(x.state)
		known[i].notePlace(at, r)
	}
}

// scan goes over all keys, or a span, up or down.
func (s *stress[K]) scan(down bool, r *rand.Rand) {
	for !s.stop.Load() {
		low, high := 0, s.n-1
		var of Span
		if a, b := s.key(r.IntN(s.n)), s.key(r.IntN(s.n)); r.IntN(2) == 0 {
			of = Span{Low: unsafe.Pointer(&a), High: unsafe.Pointer(&b)}
			of.LowExclusive, of.HighExclusive = r.IntN(2) == 0, r.IntN(2) == 0
			low, high = s.number(&of, 0, true), s.number(&of, s.n-1, false)
		}
		s.scanOnce(of, low, high, down)
	}
}

// number returns the number of the lowest key of a span, or of the highest.
func (s *stress[K]) number(of *Span, i int, lowest bool) int {
	for i >= 0 && i < s.n {
		key := s.key(i)
		switch side := s.tr.Side(of, unsafe.Pointer(&key)); {
		case lowest && side < 0:
			i++
		case !lowest && side > 0:
			i--
		default:
			return i
		}
	}
	return i
}

func (s *stress[K]) scanOnce(of Span, low, high int, down bool) {
	c := scanner{Cursor: s.tr.Scan(of, down)}
	step, at, end := 1, low, high // at is the least key that may come next
	if down {
		step, at, end = -1, high, low
	}
	next := at // of those that are there throughout
	for next%4 != 0 {
		next += step
	}
	for {
		floor := uint64(0)
		if next >= 0 && next < s.n {
			floor = s.floor[next].Load() // the head that comes is no older
		}
		h := c.next()
		if h == nil {
			break
		}
		x := itemOf[K](h)
		i := x.value
		switch {
		case h == s.tr.Moved || x.key != s.key(i):
			s.failOnce("no head of key %d", i)
		case (i-at)*step < 0 || (end-i)*step < 0:
			s.failOnce("down %v: key %d comes, not one from %d to %d", down, i, at, end)
		case (i-next)*step > 0:
			s.failOnce("down %v: key %d is missed, %d comes", down, next, i)
		case i == next && x.state < floor:
			s.failOnce("key %d: version %d is too old", i, x.state)
		}
		if s.stop.Load() {
			return
		}
		if at = i + step; i == next {
			next += 4 * step
		}
	}
	if (end-next)*step >= 0 {
		s.failOnce("down %v: key %d is missed at the end, which is %d", down, next, end)
	}
}

// askFor asks for visits of keys that are there throughout, and waits for them; and for others.
func (s *stress[K]) askFor(r *rand.Rand) {
	known := make([]places, s.n)
	for !s.stop.Load() {
		before := map[int]uint64{}
		for range 1 + r.IntN(16) {
			i := r.IntN(s.n)
			if i%4 != 0 {
				s.askVisit(i)
				continue
			}
			before[i] = s.visits[i].Load()
			at := known[i].somePlace(r)
			for at.Leaf == nil || !s.askAt(at) {
				at, _ = s.find(i)
			}
			known[i].notePlace(at, r)
		}
		begun := time.Now()
		for i, n := range before {
			for s.visits[i].Load() == n {
				if time.Since(begun) > patience/2 {
					s.failOnce("a visit of key %d is lost", i)
					return
				}
				runtime.Gosched()
			}
		}
	}
}

// serve makes the visits that are asked for, until all is done.
func (s *stress[K]) serve(done *atomic.Bool, r *rand.Rand) {
	for {
		last := done.Load()
		l := s.takeHanded()
		switch {
		case l != nil:
			s.visit(l, func(i int) { s.visits[i].Add(1) })
		case last:
			return
		}
		if r.IntN(4) == 0 {
			time.Sleep(time.Duration(r.IntN(100)) * time.Microsecond)
		}
		runtime.Gosched()
	}
}

// runStress runs a stress for a while, and then empties the tree.
func runStress[K comparable](t *testing.T, k keys[K], n int) {
	s := &stress[K]{world: newWorld(k), t: t, n: n, heads: make([]atomic.Pointer[Head], n),
		floor: make([]atomic.Uint64, n), visits: make([]atomic.Uint64, n)}
	for i := 0; i < n; i += 4 {
		s.heads[i].Store(s.newItem(i, 0).asHead())
		_, inserted := s.tr.Insert(s.heads[i].Load(), Gate{})
		require.True(t, inserted)
	}
	var work, service sync.WaitGroup
	var done atomic.Bool
	for id, f := range []func(r *rand.Rand){
		func(r *rand.Rand) { s.write(1, r) },
		func(r *rand.Rand) { s.write(2, r) },
		func(r *rand.Rand) { s.write(3, r) },
		s.raise,
		func(r *rand.Rand) { s.scan(false, r) },
		func(r *rand.Rand) { s.scan(true, r) },
		s.askFor,
		func(*rand.Rand) {
			for !s.stop.Load() {
				s.tr.PassLocks()
				time.Sleep(50 * time.Microsecond)
			}
		},
	} {
		work.Go(func() { f(rand.New(rand.NewPCG(uint64(id), uint64(time.Now().UnixNano())))) })
	}
	service.Go(func() { s.serve(&done, rand.New(rand.NewPCG(0, 0))) })
	time.Sleep(stressTime())
	s.stop.Store(true)
	finish(t, work.Wait)
	done.Store(true)
	finish(t, service.Wait)
	want := make([]*Head, n)
	for i := range want {
		want[i] = s.heads[i].Load()
		if isShared(i) {
			if _, want[i] = s.find(i); want[i] != nil {
				s.taken.Add(int64(itemOf[K](want[i]).state))
			}
		}
	}
	require.Equal(t, s.adds.Load(), s.taken.Load(), "what was added to keys that are shared")
	finish(t, func() {
		shape := s.checkAll(t, want)
		t.Logf("%+v, level %d", shape, s.tr.root.Load().level)
		s.empty(t, want)
	})
}

// empty removes all keys. There is nearly nothing left of the tree.
func (w *world[K]) empty(t testing.TB, want []*Head) {
	for i, h := range want {
		if h != nil {
			require.True(t, w.remove(Place{}, h))
			want[i] = nil
		}
	}
	w.checkAll(t, want)
	require.LessOrEqual(t, w.tr.leaves.Load(), int64(4))
	require.LessOrEqual(t, w.tr.inners.Load(), int64(4))
}

func stressTime() time.Duration {
	if testing.Short() {
		return 200 * time.Millisecond
	}
	return 800 * time.Millisecond
}

// moreProcs has goroutines run on up to 4 processors, until the test ends.
func moreProcs(t *testing.T) {
	was := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
}

// Goroutines that insert, overwrite, remove, scan and ask for visits see the right heads.
func TestStress(t *testing.T) {
	moreProcs(t)
	t.Run("ints/64", func(t *testing.T) { runStress(t, someInts, 64) })
	t.Run("ints/256", func(t *testing.T) { runStress(t, someInts, 256) })
	t.Run("ints/8192", func(t *testing.T) { runStress(t, someInts, 8192) })
	t.Run("edges/160", func(t *testing.T) { runStress(t, edgeInts(160), 160) })
	t.Run("text/64", func(t *testing.T) { runStress(t, someText, 64) })
	t.Run("text/1024", func(t *testing.T) { runStress(t, someText, 1024) })
	t.Run("ragged/256", func(t *testing.T) { runStress(t, raggedText, 256) })
	t.Run("compare/128", func(t *testing.T) { runStress(t, someByCompare, 128) })
	t.Run("compare/4096", func(t *testing.T) { runStress(t, someByCompare, 4096) })
	t.Run("pairs/256", func(t *testing.T) { runStress(t, somePairs, 256) })
}
