package tree

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A keys is an order, and keys that are numbered in it. An item of key i has the value i, and its
// state is a version.
type keys[K comparable] struct {
	order func() Order
	key   func(i int) K
}

var (
	someInts = keys[int]{natural[int], func(i int) int { return 3*i - 500 }}
	someText = keys[string]{natural[string], func(i int) string {
		return fmt.Sprintf("a key of many characters %07d", i)
	}}
	// raggedText has keys of several lengths, with zeros and the highest bytes.
	raggedText = keys[string]{natural[string], func(i int) string {
		return fmt.Sprintf("%04d", i/8) +
			[...]string{"", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x01", "a", "ab\xff", "b",
				"\xff\xff\xff\xff\xff\xff\xff\xff\xff"}[i%8]
	}}
	someByCompare = keys[int]{func() Order {
		return by(func(a, b int) int { return cmp.Compare(b, a) })
	}, func(i int) int { return -i }}
	somePairs = keys[pair]{pairs, func(i int) pair {
		return pair{uint64(i/50) << 33, uint64(i % 50)}
	}}
)

// edgeInts returns keys that are both the lowest and the highest of n, and of their type.
func edgeInts(n int) keys[uint64] {
	return keys[uint64]{natural[uint64], func(i int) uint64 {
		if i < n/2 {
			return uint64(i)
		}
		return 1<<64 - 1 - uint64(n-1-i)
	}}
}

// A world is a tree of items, and the leaves that it has handed over to be visited.
type world[K comparable] struct {
	tr     *Tree
	key    func(i int) K
	mu     sync.Mutex
	handed []*Leaf
	asked  map[int]int // how often a key had been visited when a visit was asked for
	noted  map[int]int // how often it has been by now
}

func newWorld[K comparable](k keys[K]) *world[K] {
	w := &world[K]{tr: newTree[K](k.order()), key: k.key, asked: map[int]int{}, noted: map[int]int{}}
	w.tr.Visit = w.hand
	return w
}

func (w *world[K]) item(i, version int) *item[K] {
	return &item[K]{key: w.key(i), value: i, state: uint64(version)}
}

func (w *world[K]) hand(l *Leaf) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handed = append(w.handed, l)
}

// take returns a leaf that was handed over, nil if there is none.
func (w *world[K]) take() *Leaf {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.handed) == 0 {
		return nil
	}
	l := w.handed[0]
	w.handed = w.handed[1:]
	return l
}

func (w *world[K]) find(i int) (Place, *Head) {
	key := w.key(i)
	return w.tr.Find(unsafe.Pointer(&key))
}

// remove removes h, which is found at the place or, if that is nowhere, by its key.
func (w *world[K]) remove(at Place, h *Head) bool {
	removed, tidy := w.tr.Remove(at, h)
	if tidy {
		w.tr.Tidy(unsafe.Pointer(&itemOf[K](h).key))
	}
	return removed
}

// overwrite puts a head on top of was: at the place, if was still stands there. It returns the
// place where it did, or nowhere if it failed.
func (w *world[K]) overwrite(at Place, was, now *Head) Place {
	for h := was; h == was; {
		if at.Leaf != nil && at.Slot().CompareAndSwap(was, now) {
			return at
		}
		at, h = w.find(itemOf[K](was).value)
	}
	return Place{}
}

// ask asks for a visit of key i, and reports whether it has the key.
func (w *world[K]) ask(i int) bool {
	for at, h := w.find(i); h != nil; at, h = w.find(i) {
		if w.askAt(at) {
			return true
		}
	}
	return false
}

// askAt asks for a visit of a slot, and reports whether that is there.
func (w *world[K]) askAt(at Place) bool {
	list, gone := at.Leaf.Ask(at.I)
	if list {
		w.hand(at.Leaf)
	}
	return !gone
}

// visit does what is asked for in a leaf.
func (w *world[K]) visit(l *Leaf, visited func(i int)) {
	var heads [Cap]*Head
	for m := w.tr.Asked(l, &heads); m != 0; m &= m - 1 {
		if h := heads[lowest(m)]; h != nil {
			visited(itemOf[K](h).value)
		}
	}
}

func (w *world[K]) note(i int) { w.noted[i]++ }

// A scanner is a cursor that goes from head to head.
type scanner struct {
	Cursor
	within bool // a leaf
}

// next returns the next head, nil if there are no more.
func (c *scanner) next() *Head {
	for {
		if c.within {
			if h, _ := c.Head(); h != nil {
				return h
			}
		}
		if c.within = c.Next(); !c.within {
			return nil
		}
	}
}

// patience is for how long a test waits for what should take far less.
const patience = 20 * time.Second

// finish runs f, and fails with the stacks of all goroutines if it hangs.
func finish(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		t.Fatalf("it hangs:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	if t.Failed() {
		t.FailNow()
	}
}

// A shape is what checkShape has found.
type shape struct {
	leaves, inners int64
	keys           int
	behind         int // leaves that were replaced, and whose parent does not know
	chain          int // the most of them one after the other
}

// checkShape checks all nodes of a tree that nobody works on. Nothing may be asked for.
func checkShape(t testing.TB, tr *Tree) (s shape) {
	t.Helper()
	c := checker{t, tr, &s}
	root := tr.root.Load()
	c.inner(root, sep{inf: true}, sep{inf: true}, int(root.level))
	require.Equal(t, tr.leaves.Load(), s.leaves, "count of leaves")
	require.Equal(t, tr.inners.Load(), s.inners, "count of inner nodes")
	return s
}

