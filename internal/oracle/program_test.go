package oracle

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A program is a sequence of actions of one goroutine over the tables of a database, with
// several open transactions and snapshots. Whoever runs it chooses, step by step: rapid, or the
// bytes of a fuzz test, see run_test.go. Nothing that is compared depends on what the background
// work is at.
type program struct {
	t      tester
	choose chooser

	db    *mvcc.DB
	o     *model
	now   map[string]*table // those of the database, by name
	open  []*handle
	keys  []string
	level mvcc.Level
	made  int // schemas
	names int
	trace []string
}

// A chooser chooses a number from 0 to n-1, for the purpose named.
type chooser func(n int, what string) int

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A reader is a map, a snapshot or a transaction of one with an order.
type reader interface {
	mvcc.Reader[string, int]
	Ascend(mvcc.Range[string]) iter.Seq2[string, int]
	Descend(mvcc.Range[string]) iter.Seq2[string, int]
	Min() (string, int, bool)
	Max() (string, int, bool)
}

const maxOpen = 6

var (
	errOwn   = errors.New("the program's own")
	allNames = []string{"hashed", "ordered", "indexed", "unique"}
	allKeys  = []string{"", "a", "a\xff", "aa", "ab", "b", "ba", "\xff", "\xff\xff"}
)

func newProgram(t tester, choose chooser) *program {
	p := &program{t: t, choose: choose, o: newModel(), now: map[string]*table{}}
	opts := &mvcc.Options{
		ReclaimInterval: time.Millisecond,
		ReclaimWorkers:  choose(3, "workers") - 1,
		PruneThreshold:  1 + choose(20, "threshold"),
		Isolation:       []mvcc.Level{mvcc.LevelSerializable, mvcc.LevelSnapshot}[choose(2, "level")],
		ManualReclaim:   choose(3, "manual") == 2,
	}
	p.level = opts.Isolation
	p.keys = allKeys[:2+choose(len(allKeys)-1, "keys")]
	p.note("%d keys, level %v", len(p.keys), p.level)
	p.db = mvcc.NewDB(opts)
	for _, name := range allNames {
		p.makeTable(name)
	}
	p.makeIndex(p.now["indexed"], kinds[0])
	p.makeIndex(p.now["unique"], kinds[3])
	return p
}

// makeTable makes a table, ordered by its name.
func (p *program) makeTable(name string) {
	t := &table{number: len(p.o.tables), changed: map[string]int{}}
	t.ordered = name == "ordered" || name == "unique"
	if t.ordered {
		t.m = mvcc.NewOrderedTable[string, int](p.db, name, nil)
	} else {
		t.m = mvcc.NewTable[string, int](p.db, name, nil)
	}
	p.o.tables = append(p.o.tables, t)
	p.now[name] = t
}

func (p *program) note(format string, args ...any) {
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

// check fails the program unless ok. What it fails with does not depend on the details: so that
// rapid can make it smaller.
func (p *program) check(ok bool, what, format string, details ...any) {
	if ok {
		return
	}
	p.t.Helper()
	p.t.Logf("the program:\n\t%s\n%s: %s", strings.Join(p.trace, "\n\t"), what,
		fmt.Sprintf(format, details...))
	p.t.Fatalf("%s is wrong", what)
}

func (p *program) same(what string, want, got any) {
	p.t.Helper()
	if !cmp.Equal(want, got) {
		p.check(false, what, "%s", cmp.Diff(want, got))
	}
}

func (p *program) key() string { return p.keys[p.choose(len(p.keys), "key")] }

// value makes up a value: for every other one a number of the key's own, so that the unique
// indexes do not refuse most of what is done.
func (p *program) value(key string) int {
	number := p.choose(numbers, "number")
	if p.choose(2, "own number") == 0 {
		number = 1 + slices.Index(p.keys, key)%(numbers-1)
	}
	return number<<3 | p.choose(8, "tags")
}

func (p *program) table() *table { return p.now[allNames[p.choose(len(allNames), "table")]] }

// of chooses a table for a handle: one of the database, or one that was closed since.
func (p *program) of(h *handle) *table {
	if h.alone != nil {
		return h.alone
	}
	var closed []*table
	for t := range h.readers {
		if t.closed {
			closed = append(closed, t)
		}
	}
	if len(closed) > 0 && p.choose(4, "closed") == 0 {
		slices.SortFunc(closed, func(a, b *table) int { return a.number - b.number })
		return closed[p.choose(len(closed), "table")]
	}
	return p.table()
}

// reader returns the handle for a table.
func (p *program) reader(h *handle, t *table) reader {
	r := h.readers[t]
	if t.closed || h.alone != nil {
		return r
	}
	var again reader
	if h.isTx {
		again = t.m.In(h.tx)
	} else {
		again = t.m.At(h.s)
	}
	p.check(r == nil || r == again, "In or At", "it is not the same again")
	h.readers[t] = again
	return again
}

func (p *program) tx(h *handle, t *table) mvcc.Tx[string, int] {
	return p.reader(h, t).(mvcc.Tx[string, int])
}

func (p *program) begun(h *handle, kind string) *handle {
	p.names++
	h.name = fmt.Sprint(kind, p.names)
	h.begun, h.at, h.parts = p.o.tick(), p.o.now(), map[*table]*part{}
	if h.readers == nil {
		h.readers = map[*table]reader{}
	}
	h.met, h.touched = touches{}, touches{}
	return h
}
