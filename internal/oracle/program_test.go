package oracle

import (
	"errors"
	"fmt"
	"iter"
	"maps"
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

func (p *program) txOptions() (*mvcc.TxOptions, mvcc.Level) {
	switch p.choose(3, "level") {
	case 0:
		return &mvcc.TxOptions{Isolation: mvcc.LevelSerializable}, mvcc.LevelSerializable
	case 1:
		return &mvcc.TxOptions{Isolation: mvcc.LevelSnapshot}, mvcc.LevelSnapshot
	}
	return nil, p.level
}

func (p *program) begin() {
	opts, level := p.txOptions()
	h := &handle{isTx: true, level: level}
	if p.choose(4, "of a table") == 3 {
		t := p.table()
		h = p.begun(h, "tx")
		h.alone, h.plain, h.readers[t] = t, len(t.indexes) == 0, t.m.Begin(opts)
		p.note("%s = %s.Begin(%v)", h.name, t.m.Name(), level)
	} else {
		h.tx = p.db.Begin(opts)
		h = p.begun(h, "tx")
		p.note("%s = db.Begin(%v)", h.name, level)
	}
	p.open = append(p.open, h)
}

func (p *program) snapshot() {
	h := p.begun(&handle{}, "s")
	if p.choose(4, "of a table") == 3 {
		t := p.table()
		h.alone, h.readers[t] = t, t.m.Snapshot()
		p.note("%s = %s.Snapshot()", h.name, t.m.Name())
	} else {
		h.s = p.db.Snapshot()
		p.note("%s = db.Snapshot()", h.name)
	}
	p.open = append(p.open, h)
}

// pick chooses one of the transactions, or of all that is open.
func (p *program) pick(tx bool) (i int, h *handle) {
	var is []int
	for i, h := range p.open {
		if h.isTx || !tx {
			is = append(is, i)
		}
	}
	i = is[p.choose(len(is), "handle")]
	return i, p.open[i]
}

func (p *program) has(tx bool) bool {
	return slices.ContainsFunc(p.open, func(h *handle) bool { return h.isTx || !tx })
}

func (p *program) commit() {
	i, h := p.pick(true)
	v := h.verdict(p.o)
	p.note("%s.Commit(): %+v", h.name, v)
	failing := p.err(h)
	var told []uint64
	onCommit, commit := h.tx.OnCommit, h.tx.Commit
	if h.alone != nil {
		tx := p.tx(h, h.alone)
		onCommit, commit = tx.OnCommit, tx.Commit
	}
	onCommit(func(epoch uint64) { told = append(told, epoch) })
	err := commit()
	p.open = slices.Delete(p.open, i, i+1)
	p.check(!failing || err != nil, "Commit", "it succeeds, though Err had said no")
	p.outcome("Commit", h, v, err)
	if err == nil {
		p.check(len(told) == 1, "OnCommit", "told of %v", told)
		if h.writesAny() {
			p.check(told[0] == p.db.Epoch(), "OnCommit", "told of %d, want %d", told[0], p.db.Epoch())
			p.o.commit(h.final(p.o), h.touched)
		}
	} else {
		p.check(told == nil, "OnCommit", "told of %v", told)
	}
}

// outcome compares what became of a commit with what may.
func (p *program) outcome(what string, h *handle, v outcomes, err error) {
	var c *mvcc.ConflictError
	var u *mvcc.UniqueError
	switch {
	case err == nil:
		p.check(v.ok, what, "it succeeds, want %+v", v)
	case errors.As(err, &c):
		p.check(v.conflict && errors.Is(err, mvcc.ErrConflict), what, "%v, want %+v", err, v)
		p.check(h.explains(p.o, c), what, "%#v is not what happened", c)
	case errors.As(err, &u):
		p.check(v.refused && p.refuses(h, u), what, "%v, want %+v", err, v)
	default:
		p.check(false, what, "%v", err)
	}
}

// refuses reports whether u is what a unique index says of the transaction.
func (p *program) refuses(h *handle, u *mvcc.UniqueError) bool {
	for t, part := range h.parts {
		for _, ix := range part.by {
			if t.m.Name() == u.Table && ix.name == u.Index && twice(ix, h.view(p.o, t), u) {
				return true
			}
		}
	}
	return false
}

func twice(ix *index, all map[string]int, u *mvcc.UniqueError) bool {
	i, _ := u.Key.(int)
	owners := ix.twice(all)[i]
	a, _ := u.Records[0].(string)
	b, _ := u.Records[1].(string)
	return ix.unique && a != b && slices.Contains(owners, a) && slices.Contains(owners, b)
}

// err compares what Err says, and reports whether that is that the transaction cannot commit.
func (p *program) err(h *handle) bool {
	err := h.tx.Err
	if h.alone != nil {
		err = p.tx(h, h.alone).Err
	}
	var c *mvcc.ConflictError
	got := err()
	if p.check(got != nil || !h.doomed(p.o), "Err",
		"nil, though what was read is overwritten"); got == nil {
		return false
	}
	v := h.verdict(p.o)
	p.check(errors.As(got, &c) && (v.conflict || v.refused), "Err", "%v, want %+v", got, v)
	p.check(h.explains(p.o, c), "Err", "%#v is not what happened", c)
	return true
}

func (p *program) rollback() {
	i, h := p.pick(false)
	p.note("%s ends", h.name)
	p.end(h)
	p.open = slices.Delete(p.open, i, i+1)
}

func (p *program) end(h *handle) {
	switch {
	case h.alone == nil && h.isTx:
		h.tx.Rollback()
	case h.alone == nil:
		h.s.Close()
	case h.isTx:
		p.tx(h, h.alone).Rollback()
	default:
		h.readers[h.alone].(mvcc.Snapshot[string, int]).Close()
	}
}

// update runs some steps in an Update, beside which others commit in the first attempt.
func (p *program) update() {
	opts, level := p.txOptions()
	var alone *table
	if p.choose(4, "of a table") == 3 {
		alone = p.table()
	}
	steps, beside, ending := 1+p.choose(6, "steps"), p.choose(3, "beside"), p.choose(5, "ending")
	p.note("Update(%v), %d steps, %d beside, ending %d:", level, steps, beside, ending)
	var h *handle
	var last outcomes
	calls := 0
	body := func(x *handle) error {
		if calls++; calls > 1 {
			p.check(last.conflict && calls == 2, "Update", "it runs again after %+v", last)
			p.note("again:")
		}
		h = p.begun(x, "tx")
		for i := range steps {
			p.step(h)
			if calls == 1 && i < beside {
				p.store()
			}
		}
		last = h.verdict(p.o)
		if ending == 4 {
			return errOwn
		}
		return nil
	}
	var err error
	if alone != nil {
		err = alone.m.Update(p.context(), opts, func(tx mvcc.Tx[string, int]) error {
			h := &handle{isTx: true, level: level, alone: alone, plain: len(alone.indexes) == 0}
			h.readers = map[*table]reader{alone: tx}
			return body(h)
		})
	} else {
		err = p.db.Update(p.context(), opts, func(tx mvcc.DBTx) error {
			return body(&handle{isTx: true, level: level, tx: tx})
		})
	}
	p.note("end of the Update: %+v", last)
	if ending == 4 {
		p.check(err == errOwn && calls == 1, "Update", "%v, %d calls", err, calls)
		return
	}
	last.conflict = false // it tries again
	p.outcome("Update", h, last, err)
	if err == nil && h.writesAny() {
		p.o.commit(h.final(p.o), h.touched)
	}
}

// makeIndex makes an index of a table.
func (p *program) makeIndex(t *table, k *kind) {
	var opts *mvcc.IndexOptions
	if k.unique {
		opts = &mvcc.IndexOptions{Unique: true}
	}
	var err error
	ix := &index{kind: k, of: t, changed: map[int]int{}, perhaps: map[int]int{}}
	if k.ordered {
		ix.ix, err = mvcc.NewOrderedIndexFunc(t.m, k.name, k.compare, k.keys, opts)
	} else {
		ix.ix, err = mvcc.NewIndex(t.m, k.name, k.keys, opts)
	}
	p.note("index %s of %s: %v", k.name, t.m.Name(), err)
	all := p.o.newest(t)
	var u *mvcc.UniqueError
	if k.unique && len(k.twice(all)) > 0 {
		p.check(errors.As(err, &u) && twice(ix, all, u) && u.Index == k.name, "NewIndex", "%v", err)
	} else {
		p.check(err == nil, "NewIndex", "%v", err)
		t.indexes = append(t.indexes, ix)
		p.o.commit(map[*table]map[string]*int{t: asWrites(all)}, nil)
		for _, e := range k.entries(all, span[int]{}, false) {
			ix.changed[e.index] = p.o.now()
		}
		t.rewritten = p.o.now()
	}
	ix.made = p.o.tick()
	p.altered(t)
}

// asWrites returns the writes that make what there is.
func asWrites(all map[string]int) map[string]*int {
	writes := map[string]*int{}
	for key, value := range all {
		writes[key] = &value
	}
	return writes
}

func (p *program) altered(t *table) {
	if t.schema = 0; len(t.indexes) > 0 {
		p.made++
		t.schema = p.made
	}
}

// indexing makes an index, or drops it if the table has it.
func (p *program) indexing() {
	t, k := p.table(), kinds[p.choose(len(kinds), "index")]
	i := slices.IndexFunc(t.indexes, func(ix *index) bool { return ix.kind == k })
	if i < 0 {
		p.makeIndex(t, k)
		return
	}
	p.note("%s of %s is dropped", k.name, t.m.Name())
	t.indexes[i].ix.Drop()
	t.indexes[i].dropped = true
	t.indexes = slices.Delete(slices.Clone(t.indexes), i, i+1)
	p.altered(t)
}

// closeTable closes a table, and makes another one of that name.
func (p *program) closeTable() {
	t := p.table()
	name := t.m.Name()
	p.note("%s is closed, and made again", name)
	t.m.Close()
	t.closed = true
	for _, h := range p.open {
		if h.alone == nil {
			msg := panicOf(func() {
				if h.isTx {
					t.m.In(h.tx)
				} else {
					t.m.At(h.s)
				}
			})
			p.check(strings.Contains(fmt.Sprint(msg), "was closed"), "In or At of a closed table", "%v", msg)
		}
	}
	p.makeTable(name)
	p.same("Tables", slices.Sorted(slices.Values(allNames)), p.db.Tables())
}

func (p *program) reclaim() {
	p.note("Reclaim")
	p.check(p.db.Reclaim(p.context()) == nil, "Reclaim", "it fails")
}

// lookAtAll compares the tables and indexes, as they are now, with the model, and one of the
// snapshots that are open.
func (p *program) lookAtAll() {
	s := p.db.Snapshot()
	defer s.Close()
	for _, name := range allNames {
		t := p.now[name]
		p.whole(t, t.m.At(s), p.o.newest(t), p.o.tick())
	}
	for _, h := range p.open {
		if !h.isTx {
			for t, r := range h.readers {
				p.whole(t, r, h.view(p.o, t), h.begun)
			}
		}
	}
}

// whole compares all of a table, and of its indexes, with what is wanted.
func (p *program) whole(t *table, r reader, want map[string]int, begun int) {
	got := maps.Collect(r.All())
	if !maps.Equal(want, got) {
		p.same("contents of "+t.m.Name(), want, got)
	}
	for _, ix := range t.indexes {
		if ix.made > begun {
			continue
		}
		list := ix.entries(want, span[int]{}, false)
		if ix.ordered {
			p.loop(nil, ix, want, ix.ix.Ascend(r, mvcc.Range[int]{}), list, -1)
			continue
		}
		for i := range numbers {
			others := func(e entry) bool { return e.index != i }
			p.loop(nil, ix, want, ix.ix.Get(r, i), slices.DeleteFunc(slices.Clone(list), others), -1)
		}
	}
}

// finish ends what is open and looks at what is left.
func (p *program) finish() {
	p.lookAtAll()
	for _, h := range p.open {
		p.note("%s ends", h.name)
		p.end(h)
	}
	p.open = nil
	p.reclaim()
	p.lookAtAll()
	live := p.db.Stats().LiveTx
	p.check(live == 0, "Stats.LiveTx", "%d", live)
	for _, t := range p.now {
		want := len(p.o.newest(t))
		p.check(t.m.Len() == want, "Len", "%s has %d keys, want %d", t.m.Name(), t.m.Len(), want)
	}
}

func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}