type checker struct {
	t  testing.TB
	tr *Tree
	s  *shape
}

func (c checker) same(a, b sep) bool {
	return a.inf && b.inf || !a.inf && !b.inf && c.tr.compare(a, b) == 0
}

// skip checks that all keys from low to high have the first skip bits in common.
func (c checker) skip(skip uint32, low, high sep) {
	require.LessOrEqual(c.t, skip, c.tr.order.commonOf(low, high), "skip")
}

func (c checker) inner(p *inner, low, high sep, level int) {
	t, n := c.t, int(p.n)
	c.s.inners++
	require.False(t, p.stale, "a stale node is in the tree")
	require.Equal(t, level, int(p.level))
	require.Positive(t, n)
	require.LessOrEqual(t, n, fanout)
	require.True(t, c.same(low, p.low) && c.same(high, p.high), "ends of an inner node")
	if n > 1 && !c.tr.order.exact() {
		c.skip(p.skip, p.sep(0), p.sep(n-2))
		if !p.check {
			c.skip(p.skip, low, high)
		}
	}
	for i := range fanout {
		want := uint64(1<<64 - 1)
		if i < n-1 && c.tr.order.exact() {
			want = p.sep(i).s
		} else if i < n-1 {
			want = c.tr.order.slice(p.keys[i], p.skip)
		}
		require.Equal(t, want, p.slice(i), "slice of a sep")
		if i%8 == 7 && i/8 < len(p.pivots) {
			require.Equal(t, want, p.pivots[i/8], "pivot")
		}
	}
	for i := range n {
		from, to := p.sep(i-1), p.sep(i)
		require.True(t, from.inf || to.inf || c.tr.compare(from, to) < 0, "seps in order")
		if level > 0 {
			c.inner((*inner)(p.kid(i)), from, to, level-1)
		} else {
			c.leaf(p.leaf(i), from, to, 0)
		}
	}
}

// leaf checks a leaf that has a range, and is the one after so many others in the place of which it
// has come.
func (c checker) leaf(l *Leaf, low, high sep, after int) {
	t, w := c.t, l.load()
	require.NotNil(t, l)
	if w.dead() {
		r := l.repl.Load()
		require.NotNil(t, r, "a leaf was replaced, and nobody knows by what")
		c.s.behind++
		c.s.chain = max(c.s.chain, after+1)
		if r.right == nil {
			c.leaf(r.left, low, high, after+1)
			return
		}
		require.True(t, low.inf || c.tr.compare(low, r.sep) < 0, "sep is in the range")
		require.True(t, high.inf || c.tr.compare(r.sep, high) < 0, "sep is in the range")
		c.leaf(r.left, low, r.sep, after+1)
		c.leaf(r.right, r.sep, high, after+1)
		return
	}
	c.s.leaves++
	require.Zero(t, w&locked, "a leaf is locked")
	require.Nil(t, l.repl.Load())
	require.Zero(t, l.meta.Load()>>32, "visits are asked for, or the leaf has moved")
	c.skip(l.skip(), low, high)
	order, empty, seen := orderOf(w), uint64(0), uint32(0)
	var last unsafe.Pointer
	for r := range w.used() {
		i := order[r]
		seen |= 1 << i
		require.True(t, r == 0 || l.slices[order[r-1]].Load() <= l.slices[i].Load(), "slices in order")
		h := l.rawLoad(i)
		if h == nil {
			empty++
			continue
		}
		require.NotSame(t, c.tr.Moved, h)
		c.s.keys++
		key := c.tr.key(h)
		at := c.tr.at(key)
		require.Equal(t, c.tr.order.slice(key, l.skip()), l.slices[i].Load(), "slice of a key")
		require.True(t, low.inf || c.tr.compare(low, at) <= 0, "a key is below its leaf")
		require.True(t, high.inf || c.tr.compare(at, high) < 0, "a key is above its leaf")
		require.True(t, last == nil || c.tr.order.Compare(last, key) < 0, "keys in order")
		last = key
	}
	require.Equal(t, uint32(1)<<w.used()-1, seen, "order of a leaf")
	require.Equal(t, empty, l.marks.Load()/goneUnit, "count of empty slots")
}

// orderOf returns the numbers of the entries of a leaf, in the order of their keys.
func orderOf(w word) (order []int) {
	q := 0
	for i := range w.base() + 1 {
		for ; q < w.added() && int(w>>(8*q+3)&31) == i; q++ {
			order = append(order, w.base()+int(w>>(8*q)&7))
		}
		if i < w.base() {
			order = append(order, i)
		}
	}
	return order
}

