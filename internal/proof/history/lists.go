package history

import (
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A node is a list that ends with value: the map stores it. It never changes, so that
// to record a read is to keep the pointer.
type node struct {
	key, value int
	n          int // how many values there are
	prev       *node
	list       []int // the values, once they were asked for
}

// values returns the values of the list. A list shares its memory with those that
// begin with it. No other goroutine may use the list at the same time.
func (l *node) values() []int {
	if l == nil {
		return nil
	}
	if l.list == nil {
		list := make([]int, l.n)
		for v := l; v != nil; v = v.prev {
			list[v.n-1] = v.value
			if v.list == nil {
				v.list = list[:v.n:v.n]
			}
		}
	}
	return l.list
}

// maxList is how long a list gets. An append that would make it longer appends a mark
// that is never read, and begins the list of another key in its place: the keys of a slot
// are equal modulo Config.Keys.
const maxList = 40

// lists keeps lists. The list of a slot is in place 2*slot or 2*slot+1 of the space,
// never in both. An append writes where the list is, or deletes it there and writes
// to the other place. A merge that finds no list where its worker saw it last leaves a nil
// there, which stands for nothing: a merge always writes.
type lists struct {
	cfg   *Config
	place []int // where the list of a slot was when this worker saw it last
}

// newLists makes a map, or tables, for lists.
func newLists(cfg *Config) (*space[*node], error) {
	if !cfg.Tables {
		m := mvcc.New[int, *node](cfg.Options)
		return &space[*node]{maps: [2]*mvcc.Map[int, *node]{m, m}}, nil
	}
	db := mvcc.NewDB(cfg.Options)
	s := &space[*node]{db: db, maps: [2]*mvcc.Map[int, *node]{
		mvcc.NewOrderedTable[int, *node](db, "even", nil),
		mvcc.NewOrderedTable[int, *node](db, "odd", nil),
	}}
	var err error
	s.sizes, err = mvcc.NewOrderedIndex(s.maps[1], "sizes", func(_ int, l *node) []int {
		if l == nil {
			return nil
		}
		return []int{l.n}
	}, nil)
	return s, err
}

func newListDialect(cfg *Config) dialect[*node] {
	d := &lists{cfg: cfg}
	for slot := range cfg.Keys {
		d.place = append(d.place, 2*slot)
	}
	return d
}

// get returns the list of a slot, and where it is. If it is in both places, that
// is recorded as two reads, and cannot be explained.
func (d *lists) get(
	w *worker[*node], t *txn, from readers[*node], slot int,
) (l *node, place int) {
	places := 1
	if d.cfg.Delete > 0 {
		places = 2
	}
	update := w.forUpdate(from)
	first := w.rng.IntN(places)
	for i := range places {
		p := 2*slot + (first+i)%places
		if v, _ := w.get(t, from, p, slot, update); v != nil {
			t.noteList(slot, v, update)
			l, place = v, p
			d.place[slot] = p
		}
	}
	if l == nil {
		place = 2 * slot
		t.noteList(slot, nil, update)
	}
	t.settle(slot)
	return l, place
}

// noteList notes that l was read from a slot, or nothing.
func (t *txn) noteList(slot int, l *node, update bool) {
	if l != nil {
		slot = l.key
	}
	t.ops = append(t.ops, op{Op: Op{Kind: OpRead, Key: slot, Update: update}, list: l})
}

// settle notes that the merges of a slot were given the list that has just been read. t is
// serializable, so if it commits the list is still the same.
func (t *txn) settle(slot int) {
	for i := range t.ops {
		if o := &t.ops[i]; o.merge != nil && o.Key == slot {
			m := *o.merge
			o.merge = &m
		}
	}
}

// pending reports whether t, at level snapshot, merges into a slot: with which list is only
// known when it commits. The slot must not be read before: that would be as of another moment.
func (t *txn) pending(slot int) bool {
	return t.Level == LevelSnapshot && slices.ContainsFunc(t.ops, func(o op) bool {
		return o.merge != nil && o.Key == slot
	})
}

// read reads the list of a slot, or, now and then, those of a range that begins with it.
func (d *lists) read(w *worker[*node], t *txn, from readers[*node], slot int) {
	if d.cfg.Tables && w.percent(d.cfg.Scan) {
		d.scan(w, t, from, slot, min(slot+1+w.rng.IntN(d.cfg.Keys), d.cfg.Keys))
	} else if !t.pending(slot) {
		d.get(w, t, from, slot)
	}
}

func (d *lists) readAll(w *worker[*node], t *txn, from readers[*node]) {
	d.scan(w, t, from, 0, d.cfg.Keys)
}

// scan reads the lists of the slots from one up to another: each of them, there or not. So a
// phantom is a read that does not fit.
func (d *lists) scan(w *worker[*node], t *txn, from readers[*node], low, high int) {
	for slot := low; slot < high; slot++ {
		if t.pending(slot) {
			return
		}
	}
	met, found := map[int]bool{}, make([]bool, d.cfg.Keys)
	for _, part := range w.m.scan(w.rng, from, 2*low, 2*high) {
		for place, l := range part {
			slot := place / 2
			if met[place] {
				t.noteLie(slot)
			}
			if met[place] = true; l != nil && low <= slot && slot < high {
				found[slot] = true
				t.noteList(slot, l, false)
			}
		}
	}
	for slot := low; slot < high; slot++ {
		if !found[slot] {
			t.noteList(slot, nil, false)
		}
		t.settle(slot)
	}
}

// longer returns l with one more value, and notes the append.
func (d *lists) longer(w *worker[*node], t *txn, slot int, l *node) *node {
	next := &node{key: slot, value: w.value(), n: 1}
	switch {
	case l == nil:
	case l.n >= maxList:
		t.noteOp(OpAppend, l.key, Version{Value: w.value()})
		next.key = l.key + d.cfg.Keys
	default:
		next.key, next.n, next.prev = l.key, l.n+1, l
	}
	t.noteOp(OpAppend, next.key, Version{Value: next.value})
	return next
}

func (d *lists) write(w *worker[*node], t *txn, to writers[*node], slot int) {
	if w.percent(25) || t.pending(slot) {
		d.merge(w, t, to, slot)
		return
	}
	l, place := d.get(w, t, to.readers(), slot)
	next := d.longer(w, t, slot, l)
	if l != nil && w.percent(d.cfg.Delete) {
		to[place%2].Delete(place)
		place ^= 1
	}
	w.set(to, place, next)
}

// merge appends by a merge. It pays no heed to maxList.
func (d *lists) merge(w *worker[*node], t *txn, to writers[*node], slot int) {
	if w.percent(30) {
		d.read(w, t, to.readers(), slot)
	}
	value, m, place := w.value(), &merged{key: slot}, d.place[slot]
	t.noteOp(OpMerge, slot, Version{Value: value})
	t.ops[len(t.ops)-1].merge = m
	to[place%2].Merge(place, func(l *node, _ bool) *node {
		if m.none = l == nil && d.cfg.Delete > 0; m.none {
			return nil
		}
		next := &node{key: slot, value: value, n: 1}
		if l != nil {
			next.key, next.n, next.prev = l.key, l.n+1, l
		}
		m.key = next.key
		return next
	})
}

func (d *lists) oneKey(w *worker[*node], slot int) {
	place := 2 * slot
	if d.cfg.Delete > 0 {
		place += w.rng.IntN(2)
	}
	if w.percent(5) {
		mvcc.CompareAndDelete(w.m.mapOf(place), place, nil) // of a merge
	}
	t := w.open(LevelOneKey)
	l, ok := w.m.mapOf(place).Load(place)
	if l != nil || d.cfg.Delete == 0 {
		t.noteList(slot, l, false)
		w.single(&t)
	}
	if !w.percent(d.cfg.Write) {
		return
	}
	w.pause()
	t = w.open(LevelOneKey)
	n := w.rng.IntN(6)
	if n < 2 {
		d.compute(w, &t, slot, place, n == 0)
		w.single(&t)
		return
	}
	t.noteList(slot, l, false)
	next := d.longer(w, &t, slot, l)
	switch {
	case l != nil && mvcc.CompareAndSwap(w.m.mapOf(place), place, l, next):
		w.single(&t)
	case !ok && d.cfg.Delete == 0:
		var actual *node
		if n == 2 {
			actual, ok = w.m.mapOf(place).LoadOrCompute(place,
				func() (*node, bool) { return next, false })
		} else {
			actual, ok = w.m.mapOf(place).LoadOrStore(place, next)
		}
		if ok {
			t.ops = nil
		}
		t.noteList(slot, actual, false)
		w.single(&t)
	}
}

// compute appends by Compute, or by Merge, to the list that is in a place.
func (d *lists) compute(w *worker[*node], t *txn, slot, place int, merge bool) {
	give := w.percent(rollbacks) // up: leave the list as it is
	grow := func(l *node, _ bool) (*node, mvcc.ComputeOp) {
		t.ops = nil
		w.pause()
		if l != nil || d.cfg.Delete == 0 {
			t.noteList(slot, l, false)
		}
		if l == nil && d.cfg.Delete > 0 || give && !merge {
			return nil, mvcc.CancelOp
		}
		return d.longer(w, t, slot, l), mvcc.UpdateOp
	}
	if merge {
		w.m.mapOf(place).Merge(place, func(l *node, ok bool) *node {
			next, _ := grow(l, ok)
			return next
		})
		return
	}
	if l, _ := w.m.mapOf(place).Compute(place, grow); l != nil || d.cfg.Delete == 0 {
		t.noteList(slot, l, false)
	}
}
