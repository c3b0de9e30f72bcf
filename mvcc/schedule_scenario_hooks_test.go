//go:build mvcccheck

package mvcc

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A scenario is a map, and a program for each actor.
type scenario struct {
	initial  string // see parseScenario
	programs [][]*operation
	scans    bool // by anybody
	moves    bool // somebody moves buckets
	patience int  // of everybody
}

// parseScenario reads a scenario from its text,
//
//	a b-|update ra wb; load a|prune
//
// The first part has a word for each key that has an entry: "a" has a value, "b-" was deleted, "c+"
// was overwritten once; the value of key number i is i+1. It may also say "eager": committers prune
// at every write; "busy": there is no background work, committers do it; "ordered": the keys have
// an order; "tables": each key is in a table of its own, but for the last, which is with the one
// before; "indexed": they are in one table, which has an index of the values; "indexable": it may
// get one; "wide": the table of the hash index has four buckets, not two; and "patience=2", see
// [scheduler]. The other parts are the programs of the actors, each a list of operations divided by
// semicolons.
func parseScenario(text string) (*scenario, error) {
	initial, rest, _ := strings.Cut(text, "|")
	sc := &scenario{initial: initial, patience: 1}
	for _, word := range strings.Fields(initial) {
		if n, ok := strings.CutPrefix(word, "patience="); ok {
			if _, err := fmt.Sscan(n, &sc.patience); err != nil {
				return nil, fmt.Errorf("scenario %q: %w", text, err)
			}
		}
	}
	id := 10
	for text := range strings.SplitSeq(rest, "|") {
		var program []*operation
		for _, part := range strings.Split(text, ";") {
			id++
			o, err := parseOperation(strings.TrimSpace(part), id)
			if err != nil {
				return nil, err
			}
			program = append(program, o)
			o.ordered = slices.Contains(strings.Fields(initial), "ordered")
			sc.moves = sc.moves || o.kind == opGrow || o.kind == opShrink
			for _, a := range o.acts {
				sc.scans = sc.scans || a.do == 's' || a.do == 'p'
			}
		}
		sc.programs = append(sc.programs, program)
	}
	return sc, nil
}

func (sc *scenario) String() string {
	var programs []string
	for _, p := range sc.programs {
		var texts []string
		for _, o := range p {
			texts = append(texts, o.text)
		}
		programs = append(programs, strings.Join(texts, "; "))
	}
	return sc.initial + "|" + strings.Join(programs, "|")
}

// newWorld returns a world for the programs. Nothing is pruned on it unless a program does.
func (sc *scenario) newWorld() (*world, state) {
	opts := still()
	opts.ReclaimQueue = 64 // a small one is made faster; the programs do not fill half of it
	words := strings.Fields(sc.initial)
	if slices.Contains(words, "eager") {
		opts.PruneThreshold = 1
	}
	if slices.Contains(words, "busy") {
		opts.ReclaimWorkers = -1
	}
	indexed := slices.Contains(words, "indexed")
	w := newWorld(opts, slices.Contains(words, "tables"), indexed ||
		slices.Contains(words, "indexable"),
		slices.Contains(words, "ordered"))
	if slices.Contains(words, "wide") {
		w.maps[0].index.Remake(4)
	}
	if indexed {
		w.buildIndex()
	}
	var now state
	for i, key := range programKeys {
		m := w.of[i]
		for _, word := range words {
			switch word {
			case key:
				m.Store(i, i+1)
				now[i] = i + 1
			case key + "-":
				m.Store(i, i+1)
				m.Delete(i)
			case key + "+":
				m.Store(i, 7)
				m.Store(i, i+1)
				now[i] = i + 1
			}
		}
	}
	coreOf(w.of[0]).gc.Refresh()
	return w, now
}

// orderlyHash returns a way to hash, the same every time, that tells the keys apart by their tags:
// so the steps on a map depend on nothing but the schedule. A hasher has a seed of its own: so it
// takes some tries.
var orderlyHash = sync.OnceValue(func() hasher.Hasher {
	for {
		h := hasher.New[int]()
		tags := map[uint64]bool{}
		for key := range programKeys {
			tags[index.TagOf(h.Sum(keyAt(key)))] = true
		}
		if len(tags) == len(programKeys) {
			return h
		}
	}
})

// parseOperation reads an operation from its text:
//
//	load a, store a, swap a, loadOrStore a, loadAndDelete a, delete a, compute a
//	cas a=2         CompareAndSwap from the value 2
//	view ra rb      a snapshot that reads a, then b
//	view scan       a snapshot that reads all keys by All, or in order
//	update len wb   a transaction that counts all keys, of one map, before it writes
//	view pb         a snapshot that reads the keys up to b, in order
//	view x          a snapshot that reads all keys by the index, if that is complete
//	index           the index is made
//	follow; hand    a watch of all keys begins; the commits are handed on
//	expire; thin    records expire from now on; the notes of that are looked at
//	refuse          the noted keys are taken for due, and OnExpire refuses to let them go
//	rest            the ticker stops, if nothing is due
//	past ra rb      a snapshot of the beginning, if it can be had
//	update ra wb dc a serializable transaction that reads a, writes b, deletes c
//	update ma ub    one that merges a, and reads b for update
//	snapshot ra wa  the same at snapshot level
//	alarmed ra wa    a serializable transaction with an alarm from the first
//	retry ra wa     the same by Update, with two attempts
//	clear           all keys are deleted
//	grow, shrink    the keys move to a table of twice or half as many buckets; beside it nobody
//	                may insert a key or remove one: that waits for the bucket
//	prune           a new view, and all keys are pruned with it
//	refresh         a new view
//
// id is the value that it writes.
func parseOperation(text string, id int) (*operation, error) {
	o := &operation{text: text, id: id, level: serializable}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, fmt.Errorf("empty operation")
	}
	key := func(word string) (int, error) {
		for i, k := range programKeys {
			if word == k {
				return i, nil
			}
		}
		return 0, fmt.Errorf("operation %q: no key %q", text, word)
	}
	if kind, ok := bareKinds[words[0]]; ok {
		o.kind = kind
		return o, nil
	}
	switch words[0] {
	case "view":
		o.kind = opView
	case "past":
		o.kind = opPast
	case "update":
		o.kind = opUpdate
	case "snapshot":
		o.kind, o.level = opUpdate, snapshot
	case "alarmed":
		o.kind, o.alarmed = opUpdate, true
	case "retry":
		o.kind, o.retry = opUpdate, true
	default:
		kind, ok := oneKeyKinds[words[0]]
		if !ok || len(words) != 2 {
			return nil, fmt.Errorf("operation %q is not known", text)
		}
		name, old, compares := strings.Cut(words[1], "=")
		if compares != (kind == opCompareAndSwap) {
			return nil, fmt.Errorf("operation %q: a value to compare with?", text)
		}
		if compares {
			if _, err := fmt.Sscan(old, &o.old); err != nil {
				return nil, fmt.Errorf("operation %q: %w", text, err)
			}
		}
		var err error
		o.kind = kind
		o.key, err = key(name)
		return o, err
	}
	for _, word := range words[1:] {
		if word == "scan" || word == "x" || word == "len" {
			o.acts = append(o.acts, act{do: word[0]})
			continue
		}
		k, err := key(word[1:])
		if err != nil || !strings.Contains("ruwmdp", word[:1]) ||
			o.kind == opPast && word[0] != 'r' || o.kind == opView && word[0] != 'r' && word[0] != 'p' {
			return nil, fmt.Errorf("operation %q: what is %q?", text, word)
		}
		o.acts = append(o.acts, act{word[0], k})
	}
	return o, nil
}
