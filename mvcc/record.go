package mvcc

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/chain"
)

// Records returns an iterator over the records of a table that the snapshot sees, keys and values
// as values of the table's types. It is for pages and tools that do not know these: a program that
// does has [Map.At], which costs less. Keys that have an order come in that order, beginning at
// from if that is not nil; others come in any, and from must be nil.
//
// It panics if the snapshot has no such table, or if from is no key of it. It waits for nobody, and
// allocates each key and value that it gives, if they are no pointers.
func (s DBSnapshot) Records(table string, from any) iter.Seq2[any, any] {
	c := tableIn(s, "Records", table)
	var in span
	if from != nil {
		if c.order == nil {
			panic(fmt.Sprintf("mvcc: Records: the keys of table %q have no order: from must be nil", table))
		}
		in.Low = c.keyAt("Records", from)
	}
	return func(yield func(key, value any) bool) {
		visit := func(found *chunk) bool {
			for _, v := range found.found[:found.n] {
				if !yield(c.types.boxed(v)) {
					return false
				}
				found.check()
			}
			return true
		}
		if at := hide(c).seen(s); c.order != nil {
			at.ranged(&in, false, visit)
		} else {
			at.all(visit)
		}
	}
}

// Record returns the value of one key, as [DBSnapshot.Records] does, and whether there is one. It
// costs a [Snapshot.Get] and the allocation of both.
func (s DBSnapshot) Record(table string, key any) (value any, ok bool) {
	c := tableIn(s, "Record", table)
	at := c.keyAt("Record", key)
	_, _, head := c.index.Seek(at)
	v := hide(c).seen(s).seenOf(head, at)
	if !v.There() {
		return nil, false
	}
	_, value = c.types.boxed(v)
	return value, true
}

// Tables returns the names of the tables that the snapshot has, sorted: those of [DB.Tables] when
// it began. It waits for nobody, and allocates the list.
func (s DBSnapshot) Tables() (names []string) {
	s.check()
	for _, c := range seenIn(s) {
		names = append(names, c.counters.name)
	}
	slices.Sort(names)
	return names
}

// tableIn returns the table of that name that the snapshot has. (It is no method: see engine.)
func tableIn(s DBSnapshot, call, name string) *core {
	s.check()
	for _, c := range seenIn(s) {
		if c.counters.name == name {
			return c
		}
	}
	panic(fmt.Sprintf("mvcc: %s: the snapshot has no table %q", call, name))
}

// keyAt returns where a copy of key is, as a key of the table.
func (m *core) keyAt(call string, key any) unsafe.Pointer {
	at := reflect.New(m.types.key)
	if key == nil && m.types.key.Kind() == reflect.Interface {
		return at.UnsafePointer()
	}
	if of := reflect.TypeOf(key); of == nil || !of.AssignableTo(m.types.key) {
		panic(fmt.Sprintf("mvcc: %s: the key is a %T, want a %v, as in table %q",
			call, key, m.types.key, m.counters.name))
	}
	at.Elem().Set(reflect.ValueOf(key))
	return at.UnsafePointer()
}

// boxed returns the key and the value of v, a version of such a record. The compiler lays them out
// one after the other, see version; TestRecords compares.
func (t *recordType) boxed(v *chain.Node) (key, value any) {
	after := unsafe.Sizeof(chain.Node{}) + t.key.Size()
	align := uintptr(t.value.FieldAlign())
	at := unsafe.Add(unsafe.Pointer(v), (after+align-1)/align*align)
	return reflect.NewAt(t.key, v.Key()).Elem().Interface(),
		reflect.NewAt(t.value, at).Elem().Interface()
}