// checkKeys compares what is in the tree with what should be in it: want[i] is the head of key i.
func (w *world[K]) checkKeys(t testing.TB, want []*Head) {
	t.Helper()
	n := 0
	for i, h := range want {
		at, found := w.find(i)
		if found != h {
			require.FailNow(t, "wrong head", "key %d: %v is not %v", i, found, h)
		}
		if h != nil {
			n++
			require.Same(t, h, at.Slot().Load())
		}
	}
	for _, down := range []bool{false, true} {
		met, next := 0, -1
		if down {
			next = len(want)
		}
		c := scanner{Cursor: w.tr.Scan(Span{}, down)}
		for h := c.next(); h != nil; h = c.next() {
			i := itemOf[K](h).value
			if want[i] != h || !down && i <= next || down && i >= next {
				require.FailNow(t, "wrong head", "key %d, down %v, after %d", i, down, next)
			}
			next = i
			met++
		}
		require.Equal(t, n, met, "keys that a scan meets, down %v", down)
	}
}

// checkAll checks the tree and its keys when nobody works on it, and visits what is asked for.
func (w *world[K]) checkAll(t testing.TB, want []*Head) shape {
	t.Helper()
	for l := w.take(); l != nil; l = w.take() {
		w.visit(l, w.note)
	}
	n := 0
	for _, h := range want {
		if h != nil {
			n++
		}
	}
	s := checkShape(t, w.tr)
	require.Equal(t, n, s.keys)
	w.checkKeys(t, want)
	return s
}

// A stress is goroutines that work on a tree with n keys. Key i belongs to, by i%4: 0 nobody, it is
// there throughout; 1 to 3 a writer. But if i%16 is 5 all writers share it.
type stress[K comparable] struct {
	*world[K]
	t      *testing.T
	n      int
	stop   atomic.Bool
	heads  []atomic.Pointer[Head] // what is there, by its only writer
	floor  []atomic.Uint64        // the version of a key of nobody, once it is written
	visits []atomic.Uint64        // how often a key was visited
	adds   atomic.Int64           // to keys that are shared
	taken  atomic.Int64           // the sum of those that were removed
}

func (s *stress[K]) fail(format string, args ...any) {
	s.t.Errorf(format, args...)
	s.stop.Store(true)
}

func isShared(i int) bool { return i%16 == 5 }

// place is what a goroutine remembers of a key.
type places struct{ old, last Place }

// some returns one of them, or nowhere.
func (p *places) some(r *rand.Rand) Place {
	return [...]Place{p.old, p.last, p.last, {}}[r.IntN(4)]
}

func (p *places) note(at Place, r *rand.Rand) {
	if p.last = at; p.old.Leaf == nil || r.IntN(16) == 0 {
		p.old = at
	}
}

// write inserts, overwrites and removes keys of writer id, and looks whether they are what it has
// made of them.
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
			s.fail("key %d of writer %d: it finds %v, not %v", i, id, found, h)
			return
		}
		grow := step>>9&1 == 0
		switch n := r.IntN(8); {
		case h == nil && (grow || n == 0):
			x := s.item(i, step).head()
			at, inserted := s.tr.Insert(x, Gate{})
			if !inserted {
				s.fail("key %d is there, and should not be", i)
				return
			}
			s.heads[i].Store(x)
			known[i] = places{at, at}
		case h == nil:
		case n < 3:
			x := s.item(i, step).head()
			if at = s.overwrite(known[i].some(r), h, x); at.Leaf == nil {
				s.fail("key %d cannot be overwritten", i)
				return
			}
			s.heads[i].Store(x)
			known[i].note(at, r)
		case n == 3:
			again, inserted := s.tr.Insert(s.item(i, step).head(), Gate{})
			if inserted {
				s.fail("key %d was inserted twice", i)
				return
			}
			if now := again.Slot().Load(); now != h && now != s.tr.Moved {
				s.fail("key %d is not at its place", i)
				return
			}
			known[i].note(at, r)
		case !grow || n == 4:
			if !s.remove(known[i].some(r), h) {
				s.fail("key %d cannot be removed", i)
				return
			}
			s.heads[i].Store(nil)
			if s.remove(known[i].some(r), h) {
				s.fail("key %d was removed twice", i)
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
		s.tr.Insert(s.item(i, 0).head(), Gate{})
	case r.IntN(4) == 0:
		if s.remove([...]Place{{}, at}[r.IntN(2)], h) {
			s.taken.Add(int64(itemOf[K](h).state))
		}
	case at.Slot().CompareAndSwap(h, s.item(i, int(itemOf[K](h).state)+1).head()):
		s.adds.Add(1)
	}
}

// raise overwrites the keys of nobody.
func (s *stress[K]) raise(r *rand.Rand) {
	known := make([]places, s.n)
	for !s.stop.Load() {
		i := 4 * r.IntN(s.n/4)
		h := s.heads[i].Load()
		x := s.item(i, int(itemOf[K](h).state)+1)
		at := s.overwrite(known[i].some(r), h, x.head())
		if at.Leaf == nil {
			s.fail("key %d, which is there throughout, cannot be overwritten", i)
			return
		}
		s.heads[i].Store(x.head())
		s.floor[i].Store(x.state)
		known[i].note(at, r)
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
			s.fail("no head of key %d", i)
		case (i-at)*step < 0 || (end-i)*step < 0:
			s.fail("down %v: key %d comes, not one from %d to %d", down, i, at, end)
		case (i-next)*step > 0:
			s.fail("down %v: key %d is missed, %d comes", down, next, i)
		case i == next && x.state < floor:
			s.fail("key %d: version %d is too old", i, x.state)
		}
		if s.stop.Load() {
			return
		}
		if at = i + step; i == next {
			next += 4 * step
		}
	}
	if (end-next)*step >= 0 {
		s.fail("down %v: key %d is missed at the end, which is %d", down, next, end)
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
				s.ask(i)
				continue
			}
			before[i] = s.visits[i].Load()
			at := known[i].some(r)
			for at.Leaf == nil || !s.askAt(at) {
				at, _ = s.find(i)
			}
			known[i].note(at, r)
		}
		begun := time.Now()
		for i, n := range before {
			for s.visits[i].Load() == n {
				if time.Since(begun) > patience/2 {
					s.fail("a visit of key %d is lost", i)
					return
				}
				runtime.Gosched()
			}
		}
	}
}

