package oracle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A program is a sequence of actions of one goroutine over the tables of a database, or over one
// map, with several open transactions and snapshots. rapid chooses, step by step. Nothing that is
// compared depends on the progress of the background work, so that a program fails again when it
// is run again.
type program[K, V comparable] struct {
	data[K, V]
	t *rapid.T

	db     *mvcc.DB // nil for a map
	engine engine   // the database, or the map
	o      *model[K, V]
	names  []string
	now    map[string]*table[K, V] // those of the database, by name
	open   []*handle[K, V]
	inside []*handle[K, V] // that of the Update under way
	again  bool            // and it runs again: it must not be in its own way any more
	kinds  []*kind[K, V]
	keys   []K
	level  mvcc.Level
	quiet  bool // there is no background work, and never was
	closed bool

	schemas, handles, values, steps int // made so far
	trace                           []func() string
}

// An engine is a database, or a map.
type engine interface {
	Reclaim(ctx context.Context) error
	Stats() mvcc.Stats
	Epoch() uint64
	Close()
}

// choose chooses a number from 0 to n-1, for the purpose named.
func (p *program[K, V]) choose(n int, purpose string) int {
	return rapid.IntRange(0, n-1).Draw(p.t, purpose)
}

// A reader is a map, a snapshot or a transaction of one.
type reader[K, V comparable] interface {
	mvcc.Reader[K, V]
	Ascend(mvcc.Range[K]) iter.Seq2[K, V]
	Descend(mvcc.Range[K]) iter.Seq2[K, V]
	Min() (K, V, bool)
	Max() (K, V, bool)
}

const (
	maxOpen  = 6
	manyKeys = 100 // more than a scan looks at together
)

var (
	errOwn   = errors.New("the program's own")
	allNames = []string{"hashed", "ordered", "indexed", "unique"}
)

func newProgram[K, V comparable](t *rapid.T, d data[K, V]) *program[K, V] {
	p := &program[K, V]{data: d, t: t, kinds: kindsOf(d), now: map[string]*table[K, V]{}}
	choose := p.choose
	opts := &mvcc.Options{
		ReclaimInterval: time.Millisecond,
		ReclaimWorkers:  choose(4, "workers") - 1,
		ReclaimQueue:    []int{16, 1, manyKeys}[choose(3, "queue")],
		PruneThreshold:  1 + choose(20, "threshold"),
		Capacity:        []int{0, 1, manyKeys}[choose(3, "capacity")],
		Isolation:       mvcc.Level(choose(3, "level")),
		ManualReclaim:   choose(4, "manual") == 3,
	}
	if opts.ReclaimWorkers < 0 {
		opts.ReclaimInterval = time.Hour
	}
	p.quiet = opts.ReclaimWorkers < 0 || opts.ManualReclaim
	if p.level = opts.Isolation; p.level == mvcc.LevelDefault {
		p.level = mvcc.LevelSerializable
	}
	few := len(d.keys) - manyKeys
	if p.keys = d.keys[:1+choose(few, "keys")]; choose(8, "many") == 7 {
		p.keys = slices.SortedFunc(slices.Values(d.keys), d.compare)
	}
	shape := choose(4, "shape")
	p.noteStep("%d keys, shape %d, %+v", len(p.keys), shape, *opts)
	if shape < 2 { // a map, with an order or without
		m := mvcc.New[K, V](opts)
		if shape == 1 {
			m = d.newMap(opts)
		}
		p.engine, p.names = m, []string{m.Name()}
		p.o = &model[K, V]{epochs: []uint64{m.Epoch()}, states: []state[K, V]{nil}, engine: m}
		p.add(m.Name(), &table[K, V]{m: m, ordered: shape == 1})
		return p
	}
	p.db = mvcc.NewDB(opts)
	p.engine, p.names = p.db, allNames
	p.o = &model[K, V]{epochs: []uint64{p.db.Epoch()}, states: []state[K, V]{nil}, engine: p.db}
	for _, name := range p.names {
		p.makeTable(name)
	}
	p.makeIndex(p.now["indexed"], p.kinds[0])
	p.makeIndex(p.now["unique"], p.kinds[3])
	return p
}

// makeTable makes a table, ordered by its name.
func (p *program[K, V]) makeTable(name string) {
	t := &table[K, V]{ordered: name == "ordered" || name == "unique"}
	if t.ordered {
		t.m = p.newTable(p.db, name, nil)
	} else {
		t.m = mvcc.NewTable[K, V](p.db, name, nil)
	}
	p.add(name, t)
}

func (p *program[K, V]) add(name string, t *table[K, V]) {
	t.number, t.compare = len(p.o.tables), p.compare
	t.changed, t.history = map[K]int{}, map[K][]int{}
	p.o.tables = append(p.o.tables, t)
	p.now[name] = t
}

