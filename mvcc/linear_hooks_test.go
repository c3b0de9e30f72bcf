//go:build mvcccheck

package mvcc

import (
	"cmp"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A queue is a table and its indexes, as programs use them for queues.
type queue struct {
	db       *DB
	m        *Map[int, int]
	byValue  *Index[int, int, int]
	compared int
}

func newQueue(t *testing.T) *queue {
	q := &queue{db: NewDB(still())}
	t.Cleanup(q.db.Close)
	compare := func(a, b int) int { q.compared++; return cmp.Compare(a, b) }
	q.m = NewOrderedTableFunc[int, int](q.db, "queue", compare, nil)
	var err error
	q.byValue, err = NewOrderedIndexFunc(q.m, "value", compare, func(_, value int) []int { return []int{value} }, nil)
	require.NoError(t, err)
	return q
}

// steps returns how many steps a transaction takes that does something n times, on a table of n
// keys whose values are below most: comparisons of keys, and looks at cells, those of the commit
// included. (That mvcccheck compares keys as well is not counted.)
func steps(t *testing.T, opts *TxOptions, n, most int, do func(q *queue, tx Tx[int, int], i, n int)) int {
	q := newQueue(t)
	mustUpdate(t, q.m, nil, func(tx Tx[int, int]) {
		for i := range n {
			tx.Set(2*i, i%most)
		}
	})
	var looks atomic.Int64
	remove := hooks.Accesses(func(unsafe.Pointer) { looks.Add(1) })
	defer remove()
	compared := 0
	mustUpdate(t, q.m, opts, func(tx Tx[int, int]) {
		q.compared = 0
		for i := range n {
			do(q, tx, i, n)
		}
		compared = q.compared
	})
	return compared + int(looks.Load())
}

// An operation on the ends of ranges that a transaction repeats costs a few steps each time, which
// do not grow with the number of operations before.
func TestLinear(t *testing.T) {
	take := func(q *queue, tx Tx[int, int], value int) {
		if key, _, ok := q.byValue.First(tx, value); ok {
			tx.Set(key, 1000+value)
		}
	}
	for name, of := range map[string]struct {
		most int // of the values
		do   func(q *queue, tx Tx[int, int], i, n int)
	}{
		"append behind Max": {1, func(_ *queue, tx Tx[int, int], _, _ int) {
			last, _, _ := tx.Max()
			tx.Set(last+1, 0)
		}},
		"delete Min": {1, func(_ *queue, tx Tx[int, int], _, _ int) {
			first, _, _ := tx.Min()
			tx.Delete(first)
		}},
		"delete Max": {1, func(_ *queue, tx Tx[int, int], _, _ int) {
			last, _, _ := tx.Max()
			tx.Delete(last)
		}},
		"delete Min, append behind Max": {1, func(_ *queue, tx Tx[int, int], _, _ int) {
			first, _, _ := tx.Min()
			tx.Delete(first)
			last, _, _ := tx.Max()
			tx.Set(last+1, 0)
		}},
		"put Min off": {1, func(_ *queue, tx Tx[int, int], i, n int) {
			first, _, _ := tx.Min()
			tx.Delete(first)
			tx.Set(first+2*(i%7)*n/5+1, 0)
		}},
		"delete Min and put it back": {1, func(_ *queue, tx Tx[int, int], i, _ int) {
			first, _, _ := tx.Min()
			tx.Delete(first)
			if i%2 == 0 {
				tx.Set(first, 1)
			}
		}},
		"pages": {1, func(_ *queue, tx Tx[int, int], i, _ int) {
			for range tx.Ascend(After(i)) {
				break
			}
			for range tx.Descend(Before(2 * i)) {
				break
			}
		}},
		"windows":             {1, func(_ *queue, tx Tx[int, int], i, _ int) { CountRange(tx, From(i).UpTo(i+20)) }},
		"delete what is over": {1, func(_ *queue, tx Tx[int, int], i, _ int) { tx.DeleteRange(UpTo(2 * i)) }},
		"absent keys": {1, func(_ *queue, tx Tx[int, int], i, _ int) {
			tx.Get(2*i + 1)
			for range tx.Ascend(From(2*i + 1).UpTo(2*i + 1)) {
				continue
			}
		}},
		"own writes by the dozen": {1, func(_ *queue, tx Tx[int, int], i, n int) {
			for j := range 12 {
				tx.Set((2*i+1+2*j*n/12)%(2*n), 0)
			}
			tx.Min()
		}},
		"first of an index key":        {1, func(q *queue, tx Tx[int, int], _, _ int) { take(q, tx, 0) }},
		"first of index keys in turns": {5, func(q *queue, tx Tx[int, int], i, _ int) { take(q, tx, i%5) }},
		"lowest of an index": {1 << 30, func(q *queue, tx Tx[int, int], _, n int) {
			e, _, _ := q.byValue.Min(tx)
			tx.Set(e.Key, e.IndexKey+n)
		}},
		"first of the keys of an index": {1 << 30, func(q *queue, tx Tx[int, int], _, n int) {
			for index := range q.byValue.Keys(tx, Range[int]{}) {
				key, _, _ := q.byValue.First(tx, index)
				tx.Set(key, index+n)
				break
			}
		}},
	} {
		for level, opts := range levels {
			n := stage.Sizes(300, 100)
			few, many := steps(t, opts, n, of.most, of.do), steps(t, opts, 4*n, of.most, of.do)
			t.Logf("%s, level %d: %d steps for each of %d, %d for 4 times as many", name, level, few/n, n, many/(4*n))
			if many > 6*few { // 4 times as many, and logarithms
				t.Errorf("%s, level %d: 4 times as many take %.1f times as long", name, level, float64(many)/float64(few))
			}
		}
	}
}
