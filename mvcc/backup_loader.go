package mvcc

import (
	"fmt"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/hasher"
)

const blockSize = 1024

// A tableLoader is the loader of a map.
type tableLoader[K comparable, V any] struct {
	m *Map[K, V]
	// list has n records in blocks, of which all but the last are full: it is not copied as it grows.
	list  [][]saved[K, V]
	n     int
	at    map[K]int // where a key is in it
	clear bool      // what is there goes
	all   bool      // list has all records, in their order, and not the last one of each key
}

func newLoader[K comparable, V any](of *engine) loader {
	return &tableLoader[K, V]{m: mapOf[K, V](of), at: map[K]int{}}
}

func (l *tableLoader[K, V]) add(dec decoder, once bool) error {
	var r saved[K, V]
	if valueless[V]() {
		var k savedKey[K]
		err := dec.Decode(&k)
		if err != nil {
			return err
		}
		r.K, r.D = k.K, k.D
	} else if err := dec.Decode(&r); err != nil {
		return err
	}
	if !l.m.plain && !reflect.ValueOf(&r.K).Elem().Comparable() {
		return fmt.Errorf("the key %s (%T) cannot be compared", keyText(r.K), r.K)
	}
	if l.m.badKey(useTx, r.K) {
		return fmt.Errorf("the key %v (%s) is not equal to itself", r.K, hasher.TypeOf((*K)(nil)))
	}
	at, there := l.at[r.K]
	switch {
	case !there:
		if !l.all {
			l.at[r.K] = l.n
		}
		if l.n%blockSize == 0 {
			l.list = append(l.list, make([]saved[K, V], 0, min(l.n+1, blockSize)))
		}
		last := &l.list[l.n/blockSize]
		*last = append(*last, r)
		l.n++
	case once:
		return fmt.Errorf("its key is %s, and so is that of record %d: which one is right is not known",
			keyText(r.K), at+1)
	default:
		l.list[at/blockSize][at%blockSize] = r
	}
	return nil
}

func (l *tableLoader[K, V]) renew() { l.list, l.n, l.at, l.clear = nil, 0, map[K]int{}, true }

func (l *tableLoader[K, V]) inOrder() { l.all, l.at = true, nil }

func (l *tableLoader[K, V]) apply(tx DBTx, from, to int) {
	l.at = nil
	in := l.m.inside(tx)
	if l.clear && from == 0 {
		DBTx(in).deleteAll()
	}
	if to < 0 {
		to = l.n
	}
	expectWrites(tx, to-from)
	for i := from; i < to; i++ {
		if r := &l.list[i/blockSize][i%blockSize]; r.D {
			in.Delete(r.K)
		} else {
			in.Set(r.K, r.V)
		}
	}
}
