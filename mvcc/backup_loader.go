package mvcc

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/mvccmap/mvccmap/internal/hasher"
)

// A tableLoader is the loader of a map.
type tableLoader[K comparable, V any] struct {
	m     *Map[K, V]
	list  blocks[saved[K, V]]
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
	if l.all {
		l.list.add(r)
		return nil
	}
	at, there := l.at[r.K]
	switch {
	case !there:
		l.at[r.K] = l.list.n
		l.list.add(r)
	case once:
		return fmt.Errorf("its key is %s, and so is that of record %d: which one is right is not known",
			keyText(r.K), at+1)
	default:
		*l.list.at(at) = r
	}
	return nil
}

func (l *tableLoader[K, V]) renew() { l.list, l.at, l.clear = blocks[saved[K, V]]{}, map[K]int{}, true }

func (l *tableLoader[K, V]) inOrder() { l.all = true }

func (l *tableLoader[K, V]) apply(tx DBTx, from, to int) {
	l.at = nil
	in := l.m.inside(tx)
	if l.clear && from == 0 {
		DBTx(in).deleteAll()
	}
	if to < 0 {
		to = l.list.n
	}
	st := stateOf(tx.st)
	st.writes = slices.Grow(st.writes, to-from)
	for i := from; i < to; i++ {
		if r := l.list.at(i); r.D {
			in.Delete(r.K)
		} else {
			in.Set(r.K, r.V)
		}
	}
}

// blocks is a list that is not copied as it grows, so that a load needs no more memory than its
// records: all but the last block are full.
type blocks[T any] struct {
	list [][]T
	n    int
}

const blockSize = 1024

func (b *blocks[T]) at(i int) *T { return &b.list[i/blockSize][i%blockSize] }

func (b *blocks[T]) add(x T) {
	switch b.n % blockSize {
	case b.n: // the first block grows
		if b.n == 0 {
			b.list = append(b.list, nil)
		}
	case 0:
		b.list = append(b.list, make([]T, 0, blockSize))
	}
	last := &b.list[len(b.list)-1]
	*last = append(*last, x)
	b.n++
}
