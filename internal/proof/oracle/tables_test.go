package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// makeIndex makes an index of a table.
func (p *program[K, V]) makeIndex(t *table[K, V], k *kind[K, V]) {
	var opts *mvcc.IndexOptions
	if k.unique {
		opts = &mvcc.IndexOptions{Unique: true}
	}
	var err error
	ix := &index[K, V]{kind: k, of: t, changed: map[int]int{}, perhaps: map[int]int{}}
	if k.ordered {
		ix.ix, err = mvcc.NewOrderedIndexFunc(t.m, k.name, k.compare, k.keys, opts)
	} else {
		ix.ix, err = mvcc.NewIndex(t.m, k.name, k.keys, opts)
	}
	p.noteStep("index %s of %s: %v", k.name, t.m.Name(), err)
	all := p.o.newest(t)
	var u *mvcc.UniqueError
	if k.unique && len(k.twice(all)) > 0 {
		p.check(errors.As(err, &u) && twice(ix, all, u) && u.Index == k.name, "NewIndex", "%v", err)
	} else {
		p.check(err == nil, "NewIndex", "%v", err)
		t.indexes = append(t.indexes, ix)
		p.o.commit(map[*table[K, V]]map[K]*V{t: asWrites(all)}, nil)
		for _, e := range k.entries(all, span[int]{}, false) {
			ix.changed[e.index] = p.o.lastState()
		}
		t.rewritten = p.o.lastState()
	}
	ix.made = p.o.nextTick()
	p.altered(t)
}

// asWrites returns the writes that make the contents.
func asWrites[K, V comparable](all map[K]V) map[K]*V {
	writes := map[K]*V{}
	for key, value := range all {
		writes[key] = &value
	}
	return writes
}

func (p *program[K, V]) altered(t *table[K, V]) {
	if t.schema = 0; len(t.indexes) > 0 {
		p.schemas++
		t.schema = p.schemas
	}
}

// indexing makes an index, unless the table has it.
func (p *program[K, V]) indexing() {
	t, k := p.table(), p.kinds[p.choose(len(p.kinds), "index")]
	i := slices.IndexFunc(t.indexes, func(ix *index[K, V]) bool { return ix.kind == k })
	if i < 0 {
		p.makeIndex(t, k)
	}
}

// closeTable closes a table, and makes another one of that name.
func (p *program[K, V]) closeTable() {
	t := p.table()
	name := t.m.Name()
	p.noteStep("%s is closed, and made again", name)
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
	p.requireSame("Tables", slices.Sorted(slices.Values(allNames)), p.db.Tables())
}

// closeEngine ends the background work; the map, or database, goes on.
func (p *program[K, V]) closeEngine() {
	p.noteStep("Close")
	p.engine.Close()
	p.closed = true
}

// reclaim reclaims versions that nobody sees. Without background work the rest of a map is known.
func (p *program[K, V]) reclaim() {
	p.noteStep("Reclaim")
	s := mvcc.Stats{QueueDepth: 1}
	for i := 0; i == 0 || i < 4 && p.quiet && s.QueueDepth > 0; i++ {
		p.check(p.engine.Reclaim(bg) == nil, "Reclaim", "it fails")
		s = p.engine.Stats()
	}
	if !p.quiet || p.db != nil || s.QueueDepth > 0 {
		return
	}
	most, fewest := p.o.wanted(p.o.tables[0], slices.Concat(p.open, p.inside))
	p.check(fewest <= s.Versions && s.Versions <= most, "Stats.Versions", "%d to %d are wanted: %+v",
		fewest, most, s)
	made := 0
	for _, history := range p.o.tables[0].history {
		made += len(history)
	}
	p.requireSame("Stats.Pruned", made, s.Versions+int(s.Pruned))
}

// lookAtAll compares the tables and indexes, as they are now, with the model, and the snapshots
// that are open. Of many keys it does so now and then.
func (p *program[K, V]) lookAtAll() {
	p.checkStats()
	if p.steps++; len(p.keys) > 12 && p.steps%8 != 0 {
		return
	}
	for _, name := range p.names {
		t := p.now[name]
		s := t.m.Snapshot()
		p.whole(t, s, p.o.newest(t), p.o.nextTick())
		s.Close()
	}
	for _, h := range p.open {
		if !h.isTx {
			for t, r := range h.readers {
				p.whole(t, r, h.view(p.o, t), h.begun)
			}
		}
	}
}

func (p *program[K, V]) checkStats() {
	s := p.engine.Stats()
	p.requireSame("Stats.LiveTx", len(p.open), s.LiveTx)
	if p.db == nil {
		p.requireSame("Stats.Commits", uint64(p.o.lastState()), s.Commits)
		p.requireSame("help of others", uint64(0),
			s.Helped+s.Pushed+s.Revoked+s.Rivals+s.Reinstalled+s.Leaked)
	}
}

// whole compares all of a table, and of its indexes, with the expected contents.
func (p *program[K, V]) whole(t *table[K, V], r reader[K, V], want map[K]V, begun int) {
	got := maps.Collect(r.All())
	if !maps.Equal(want, got) {
		p.requireSame("contents of "+t.m.Name(), want, got)
	}
	for _, ix := range t.indexes {
		if ix.made > begun {
			continue
		}
		list := ix.entries(want, span[int]{}, false)
		if ix.ordered {
			p.compareLoop(nil, ix, want, ix.ix.Ascend(r, mvcc.Range[int]{}), list, -1)
			continue
		}
		for i := range numbers {
			others := func(e entry[K]) bool { return e.index != i }
			p.compareLoop(nil, ix, want, ix.ix.Get(r, i),
				slices.DeleteFunc(slices.Clone(list), others), -1)
		}
	}
}

// finish ends open transactions and looks at the rest.
func (p *program[K, V]) finish() {
	p.lookAtAll()
	for _, h := range p.open {
		p.noteStep("%s ends", h.name)
		p.endHandle(h)
	}
	p.open = nil
	p.closeEngine()
	p.steps = -1
	p.lookAtAll()
	// The batch that the background work has in hand when it ends is dropped a moment later.
	left := p.leftVersions()
	for end := time.Now().Add(time.Minute); left != "" && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		left = p.leftVersions()
	}
	p.check(left == "", "what is left", "%s", left)
}

// leftVersions names the versions left beside the newest one of each key, if any.
func (p *program[K, V]) leftVersions() string {
	p.reclaim()
	for _, t := range p.now {
		want := len(p.o.newest(t))
		if s := t.m.Stats(); t.m.Len() != want || s.Keys != want || s.Entries != want {
			return fmt.Sprintf("want %d keys in %s, has %d: %+v", want, t.m.Name(), t.m.Len(), s)
		}
	}
	if s := p.engine.Stats(); s.Versions != s.Entries || s.QueueDepth+s.Aside+s.LiveTx > 0 {
		return fmt.Sprintf("%+v", s)
	}
	return ""
}

func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}