// noteStep notes the steps of the program, for the case that it fails.
func (p *program[K, V]) noteStep(format string, args ...any) {
	p.trace = append(p.trace, func() string { return fmt.Sprintf(format, args...) })
}

// check fails the program unless ok. Its message does not depend on the details: so that rapid
// can make it smaller.
func (p *program[K, V]) check(ok bool, what, format string, details ...any) {
	if ok {
		return
	}
	p.t.Helper()
	var steps strings.Builder
	for _, step := range p.trace {
		steps.WriteString("\t" + step() + "\n")
	}
	p.t.Logf("the program:\n%s%s: %s", &steps, what, fmt.Sprintf(format, details...))
	p.t.Fatalf("%s is wrong", what)
}

func (p *program[K, V]) requireSame(what string, want, got any) {
	p.t.Helper()
	if !gocmp.Equal(want, got) {
		p.check(false, what, "%s", gocmp.Diff(want, got))
	}
}

// found returns a function that checks the result of a read.
func (p *program[K, V]) found(what string, want V, present bool) func(got V, ok bool) {
	p.t.Helper()
	return func(got V, ok bool) {
		p.t.Helper()
		p.check(ok == present && got == want, what, "want %v (%v), got %v (%v)", want, present, got, ok)
	}
}

func (p *program[K, V]) key() K { return p.keys[p.choose(len(p.keys), "key")] }

// value makes up a value that was not there before: for every other one a number of the key's
// own, so that the unique indexes do not refuse most of the writes.
func (p *program[K, V]) value(key K) V {
	number := p.choose(numbers, "number")
	if p.choose(2, "own number") == 0 {
		number = p.ownNumber(key)
	}
	return p.fresh(number, p.choose(8, "tags"))
}

func (p *program[K, V]) fresh(number, tags int) V {
	p.values++
	return p.make(p.values<<6 | number<<3 | tags)
}

// ownNumber returns the number of a key's own.
func (p *program[K, V]) ownNumber(key K) int { return 1 + slices.Index(p.keys, key)%(numbers-1) }

// mixer returns a function for Merge.
func (p *program[K, V]) mixer(key K) merge[V] {
	value := p.number(p.value(key))
	return func(old V, ok bool) V {
		if !ok {
			return p.make(value)
		}
		return p.make(value ^ p.number(old)&7 ^ p.number(old)>>6<<20)
	}
}

func (p *program[K, V]) table() *table[K, V] {
	return p.now[p.names[p.choose(len(p.names), "table")]]
}

// chooseTable chooses a table for a handle: one of the database, or one that was closed since.
func (p *program[K, V]) chooseTable(h *handle[K, V]) *table[K, V] {
	if h.alone != nil {
		return h.alone
	}
	var closed []*table[K, V]
	for t := range h.readers {
		if t.closed {
			closed = append(closed, t)
		}
	}
	if len(closed) > 0 && p.choose(4, "closed") == 0 {
		slices.SortFunc(closed, func(a, b *table[K, V]) int { return a.number - b.number })
		return closed[p.choose(len(closed), "table")]
	}
	return p.table()
}

// reader returns the handle for a table.
func (p *program[K, V]) reader(h *handle[K, V], t *table[K, V]) reader[K, V] {
	r := h.readers[t]
	if t.closed || h.alone != nil {
		return r
	}
	var again reader[K, V]
	if h.isTx {
		again = t.m.In(h.tx)
	} else {
		again = t.m.At(h.s)
	}
	p.check(r == nil || r == again, "In or At", "it is not the same again")
	h.readers[t] = again
	return again
}

func (p *program[K, V]) txOn(h *handle[K, V], t *table[K, V]) mvcc.Tx[K, V] {
	return p.reader(h, t).(mvcc.Tx[K, V])
}

// begun notes a handle that was opened. The caller has set the reader of one of a table alone.
func (p *program[K, V]) begun(h *handle[K, V], kind string) *handle[K, V] {
	p.handles++
	h.name = fmt.Sprint(kind, p.handles)
	h.begun, h.at, h.parts = p.o.nextTick(), p.o.lastState(), map[*table[K, V]]*part[K, V]{}
	if h.readers == nil {
		h.readers = map[*table[K, V]]reader[K, V]{}
	}
	h.met, h.touched = touches[K, V]{}, touches[K, V]{}
	switch {
	case h.alone != nil:
		h.epoch = h.readers[h.alone].Epoch()
	case h.isTx:
		h.epoch = h.tx.Epoch()
	default:
		h.epoch = h.s.Epoch()
	}
	p.check(h.epoch >= p.o.epochs[h.at], "Epoch", "%d, after a commit at %d", h.epoch,
		p.o.epochs[h.at])
	return h
}
