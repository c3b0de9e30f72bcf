package mvcc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// extras are the records to which a transaction has given an index key of a unique index that
// another record has. A transaction that has extras cannot commit, but can go on: so two records
// may exchange their index keys, in any order.
type extras struct {
	of map[extraKey][]any // keys of records
	// shared says that a savepoint or a loop keeps the map as it is.
	shared bool
}

// An extraKey is an index and an index key, of the types of the index.
type extraKey struct{ ix, key any }

// share returns the map, which is not changed any more: changes go to a copy.
func (x *extras) share() map[extraKey][]any {
	x.shared = x.of != nil
	return x.of
}

// restore puts back a map that share has returned.
func (x *extras) restore(of map[extraKey][]any) { x.of, x.shared = of, true }

func (x *extras) own() {
	switch {
	case x.of == nil:
		x.of = map[extraKey][]any{}
	case x.shared:
		x.of = maps.Clone(x.of)
	}
	x.shared = false
}

func (x *extras) add(at extraKey, record any) {
	x.own()
	x.of[at] = append(slices.Clip(x.of[at]), record)
}

// remove removes a record, and reports whether it was there.
func (x *extras) remove(at extraKey, record any) bool {
	i := slices.Index(x.of[at], record)
	if i < 0 {
		return false
	}
	x.own()
	if rest := slices.Delete(slices.Clone(x.of[at]), i, i+1); len(rest) > 0 {
		x.of[at] = rest
	} else {
		delete(x.of, at)
	}
	return true
}

// A UniqueError says that a transaction was rolled back because it would have given two records the
// same key of a unique index.
type UniqueError struct {
	// Table and Index name the index.
	Table, Index string
	// Key is the index key, and Records the keys of the records, sorted as they are printed.
	Key     any
	Records [2]any
	// Others are further pairs, sorted, of a call that loads or makes the index. Of records with
	// one index key they pair the first with each other one.
	Others []*UniqueError
}

func (e *UniqueError) Error() string {
	var b strings.Builder
	e.write(&b)
	const most = 20
	for i, other := range e.Others {
		if i == most {
			fmt.Fprintf(&b, "\n\tand %d more, see UniqueError.Others", len(e.Others)-most)
			break
		}
		b.WriteString("\n\t")
		other.write(&b)
	}
	return b.String()
}

func (e *UniqueError) write(b *strings.Builder) {
	fmt.Fprintf(b, "mvcc: index %q of table %q is unique: records %v and %v have the index key %v",
		e.Index, e.Table, e.Records[0], e.Records[1], e.Key)
}

// gathered returns the first of the errors, with the rest in its Others; nil if there are none.
func gathered(list []*UniqueError) error {
	if len(list) == 0 {
		return nil
	}
	text := map[*UniqueError]string{}
	for _, e := range list {
		text[e] = fmt.Sprint(e.Key, "\x00", e.Records[0], "\x00", e.Records[1])
	}
	slices.SortFunc(list, func(a, b *UniqueError) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Index, b.Index), cmp.Compare(text[a], text[b]))
	})
	list[0].Others = list[1:]
	return list[0]
}

// extras returns the extras of the transaction, to change them.
//
//go:noinline
func (tx DBTx) extras() *extras { return &stateOf(tx.st).rare().extra }

// shareExtras returns the extras of the transaction to read them; ok is false if the transaction is
// not one of a database.
//
//go:noinline
func (tx DBTx) shareExtras() (extra map[extraKey][]any, ok bool) {
	st := stateOf(tx.st)
	if st.m.types != nil {
		return nil, false
	}
	return st.extra.share(), true
}

// A uniqueIndex is an Index without its types.
type uniqueIndex interface {
	named() string
	dropped() *atomic.Bool
	// notUnique returns the error for a record with the index key of another record.
	notUnique(tx DBTx, key, record any) error
}

// A pairing is a uniqueIndex that can name records: all can but mustNot.
type pairing interface {
	uniqueIndex
	// owner returns the record that has an index key.
	owner(tx DBTx, key any) any
	// pair returns the error for two records.
	pair(key, a, b any) *UniqueError
}

// allNotUnique is notUnique, but the error has all pairs.
func (x *extras) allNotUnique(tx DBTx) error {
	var list []*UniqueError
	for at, records := range x.of {
		if ix, is := at.ix.(pairing); is && !ix.dropped().Load() {
			records = append([]any{ix.owner(tx, at.key)}, records...)
			list = append(list, pairsOf(ix, at.key, records)...)
		}
	}
	return gathered(list)
}

// notUnique returns the error of the first index by name, and there of the first index key as it is
// printed. An index that could not be made allows all: the commit conflicts and begins anew.
func (x *extras) notUnique(tx DBTx) error {
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(x.of)), func(key extraKey) bool {
		return key.ix.(uniqueIndex).dropped().Load()
	})
	if len(keys) == 0 {
		return nil
	}
	first := slices.MinFunc(keys, func(a, b extraKey) int {
		return cmp.Or(cmp.Compare(a.ix.(uniqueIndex).named(), b.ix.(uniqueIndex).named()),
			cmp.Compare(fmt.Sprint(a.key), fmt.Sprint(b.key)))
	})
	return first.ix.(uniqueIndex).notUnique(tx, first.key, x.of[first][0])
}

func (ix *Index[I, K, V]) notUnique(tx DBTx, key, record any) error {
	return ix.pair(key, ix.owner(tx, key), record)
}

func (ix *Index[I, K, V]) owner(tx DBTx, key any) any {
	record, _ := ix.unique.get(moment(tx), true, key.(I))
	return record
}

func (ix *Index[I, K, V]) pair(key, a, b any) *UniqueError {
	if fmt.Sprint(a) > fmt.Sprint(b) {
		a, b = b, a
	}
	return &UniqueError{Table: ix.m.Name(), Index: ix.name, Key: key, Records: [2]any{a, b}}
}

// pairsOf returns the first of the records with each other one.
func pairsOf(ix pairing, key any, records []any) (list []*UniqueError) {
	slices.SortFunc(records, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, record := range records[1:] {
		list = append(list, ix.pair(key, records[0], record))
	}
	return list
}

// allPairs returns err; or, if err is of a pair, an error of all pairs in a snapshot.
func (ix *Index[I, K, V]) allPairs(err error) error {
	if !errors.As(err, new(*UniqueError)) {
		return err
	}
	owners, all := map[I]K{}, map[I][]any{}
	s := ix.m.Snapshot()
	defer s.Close()
	if s.Try(func() error {
		for record, value := range s.All() {
			for _, key := range ix.keys(record, value) {
				if owner, taken := owners[key]; !taken {
					owners[key] = record
				} else if owner != record && all[key] == nil {
					all[key] = []any{owner, record}
				} else if owner != record {
					all[key] = append(all[key], record)
				}
			}
		}
		return nil
	}) != nil || len(all) == 0 { // it was evicted, or the pairs are gone again
		return err
	}
	var list []*UniqueError
	for key, records := range all {
		list = append(list, pairsOf(ix, key, records)...)
	}
	return gathered(list)
}
