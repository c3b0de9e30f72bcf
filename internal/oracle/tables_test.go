package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

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
	p.check(p.db.Reclaim(bg) == nil, "Reclaim", "it fails")
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
