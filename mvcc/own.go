package mvcc

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// An owner copies the strings of a key, so that a kept key does not keep its version's strings: a
// string may be a part of another a thousand times as long, which would be kept too. Owners are for
// copies of a key that are not made with each version: those in orders, indexes, and notes of
// expiry. The owner is nil for keys that have no strings.
type owner[K any] func(key *K)

func newOwner[K any]() owner[K] {
	f := ownStrings(hasher.TypeOf((*K)(nil)))
	if f == nil {
		return nil
	}
	return func(key *K) { f(unsafe.Pointer(key)) }
}

// own returns key with strings of its own.
func (o owner[K]) own(key K) K {
	if o == nil {
		return key
	}
	return o.copied(key)
}

func (o owner[K]) copied(key K) K {
	o(&key)
	return key
}

// ownStrings returns the function that copies the strings of the value of type t at an address, or
// nil if t has none. Targets of pointers are not copied: pointers are equal only if they are the
// same.
func ownStrings(t reflect.Type) func(at unsafe.Pointer) {
	switch t.Kind() {
	case reflect.String:
		return func(at unsafe.Pointer) {
			s := (*string)(at)
			*s = strings.Clone(*s)
		}
	case reflect.Interface:
		return func(at unsafe.Pointer) { ownInside(reflect.NewAt(t, at).Elem()) }
	case reflect.Array:
		each, size := ownStrings(t.Elem()), t.Elem().Size()
		if each == nil {
			return nil
		}
		return func(at unsafe.Pointer) {
			for i := range t.Len() {
				each(unsafe.Add(at, uintptr(i)*size))
			}
		}
	case reflect.Struct:
		type field struct {
			own func(at unsafe.Pointer)
			at  uintptr
		}
		var fields []field
		for f := range t.Fields() {
			if ownStrings(f.Type) != nil {
				fields = append(fields, field{ownStrings(f.Type), f.Offset})
			}
		}
		if fields == nil {
			return nil
		}
		return func(at unsafe.Pointer) {
			for _, f := range fields {
				f.own(unsafe.Add(at, f.at))
			}
		}
	}
	return nil
}

// ownInside makes an interface hold a copy of its value, if values of that type have strings.
func ownInside(held reflect.Value) {
	if held.IsNil() {
		return
	}
	if own := ownStrings(held.Elem().Type()); own != nil {
		value := reflect.New(held.Elem().Type())
		value.Elem().Set(held.Elem())
		own(value.UnsafePointer())
		held.Set(value.Elem())
	}
}