// serve visits what is asked for, until all is done.
func (s *stress[K]) serve(done *atomic.Bool, r *rand.Rand) {
	for {
		last := done.Load()
		l := s.take()
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
		s.heads[i].Store(s.item(i, 0).head())
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

// Goroutines that insert, overwrite, remove, scan and ask for visits see what they should.
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

// A goroutine that has one leaf locked, and waits for another one, is pinned: it must not yield.
func TestMergeWaits(t *testing.T) {
	w := newWorld(someInts)
	want := make([]*Head, 100)
	for i := range want {
		want[i] = w.item(i, 0).head()
		w.tr.Insert(want[i], Gate{})
	}
	for i := range want {
		if i%10 != 0 {
			_, _ = w.tr.Remove(Place{}, want[i])
			want[i] = nil
		}
	}
	second := w.tr.root.Load().leaf(1)
	was := second.load()
	second.word.Store(uint64(was | locked))
	go func() {
		time.Sleep(10 * time.Millisecond)
		second.word.Store(uint64(was))
	}()
	finish(t, func() {
		key := w.key(0)
		w.tr.Tidy(unsafe.Pointer(&key))
	})
	w.checkAll(t, want)
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
	removed, _ := w.tr.Remove(at, at.Slot().Load())
	require.True(t, removed)
	return w.find(2)
}

// A change is something that is done to a tree between two steps of a scan.
type change struct {
	name string
	do   func(k *known)
}

// A known is what is known of the keys of a tree, whatever their type: heads[i] is that of key i.
type known struct {
	t      testing.TB
	heads  []*Head
	places []Place // where keys were, perhaps long ago
	gone   []bool  // keys that were removed, or were not there at first
	spare  int     // the key that is left alone, or -1
	tidy   bool    // Tidy may be called, and Insert
	insert func(i int)
	remove func(i int)
	put    func(i int, at Place) // overwrites
	ask    func(i int, at Place)
	check  func()
	pass   func()
	ownIs  func(h *Head) bool // whether the tree has h for the key that is left alone
	visit  func()             // one leaf that was handed over
}

// every calls f for every key but the one that is left alone.
func (k *known) every(f func(i int)) {
	for i := range k.heads {
		if i != k.spare {
			f(i)
		}
	}
}

// stays reports whether a key is one that is not removed.
func stays(i int) bool { return i%20 == 0 }

func (k *known) insertAll() {
	k.every(func(i int) {
		if k.heads[i] == nil {
			k.insert(i)
		}
	})
}

func (k *known) removeAll(but func(i int) bool) {
	k.every(func(i int) {
		if k.heads[i] != nil && !but(i) {
			k.remove(i)
		}
	})
}

func (k *known) putAll(places bool) {
	k.every(func(i int) {
		if k.heads[i] == nil {
			return
		}
		at := Place{}
		if places {
			at = k.places[i]
		}
		k.put(i, at)
	})
}

func (k *known) askAll(places bool) {
	k.every(func(i int) {
		switch {
		case k.heads[i] == nil:
		case places:
			k.ask(i, k.places[i])
		default:
			k.ask(i, Place{})
		}
	})
}

var changes = []change{
	{"insert", func(k *known) { k.insertAll() }},
	{"remove some", func(k *known) { k.removeAll(func(i int) bool { return i%4 == 0 }) }},
	{"remove most", func(k *known) { k.removeAll(stays) }},
	{"overwrite", func(k *known) { k.putAll(true); k.putAll(false) }},
	{"insert and remove", func(k *known) { k.insertAll(); k.putAll(true); k.removeAll(stays) }},
	{"remove and insert", func(k *known) { k.removeAll(stays); k.putAll(true); k.insertAll() }},
	{"all", func(k *known) {
		for range 2 {
			k.insertAll()
			k.putAll(true)
			k.removeAll(func(i int) bool { return i%4 == 0 })
			k.removeAll(stays)
			k.insertAll()
			k.removeAll(func(i int) bool { return stays(i) || i > len(k.heads)/2 })
		}
	}},
}

// know returns what is known of a tree that gets the even ones of n keys.
func (w *world[K]) know(t testing.TB, n int) *known {
	k := &known{t: t, heads: make([]*Head, n), places: make([]Place, n), gone: make([]bool, n),
		spare: -1, tidy: true}
	version := 0
	k.insert = func(i int) {
		version++
		x := w.item(i, version).head()
		at, inserted := w.tr.Insert(x, Gate{})
		require.True(t, inserted, "key %d", i)
		k.heads[i], k.places[i] = x, at
	}
	k.remove = func(i int) {
		removed, tidy := w.tr.Remove([...]Place{k.places[i], {}}[i/2%2], k.heads[i])
		require.True(t, removed, "key %d", i)
		if tidy && k.tidy {
			key := w.key(i)
			w.tr.Tidy(unsafe.Pointer(&key))
		}
		k.heads[i], k.gone[i] = nil, true
	}
	k.put = func(i int, at Place) {
		version++
		x := w.item(i, version).head()
		require.NotNil(t, w.overwrite(at, k.heads[i], x).Leaf, "key %d", i)
		k.heads[i] = x
	}
	k.ask = func(i int, at Place) {
		w.asked[i] = w.noted[i]
		if at.Leaf == nil || !w.askAt(at) {
			require.True(t, w.ask(i))
		}
	}
	k.check = func() {
		want := append([]*Head{}, k.heads...)
		if i := k.spare; i >= 0 {
			_, want[i] = w.find(i) // the op may be done
		}
		w.checkKeys(t, want)
		for i := range 2 * numberOfParts {
			v, c := w.walk(k, i/2, i%2 == 0)
			v.fresh = true
			for h := c.next(); h != nil; h = c.next() {
				v.see(h, itemOf[K](h).value)
			}
			v.all()
		}
	}
	k.pass = w.tr.PassLocks
	k.visit = func() {
		if l := w.take(); l != nil {
			w.visit(l, w.note)
		}
	}
	for i := range n {
		if k.gone[i] = i%2 != 0; i%2 == 0 {
			k.insert(i)
		}
	}
	return k
}

// checkVisits checks that no visit was lost that was asked for, of keys that were not removed.
func (w *world[K]) checkVisits(k *known) {
	for i, n := range w.asked {
		if !k.gone[i] {
			require.Greater(k.t, w.noted[i], n, "a visit of key %d is lost", i)
		}
	}
}

// A part is a span that has the keys from low to high.
type part struct {
	Span
	low, high int
}

func (p *part) has(i int) bool { return i >= p.low && i <= p.high }

const numberOfParts = 7

// part returns some part of n keys.
func (w *world[K]) part(number, n int) part {
	a, b := n/5, n-n/7
	if number == 6 {
		a, b = n/3+1, n/3+3
	}
	x, y := w.key(a), w.key(b)
	low, high := unsafe.Pointer(&x), unsafe.Pointer(&y)
	switch number {
	case 0:
		return part{Span{}, 0, n - 1}
	case 1:
		return part{Span{Low: low, High: high}, a, b}
	case 2:
		return part{Span{Low: low}, a, n - 1}
	case 3:
		return part{Span{High: high, HighExclusive: true}, 0, b - 1}
	case 4:
		return part{Span{Low: low, LowExclusive: true}, a + 1, n - 1}
	default:
		return part{Span{low, high, true, true}, a + 1, b - 1}
	}
}

// A walk is a scan that goes on while the tree is changed.
type walk struct {
	k     *known
	of    part
	down  bool
	fresh bool // the last change was before the step
	met   []bool
	last  int
}

func (w *world[K]) walk(k *known, number int, down bool) (*walk, *scanner) {
	n := len(k.heads)
	v := &walk{k: k, of: w.part(number, n), down: down, met: make([]bool, n), last: -1}
	if down {
		v.last = n
	}
	return v, &scanner{Cursor: w.tr.Scan(v.of.Span, down)}
}

// see looks at a head that was met, of key i.
func (v *walk) see(h *Head, i int) {
	require.True(v.k.t, !v.down && i > v.last || v.down && i < v.last, "key %d after %d", i, v.last)
	require.True(v.k.t, v.of.has(i), "key %d is not in the span", i)
	if v.fresh && i != v.k.spare {
		require.Same(v.k.t, v.k.heads[i], h, "key %d", i)
	}
	v.last, v.met[i] = i, true
}

// end checks that all has been met that was there throughout.
func (v *walk) end() {
	v.k.every(func(i int) {
		require.True(v.k.t, v.met[i] || v.k.gone[i] || !v.of.has(i), "key %d, down %v", i, v.down)
	})
}

// all checks that all has been met.
func (v *walk) all() {
	v.k.every(func(i int) {
		require.Equal(v.k.t, v.k.heads[i] != nil && v.of.has(i), v.met[i], "key %d, down %v", i, v.down)
	})
}

// A scan goes on where it was, whatever is done to the tree between its steps.
func TestChangesBetweenSteps(t *testing.T) {
	t.Run("ints", func(t *testing.T) { changesBetweenSteps(t, someInts) })
	t.Run("text", func(t *testing.T) { changesBetweenSteps(t, someText) })
	t.Run("ragged", func(t *testing.T) { changesBetweenSteps(t, raggedText) })
	t.Run("edges", func(t *testing.T) { changesBetweenSteps(t, edgeInts(200)) })
	t.Run("compare", func(t *testing.T) { changesBetweenSteps(t, someByCompare) })
	t.Run("pairs", func(t *testing.T) { changesBetweenSteps(t, somePairs) })
}

func changesBetweenSteps[K comparable](t *testing.T, keys keys[K]) {
	const n = 200
	for first := range len(changes) + 1 { // the last one does another change at each step
		stride := 11
		if testing.Short() {
			stride = 29
		}
		for step := first; ; step += stride {
			more := false
			for which := range 2 * numberOfParts {
				w := newWorld(keys)
				k := w.know(t, n)
				v, c := w.walk(k, which/2, which%2 == 1)
				v.fresh = true
				done := false
				for s := 0; !done; s++ {
					switch {
					case first == len(changes) && s >= step:
						changes[(s+step)%len(changes)].do(k)
					case s == step:
						changes[first].do(k)
					}
					more = more || s > step
					h := c.next()
					if done = h == nil; !done {
						v.see(h, itemOf[K](h).value)
					}
				}
				v.end()
				if which == 0 {
					w.checkAll(t, k.heads)
				}
			}
			if !more {
				break
			}
		}
	}
}

// A stopper calls a function once: at the n-th step that it is told of.
type stopper struct {
	left atomic.Int64
	f    func()
}

func (s *stopper) step() {
	if s.left.Add(-1) == 0 {
		s.f()
	}
}

func (s *stopper) at(n int, f func()) {
	s.f = f
	s.left.Store(int64(n))
}

// An op is an operation that is stopped in the middle. It begins with a tree with the even ones of
// so many keys, and others do not touch its own key meanwhile.
type op struct {
	name    string
	keys    int
	own     int
	prepare func(k *known, tr *Tree)
	do      func(k *known, r *running)
}

// A running is an op that runs, in a world whose type of keys is hidden.
type running struct {
	find    func(i int) (Place, *Head)
	insert  func(i int) (h *Head, at Place, inserted bool)
	remove  func(at Place, h *Head) bool
	tidy    func(i int)
	walk    func(number int, down bool)
	pass    func()
	put     func(at Place, was *Head) (now *Head, where Place)
	visit   func()
	changed atomic.Bool // others have done what they do meanwhile
}

// insertOwn inserts the op's key.
func insertOwn(k *known, r *running) {
	i := k.spare
	h, at, inserted := r.insert(i)
	if inserted {
		require.Nil(k.t, k.heads[i])
		k.heads[i], k.places[i] = h, at
		return
	}
	require.NotNil(k.t, k.heads[i], "it is said to be there")
	now, _ := r.find(i)
	require.Equal(k.t, now, at)
}

// removeOwn removes the op's key, which is said to be at the place, and tidies up.
func removeOwn(at func(k *known) Place) func(k *known, r *running) {
	return func(k *known, r *running) {
		i := k.spare
		h := k.heads[i]
		if r.remove(at(k), h) && k.heads[i] == h {
			k.heads[i] = nil
		}
		r.tidy(i)
	}
}

func remembered(k *known) Place { return k.places[k.spare] }

func nowhere(*known) Place { return Place{} }

// thin removes the keys from low on, below high, but those that the function keeps.
func thin(k *known, low, high int, keep func(i int) bool) {
	tidy := k.tidy
	k.tidy = false
	k.every(func(i int) {
		if i >= low && i < high && k.heads[i] != nil && !keep(i) {
			k.remove(i)
		}
	})
	k.tidy = tidy
}

func keepNone(int) bool { return false }

// Leaves of keys that came in order have 30 of them, so keys 60 i to 60 i + 58. An inner node of
// them has 55.
var ops = []op{
	{"insert with room", 40, 11, nil, insertOwn},
	{"insert at the end", 40, 39, nil, insertOwn},
	{"replace by one", 40, 39, func(k *known, _ *Tree) {
		for i := 1; i < 13; i += 2 {
			k.insert(i)
		}
		thin(k, 6, 22, keepNone)
	}, insertOwn},
	{"replace by two", 90, 31, nil, insertOwn},
	{"replace at the end", 60, 59, nil, insertOwn},
	{"split a root", 60*55 + 60, 1001, nil, insertOwn},
	{"split a root at the end", 60*55 + 60, 60*55 + 59, nil, insertOwn},
	{"split one of several", 60 * 70, 60*65 + 1, nil, insertOwn},
	{"split an inner node", 60 * 70, 1001, func(k *known, _ *Tree) { k.insert(2001) }, insertOwn},
	{"remove", 60, 20, nil, removeOwn(remembered)},
	{"remove by key", 60, 20, nil, removeOwn(nowhere)},
	{"remove by an old place", 60, 20, func(k *known, _ *Tree) { k.insert(31) },
		removeOwn(remembered)},
	{"replace by one without", 180, 80, func(k *known, _ *Tree) {
		thin(k, 60, 120, func(i int) bool { return i%4 == 0 })
	}, removeOwn(remembered)},
	{"replace by none", 180, 80, func(k *known, _ *Tree) { thin(k, 60, 120, keepNone) },
		removeOwn(remembered)},
	{"merge", 180, 80, func(k *known, _ *Tree) {
		thin(k, 60, 120, func(i int) bool { return i < 68 })
		thin(k, 120, 180, func(i int) bool { return i > 160 })
	}, removeOwn(remembered)},
	{"merge the last", 180, 160, func(k *known, _ *Tree) {
		thin(k, 60, 120, func(i int) bool { return i < 68 })
		thin(k, 120, 180, func(i int) bool { return i > 160 })
	}, removeOwn(remembered)},
	{"merge all", 120, 80, func(k *known, _ *Tree) { thin(k, 0, 120, keepNone) },
		removeOwn(remembered)},
	{"merge inner nodes", 60 * 70, 60*60 + 2, func(k *known, _ *Tree) {
		k.every(func(i int) {
			if i < 60*35 && k.heads[i] != nil {
				k.remove(i)
			}
		})
		k.every(func(i int) {
			if i >= 60*57 && k.heads[i] != nil && i%60 != 0 {
				k.remove(i)
			}
		})
	}, removeOwn(nowhere)},
	{"find", 130, -1, nil, func(k *known, r *running) {
		for _, i := range []int{0, 21, 58, 59, 60, 61, 120, 129} {
			was, fresh := k.heads[i], r.changed.Load()
			_, h := r.find(i)
			if fresh || was == k.heads[i] && h != nil {
				require.Same(k.t, k.heads[i], h, "key %d", i)
			}
			require.True(k.t, h != nil || k.gone[i], "key %d", i)
		}
	}},
	{"overwrite", 130, 70, nil, func(k *known, r *running) {
		for range 3 {
			was := k.heads[k.spare]
			if was == nil {
				return // others have removed it
			}
			if now, at := r.put(k.places[k.spare], was); at.Leaf != nil {
				k.heads[k.spare] = now
			} else {
				require.NotSame(k.t, was, k.heads[k.spare])
			}
		}
	}},
	{"pass", 130, -1, nil, func(_ *known, r *running) { r.pass() }},
	{"visit", 130, -1, func(k *known, _ *Tree) {
		k.every(func(i int) {
			if k.heads[i] != nil {
				k.ask(i, Place{})
			}
		})
	}, func(_ *known, r *running) { r.visit() }},
}

func init() {
	for i := range 2 * numberOfParts {
		down := i%2 != 0
		ops = append(ops, op{fmt.Sprintf("scan %d down %v", i/2, down), 130, -1, nil,
			func(_ *known, r *running) { r.walk(i/2, down) }})
	}
}

// running returns what an op may do.
func (w *world[K]) running(k *known) *running {
	r := &running{find: w.find, pass: w.tr.PassLocks, remove: func(at Place, h *Head) bool {
		removed, _ := w.tr.Remove(at, h)
		return removed
	}}
	r.insert = func(i int) (*Head, Place, bool) {
		x := w.item(i, 1<<20).head()
		at, inserted := w.tr.Insert(x, Gate{})
		return x, at, inserted
	}
	r.tidy = func(i int) {
		key := w.key(i)
		w.tr.Tidy(unsafe.Pointer(&key))
	}
	version := 1 << 20
	r.put = func(at Place, was *Head) (*Head, Place) {
		version++
		x := w.item(itemOf[K](was).value, version).head()
		return x, w.overwrite(at, was, x)
	}
	r.walk = func(number int, down bool) {
		v, c := w.walk(k, number, down)
		for {
			v.fresh = r.changed.Load()
			h := c.next()
			if h == nil {
				break
			}
			v.see(h, itemOf[K](h).value)
		}
		v.end()
	}
	r.visit = func() {
		for l := w.take(); l != nil; l = w.take() {
			w.visit(l, w.note)
		}
	}
	return r
}

// free reports whether nothing is locked. Nobody works on the tree.
func (t *Tree) free() bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	return unlocked(t.root.Load())
}

func unlocked(p *inner) bool {
	for i := range int(p.n) {
		if p.level > 0 && !unlocked((*inner)(p.kid(i))) || p.level == 0 && !p.leaf(i).unlocked() {
			return false
		}
	}
	return true
}

func (l *Leaf) unlocked() bool {
	r := l.repl.Load()
	switch {
	case !l.load().dead():
		return l.load()&locked == 0
	case r == nil:
		return true
	}
	return r.left.unlocked() && (r.right == nil || r.right.unlocked())
}

// A meanwhile is what is done while an op stands still.
type meanwhile struct {
	name string
	free bool // only if nothing is locked
	do   func(k *known, free bool)
}

var meanwhiles = append([]meanwhile{
	{"read", false, func(k *known, free bool) {
		if free {
			k.pass()
		}
	}},
	{"overwrite", false, func(k *known, _ bool) { k.putAll(true); k.check(); k.putAll(false) }},
	{"remove", false, func(k *known, free bool) { k.tidy = free; k.removeAll(stays); k.tidy = true }},
	{"empty", false, func(k *known, free bool) {
		k.tidy = free
		k.removeAll(keepNone)
		k.tidy = true
	}},
	{"ask", false, func(k *known, _ bool) { k.askAll(false); k.visit(); k.askAll(false) }},
	{"ask at places", false, func(k *known, _ bool) { k.askAll(true); k.visit(); k.askAll(true) }},
	{"far", true, func(k *known, _ bool) {
		far := func(i int) bool { return len(k.heads) > 1000 && (i-k.spare > 600 || k.spare-i > 600) }
		k.every(func(i int) {
			if far(i) && k.heads[i] == nil {
				k.insert(i)
			}
		})
		k.check()
		k.removeAll(func(i int) bool { return !far(i) || i%60 == 0 })
	}},
	{"own comes", true, func(k *known, _ bool) {
		if i := k.spare; i >= 0 && k.heads[i] == nil && k.ownIs(nil) {
			k.insert(i)
		} else if i >= 0 && k.heads[i] != nil && k.ownIs(k.heads[i]) {
			k.put(i, k.places[i])
		}
	}},
	{"own comes and goes", true, func(k *known, _ bool) {
		i := k.spare
		if i < 0 || !k.ownIs(k.heads[i]) {
			return
		}
		for range 3 {
			if k.heads[i] == nil {
				k.insert(i)
			}
			k.remove(i)
		}
	}},
}, func() (all []meanwhile) {
	for _, c := range changes {
		all = append(all, meanwhile{c.name, true, func(k *known, _ bool) { c.do(k) }})
	}
	return all
}()...)

// preempt runs an op, stops it at the n-th step that hook tells the stopper of, does something else
// meanwhile, and goes on. It reports whether there were so many steps.
func preempt[K comparable](t *testing.T, keys keys[K], o op, m meanwhile, n int,
	hook func(s *stopper) (remove func())) bool {
	w := newWorld(keys)
	k := w.know(t, o.keys)
	k.spare = o.own
	k.ownIs = func(h *Head) bool {
		_, now := w.find(k.spare)
		return now == h
	}
	if o.prepare != nil {
		o.prepare(k, w.tr)
	}
	r := w.running(k)
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var s stopper
	s.at(n, func() {
		close(reached)
		<-goOn
	})
	remove := hook(&s)
	go func() {
		defer close(done)
		o.do(k, r)
	}()
	stopped := false
	finish(t, func() {
		select {
		case <-reached:
			stopped = true
		case <-done:
			return
		}
		free := w.tr.free()
		if free || !m.free {
			k.check()
			m.do(k, free)
			k.check()
		}
		r.changed.Store(true)
		var behind chan struct{}
		if !free && n%2 == 0 {
			behind = make(chan struct{})
			go func() {
				defer close(behind)
				k.insertAll()
				k.removeAll(stays)
			}()
			for range 10 {
				runtime.Gosched()
			}
		}
		close(goOn)
		<-done
		if behind != nil {
			<-behind
		}
	})
	remove()
	finish(t, func() {
		w.checkAll(t, k.heads)
		w.checkVisits(k)
	})
	return stopped
}

// preemptAll stops an op at each of its steps, or some of them, and does everything meanwhile.
func preemptAll[K comparable](t *testing.T, keys keys[K], some int,
	hook func(s *stopper) (remove func())) {
	for _, o := range ops {
		t.Run(o.name, func(t *testing.T) {
			for x, m := range meanwhiles {
				stride := some // each of the others begins at another step
				switch {
				case o.keys > 1000:
					stride *= 11
				case o.own < 0:
					stride *= 3
				}
				if testing.Short() {
					stride *= 3
				}
				for n := 1 + x%stride; preempt(t, keys, o, m, n, hook); n += stride {
				}
			}
		})
	}
}

// telling returns keys whose compare tells what hook returns of each call.
func telling[K comparable](k keys[K]) (_ keys[K], hook func(s *stopper) (remove func())) {
	var now atomic.Pointer[stopper]
	order := k.order
	k.order = func() Order {
		o := order()
		if compare := o.compare; compare != nil {
			o.compare = func(a, b unsafe.Pointer) int {
				if s := now.Load(); s != nil {
					s.step()
				}
				return compare(a, b)
			}
		}
		return o
	}
	return k, func(s *stopper) (remove func()) {
		now.Store(s)
		return func() { now.Store(nil) }
	}
}

// A function of the program that compares keys may last for ever: nothing waits for it, and nothing
// is lost.
func TestCompareWaits(t *testing.T) {
	t.Run("compare", func(t *testing.T) { compareWaits(t, someByCompare) })
	t.Run("ragged", func(t *testing.T) { compareWaits(t, raggedText) })
	t.Run("pairs", func(t *testing.T) { compareWaits(t, somePairs) })
}

func compareWaits[K comparable](t *testing.T, k keys[K]) {
	k, hook := telling(k)
	preemptAll(t, k, 2, hook)
}

// It may panic, or end its goroutine: the tree is whole.
func TestCompareEnds(t *testing.T) {
	t.Run("compare", func(t *testing.T) { compareEnds(t, someByCompare) })
	t.Run("pairs", func(t *testing.T) { compareEnds(t, somePairs) })
}

func compareEnds[K comparable](t *testing.T, keys keys[K]) {
	keys, hook := telling(keys)
	for _, o := range ops {
		if o.keys > 1000 && testing.Short() {
			continue
		}
		for end, f := range map[string]func(){
			"panic": func() { panic("the end") }, "Goexit": runtime.Goexit,
		} {
			t.Run(o.name+"/"+end, func(t *testing.T) {
				for n, ended := 1, true; ended; n++ {
					ended = false
					w := newWorld(keys)
					k := w.know(t, o.keys)
					k.spare = o.own
					if o.prepare != nil {
						o.prepare(k, w.tr)
					}
					r := w.running(k)
					var s stopper
					s.at(n, func() {
						ended = true
						f()
					})
					remove := hook(&s)
					finish(t, func() {
						defer func() { recover() }()
						o.do(k, r)
					})
					remove()
					require.True(t, w.tr.free())
					finish(t, func() {
						w.checkAll(t, k.heads)
						changes[n%len(changes)].do(k)
						w.checkAll(t, k.heads)
						w.checkVisits(k)
					})
				}
			})
		}
	}
}
