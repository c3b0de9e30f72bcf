package nemesis

import (
	"fmt"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// The records of three versions of the program, of which each has a field more.
type (
	formOne   struct{ A int }
	formTwo   struct{ A, B int }
	formThree struct{ A, B, C int }
)

// newest is the version of the program with all fields.
const newest = 2

// forms is a table of records whose type is that of the version of the program. Field i is used by records
// whose key has a remainder by 3 of i or more. Transactions count how often they have counted up each field:
// so a field that is lost is seen, by each program that has it.
type forms struct {
	counts *etcd.Table[int, int]
	count  func(tx mvcc.DBTx, key, field int, merged bool)
	check  func(s mvcc.DBSnapshot) error
}

func newForms(s *etcd.Schema, program int) forms {
	switch program {
	case 0:
		return formsOf(s, func(v *formOne) []*int { return []*int{&v.A} })
	case 1:
		return formsOf(s, func(v *formTwo) []*int { return []*int{&v.A, &v.B} })
	}
	return formsOf(s, func(v *formThree) []*int { return []*int{&v.A, &v.B, &v.C} })
}

func formsOf[V any](s *etcd.Schema, fields func(v *V) []*int) forms {
	table, counts := etcd.NewTable[int, V](s, "forms", nil), etcd.NewTable[int, int](s, "counts", nil)
	return forms{counts: counts, count: func(tx mvcc.DBTx, key, field int, merged bool) {
		up := func(v V, _ bool) V {
			*fields(&v)[field]++
			return v
		}
		if in := table.In(tx); merged {
			in.Merge(key, up)
		} else {
			v, there := in.Get(key)
			in.Set(key, up(v, there))
		}
		counts.In(tx).Merge(3*key+field, increment)
	}, check: func(s mvcc.DBSnapshot) error {
		for at, n := range counts.At(s).All() {
			v, _ := table.At(s).Get(at / 3)
			if all := fields(&v); at%3 < len(all) && *all[at%3] != n {
				return fmt.Errorf("field %d of form %d is %d, counted up %d times", at%3, at/3, *all[at%3], n)
			}
		}
		return nil
	}}
}

// growForm counts up a field that the program has. It is refused only for a record that may have one that the
// program has not.
func (w *worker) growForm() {
	r, key, merged := w.replica(), w.r.IntN(9), w.r.IntN(2) == 0
	field := w.r.IntN(1 + min(key%3, w.Program))
	if w.update(r, func(tx mvcc.DBTx) error {
		r.forms.count(tx, key, field, merged)
		return nil
	}) == narrow && key%3 <= w.Program {
		w.tell(line{Wrong: fmt.Sprintf("program %d was refused form %d, and has its fields", w.Program, key)})
	}
}
