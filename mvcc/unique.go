package mvcc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
)

// extras are the records to which a transaction has given an index key of a unique index that
// another record has. The transaction cannot commit while there is one: so two records may
// exchange their index keys, in any order.
type extras struct {
	of map[extraKey][]any // keys of records
	// shared says that a savepoint or a loop keeps the map as it is.
	shared bool
}

// An extraKey is an index and an index key, of the types of the index.
type extraKey struct{ ix, key any }

// share returns the map as it is, which will not be changed any more.
func (x *extras) share() map[extraKey][]any {
	x.shared = x.of != nil
	return x.of
}

// restore makes the map what share has returned.
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

// remove reports whether the record was there.
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

// A UniqueError says that a transaction would have given two records the same index key of a
// unique index: it was rolled back. Trying again makes no sense unless the records have
// changed.
type UniqueError struct {
	// Table and Index name the index, see [Map.Name] and [Index.Name].
	Table, Index string
	// Key is the index key, and Records are the keys of the two records, as they are sorted
	// when printed.
	Key     any
	Records [2]any
}

func (e *UniqueError) Error() string {
	return fmt.Sprintf("mvcc: index %q of table %q is unique: records %v and %v have the index key %v",
		e.Index, e.Table, e.Records[0], e.Records[1], e.Key)
}

// extras returns those of the transaction.
//
//go:noinline
func (tx DBTx) extras() *extras { return &stateOf(tx.st).rare().extra }

// shareExtras returns the extras of the transaction to read them; ok is false if it is not one of a
// database.
//
//go:noinline
func (tx DBTx) shareExtras() (extra map[extraKey][]any, ok bool) {
	st := stateOf(tx.st)
	if st.m.types != nil {
		return nil, false
	}
	return st.extra.share(), true
}

// notUnique returns the error of the first index by name, and of the first index key as it is
// printed. An index that could not be made allows all: the commit conflicts, and begins anew.
func (x *extras) notUnique(tx DBTx) error {
	type unique interface {
		named() string
		dropped() *atomic.Bool
		notUnique(tx DBTx, key, record any) error
	}
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(x.of)), func(key extraKey) bool {
		return key.ix.(unique).dropped().Load()
	})
	if len(keys) == 0 {
		return nil
	}
	first := slices.MinFunc(keys, func(a, b extraKey) int {
		return cmp.Or(cmp.Compare(a.ix.(unique).named(), b.ix.(unique).named()),
			cmp.Compare(fmt.Sprint(a.key), fmt.Sprint(b.key)))
	})
	return first.ix.(unique).notUnique(tx, first.key, x.of[first][0])
}

func (ix *Index[I, K, V]) notUnique(tx DBTx, key, record any) error {
	owner, _ := ix.unique.get(moment(tx), true, key.(I))
	records := [2]any{owner, record}
	if fmt.Sprint(records[0]) > fmt.Sprint(records[1]) {
		records[0], records[1] = record, owner
	}
	return &UniqueError{Table: ix.m.Name(), Index: ix.name, Key: key, Records: records}
}
