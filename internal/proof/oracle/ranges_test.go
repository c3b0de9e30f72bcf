package oracle

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

func (p *program[K, V]) ranged(h *handle[K, V], t *table[K, V]) {
	if !t.ordered {
		if h.alone != nil {
			return
		}
		t = p.now["ordered"]
	}
	p.noteStep("%s: %s:", h.name, t.m.Name())
	p.rangeOf(h, t, p.reader(h, t), h.view(p.o, t))
}

// rangeOf reads a part of an ordered table.
func (p *program[K, V]) rangeOf(h *handle[K, V], t *table[K, V], r reader[K, V], want map[K]V) {
	in, down, prefix := span[K]{}, p.choose(2, "down") == 1, false
	var engine mvcc.Range[K]
	var first K
	note := func(in span[K]) {
		if h != nil && h.isTx {
			h.hasRead = true
			h.partOf(t).ranges = append(h.partOf(t).ranges, in)
		}
	}
	switch p.choose(6, "range") {
	case 0: // Min or Max
		keys := p.inOrder(want, in, down)
		key, value, ok := r.Min()
		if down {
			key, value, ok = r.Max()
			if h != nil && h.isTx && len(keys) > 0 {
				note(in.cutAt(keys[len(keys)-1], false)) // Min was called as well
			}
		}
		p.noteStep("Min or Max, down %v", down)
		if len(keys) == 0 {
			p.check(!ok, "Min or Max", "%v, want none", key)
			note(in)
			return
		}
		p.requireSame("Min or Max", []any{keys[0], want[keys[0]], true}, []any{key, value, ok})
		note(in.cutAt(keys[0], down))
		return
	case 1:
		if prefix = p.prefix != nil; prefix {
			first = p.key()
			engine, in = p.prefix(first)
			break
		}
		fallthrough
	default:
		in = chosen(p, func(string) K { return p.key() })
		engine = in.engine()
	}
	keys := p.inOrder(want, in, down)
	if prefix {
		for key := range want {
			begins := strings.HasPrefix(fmt.Sprint(key), fmt.Sprint(first))
			p.check(begins == slices.Contains(keys, key), "the model", "prefix %v, %v", first, key)
		}
	}
	left := len(keys) + 1
	if p.choose(6, "count") == 5 {
		p.noteStep("CountRange %v", engine)
		p.requireSame("CountRange", len(keys), mvcc.CountRange(r, engine))
		note(in)
		return
	}
	if p.choose(2, "leave") == 1 {
		left = 1 + p.choose(len(p.keys), "how many")
	}
	p.noteStep("range %v, down %v, left at %d", engine, down, left)
	seq := r.Ascend(engine)
	if down {
		seq = r.Descend(engine)
	}
	got := []K{}
	for key, value := range seq {
		got = append(got, key)
		p.check(value == want[key], "value in a range", "%v is %v, want %v", key, value, want[key])
		if h != nil && len(got) == 1 && p.choose(4, "nested") == 3 {
			p.rangeOf(h, t, r, want)
		}
		if len(got) == left {
			break
		}
	}
	p.requireSame("range", keys[:min(left, len(keys))], got)
	if len(got) == left {
		in = in.cutAt(got[left-1], down)
	}
	note(in)
}

func (p *program[K, V]) lookup(h *handle[K, V], t *table[K, V]) {
	p.noteStep("%s: %s:", h.name, t.m.Name())
	p.lookupOf(h, t, p.reader(h, t), h.view(p.o, t))
}

// lookupOf reads by an index of a table, if it has one. One that was made after the handle began
// cannot be read.
func (p *program[K, V]) lookupOf(h *handle[K, V], t *table[K, V], r reader[K, V], want map[K]V) {
	if len(t.indexes) == 0 {
		return
	}
	ix := t.indexes[p.choose(len(t.indexes), "index")]
	if h == nil || ix.made < h.begun {
		switch p.choose(4, "how") {
		case 0:
			p.readPage(h, ix, r, want)
			return
		case 1:
			p.facets(h, ix, r, want)
			return
		}
	}
	i, down := p.choose(numbers, "index key"), p.choose(2, "down") == 1
	seq, in, point := ix.ix.Get(r, i), span[int]{low: &i, high: &i}, ix.unique
	if ix.ordered && p.choose(3, "range") > 0 {
		in, point = chosen(p, func(what string) int { return p.choose(numbers, what) }), false
		if seq = ix.ix.Ascend(r, in.engine()); down {
			seq = ix.ix.Descend(r, in.engine())
		}
	} else {
		down = false
	}
	p.noteStep("by %s: %v, down %v", ix.name, in.engine(), down)
	if h != nil && ix.made > h.begun {
		got := panicOf(func() {
			for range seq {
				break
			}
		})
		p.check(strings.Contains(fmt.Sprint(got), "was not complete"), "an index that is too new", "%v",
			got)
		return
	}
	list := ix.entries(want, in, down)
	left := -1
	if len(list) > 0 && p.choose(2, "leave") == 1 {
		left = 1 + p.choose(len(list), "how many")
	}
	seen := look[K, V]{ix: ix, in: in, point: point}
	if left > 0 {
		seen.leave(list[left-1].index, down)
	}
	h.looks(seen)
	p.compareLoop(h, ix, want, seq, list, left)
}

// looks notes the reads of an index by a transaction.
func (h *handle[K, V]) looks(seen look[K, V]) {
	if h != nil && h.isTx {
		h.hasRead = true
		h.seen = append(h.seen, seen)
	}
}

// leave makes it the read of a loop that was left at an index key.
func (l *look[K, V]) leave(edge int, down bool) {
	l.in = l.in.cutAt(edge, down)
	if !l.ix.unique {
		l.edges = append(l.edges, edge)
	}
}

// compareLoop compares a loop by an index, which is left after so many records, with the entries
// that it must find. In a transaction each of the records is read.
func (p *program[K, V]) compareLoop(h *handle[K, V], ix *index[K, V], want map[K]V,
	seq iter.Seq2[K, V], list []entry[K], left int) {
	got := make([]entry[K], 0, len(list))
	for key, value := range seq {
		p.check(len(got) < len(list), "by an index", "%s: %v is too much after %v", ix.name, key, got)
		p.check(value == want[key], "value by an index",
			"%s: %v is %v, want %v", ix.name, key, value, want[key])
		if h != nil {
			h.get(ix.of, key, false)
		}
		if got = append(got, entry[K]{list[len(got)].index, key}); len(got) == left {
			break
		}
	}
	wanted := list
	if left > 0 {
		wanted = list[:left]
	}
	if !slices.Equal(wanted, got) {
		p.requireSame("by an index", fmt.Sprint(ix.name, wanted), fmt.Sprint(ix.name, got))
	}
}
