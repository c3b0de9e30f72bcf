package history

import "github.com/mvccmap/mvccmap/mvcc"

// A node is a list that ends with value: what is stored in the map. It never
// changes, so that to record a read is to keep the pointer.
type node struct {
	key, value int
	n          int // how many values there are
	prev       *node
	list       []int // the values, once somebody has asked for them
}

// values returns the values of the list. Lists of which one begins with the other
// share their memory. Nobody else may use the list at the same time.
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

// maxList is how long a list gets. What would make it longer appends a mark
// that nobody will see, and begins the list of another key in its place: keys
// that are in use at the same time are equal modulo Config.Keys.
const maxList = 40

// lists keeps lists. The list of a slot is under key 2*slot or 2*slot+1 of the map,
// never under both. What appends to it writes where it is, or deletes it there and
// writes to the other place.
type lists struct{ cfg *Config }

func newLists(cfg *Config) dialect[*node] { return &lists{cfg} }

// get returns the list of a slot, and where it is. If it is in both places, that
// is recorded as two reads, and cannot be explained.
func (d *lists) get(
	w *worker[*node], t *txn, from mvcc.Reader[int, *node], slot int,
) (l *node, place int) {
	places := 1
	if d.cfg.Delete > 0 {
		places = 2
	}
	first := w.rng.IntN(places)
	for i := range places {
		p := 2*slot + (first+i)%places
		if v, ok := from.Get(p); ok {
			t.noteList(slot, v)
			l, place = v, p
		}
	}
	if l == nil {
		place = 2 * slot
		t.noteList(slot, nil)
	}
	return l, place
}

// noteList notes that l was read from a slot, or nothing.
func (t *txn) noteList(slot int, l *node) {
	if l != nil {
		slot = l.key
	}
	t.ops = append(t.ops, op{Op: Op{Kind: OpRead, Key: slot}, list: l})
}

func (d *lists) read(w *worker[*node], t *txn, from mvcc.Reader[int, *node], slot int) {
	d.get(w, t, from, slot)
}

func (d *lists) readAll(w *worker[*node], t *txn, from mvcc.Reader[int, *node]) {
	found := make([]bool, d.cfg.Keys)
	for p, l := range from.All() {
		found[p/2] = true
		t.noteList(p/2, l)
	}
	for slot, ok := range found {
		if !ok {
			t.noteList(slot, nil)
		}
	}
}

// longer returns l with one more value, and notes the append.
func (d *lists) longer(w *worker[*node], t *txn, slot int, l *node) *node {
	next := &node{key: slot, value: w.value(), n: 1}
	switch {
	case l == nil:
	case l.n == maxList:
		t.note(OpAppend, l.key, Version{Value: w.value()})
		next.key = l.key + d.cfg.Keys
	default:
		next.key, next.n, next.prev = l.key, l.n+1, l
	}
	t.note(OpAppend, next.key, Version{Value: next.value})
	return next
}

func (d *lists) write(w *worker[*node], t *txn, to mvcc.Tx[int, *node], slot int) {
	l, place := d.get(w, t, to, slot)
	next := d.longer(w, t, slot, l)
	if l != nil && w.percent(d.cfg.Delete) {
		to.Delete(place)
		place ^= 1
	}
	to.Set(place, next)
}

func (d *lists) oneKey(w *worker[*node], slot int) {
	place := 2 * slot
	if d.cfg.Delete > 0 {
		place += w.rng.IntN(2)
	}
	t := w.open(LevelOneKey)
	l, ok := w.m.Load(place)
	if ok || d.cfg.Delete == 0 {
		t.noteList(slot, l)
		w.single(&t)
	}
	if !w.percent(d.cfg.Write) {
		return
	}
	w.pause()
	t = w.open(LevelOneKey)
	t.noteList(slot, l)
	next := d.longer(w, &t, slot, l)
	switch {
	case ok && mvcc.CompareAndSwap(w.m, place, l, next):
		w.single(&t)
	case !ok && d.cfg.Delete == 0:
		actual, loaded := w.m.LoadOrStore(place, next)
		if loaded {
			t.ops = nil
			t.noteList(slot, actual)
		}
		w.single(&t)
	}
}
