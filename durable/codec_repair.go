package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// Package gob changes a pointer to zero, and a slice without elements, to nil; a negative zero in a
// field to 0; and a nil map, as an element, to an empty one. So repairs stand before such a record:
// a byte 0, which no message of gob begins with, their length, and each repair. A repair has its
// kind, the number of its steps, and the steps, each with its length: the name of a field, the
// number of an element, a key as keyStep returns it, or "*" behind a pointer or in an interface.
const (
	repairMake     = 'm' // a pointer, slice or map is not nil
	repairNil      = 'n' // a map is nil
	repairNegative = '-' // a number, or the real part of one, is -0
	repairImag     = 'i' // the imaginary part of a number is -0
)

// A repairer makes the list of repairs for a value that gob has made of another one.
type repairer struct {
	list []byte
	path []string
}

func (r *repairer) add(kind byte) {
	r.list = binary.AppendUvarint(append(r.list, kind), uint64(len(r.path)))
	for _, s := range r.path {
		r.list = append(binary.AppendUvarint(r.list, uint64(len(s))), s...)
	}
}

// follow compares the values that a step leads to.
func (r *repairer) follow(step string, p *plan, a, b reflect.Value) {
	r.path = append(r.path, step)
	r.compare(p, a, b)
	r.path = r.path[:len(r.path)-1]
}

// compare appends the repairs of b, which gob has made of a.
func (r *repairer) compare(p *plan, a, b reflect.Value) {
	if p.by != byFields || p.still {
		return
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		r.negative(repairNegative, a.Float(), b.Float())
	case reflect.Complex64, reflect.Complex128:
		r.negative(repairNegative, real(a.Complex()), real(b.Complex()))
		r.negative(repairImag, imag(a.Complex()), imag(b.Complex()))
	case reflect.Pointer:
		if a.IsNil() {
			return
		}
		if b.IsNil() {
			r.add(repairMake)
			b = reflect.New(a.Type().Elem())
		}
		r.follow("*", p.elem, a.Elem(), b.Elem())
	case reflect.Interface:
		if !a.IsNil() && !b.IsNil() && a.Elem().Type() == b.Elem().Type() {
			r.follow("*", gobRules.planOf(a.Elem().Type(), isElement), a.Elem(), b.Elem())
		}
	case reflect.Slice, reflect.Array:
		if a.Kind() == reflect.Slice && !a.IsNil() && b.IsNil() {
			r.add(repairMake)
			return
		}
		for i := 0; i < min(a.Len(), b.Len()) && !p.elem.still; i++ {
			r.follow(strconv.Itoa(i), p.elem, a.Index(i), b.Index(i))
		}
	case reflect.Map:
		r.mapping(p, a, b)
	case reflect.Struct:
		for i := range p.fields {
			if f := &p.fields[i]; !f.unsent {
				r.follow(f.name, f.plan, a.Field(f.index), b.Field(f.index))
			}
		}
	}
}

func (r *repairer) negative(kind byte, a, b float64) {
	if negativeZero(a) && !negativeZero(b) {
		r.add(kind)
	}
}

func (r *repairer) mapping(p *plan, a, b reflect.Value) {
	switch {
	case a.IsNil() && !b.IsNil():
		r.add(repairNil)
	case !a.IsNil() && b.IsNil():
		r.add(repairMake)
	case !p.elem.still:
		for i := a.MapRange(); i.Next(); {
			if v := b.MapIndex(i.Key()); v.IsValid() {
				r.follow(keyStep(i.Key()), p.elem, i.Value(), v)
			}
		}
	}
}

// keyStep returns the step to the value of a key of a map. Keys of different types may have the
// same step: so a record is compared after it was repaired.
func keyStep(key reflect.Value) string { return fmt.Sprintf("%#v", key) }

// A repair has the repairs of a value, and, by steps, of the values in it.
type repair struct {
	kinds []byte
	next  map[string]*repair
}

var errRepairs = errors.New("the repairs of a record are not right")

// parseRepairs reads a list of repairs.
func parseRepairs(list []byte) (*repair, error) {
	all := &repair{}
	// number reads how many steps or bytes follow: a step has at least one.
	number := func() (n uint64, ok bool) {
		n, size := binary.Uvarint(list)
		list = list[max(size, 0):]
		return n, size > 0 && n <= uint64(len(list))
	}
	for len(list) > 0 {
		kind, at := list[0], all
		list = list[1:]
		steps, ok := number()
		for ; ok && steps > 0; steps-- {
			var n uint64
			if n, ok = number(); ok {
				at = at.step(string(list[:n]))
				list = list[n:]
			}
		}
		if !ok {
			return nil, errRepairs
		}
		at.kinds = append(at.kinds, kind)
	}
	return all, nil
}

// step returns the repair behind a step.
func (r *repair) step(name string) *repair {
	if r.next == nil {
		r.next = map[string]*repair{}
	}
	if r.next[name] == nil {
		r.next[name] = &repair{}
	}
	return r.next[name]
}

// apply repairs v. A step that leads nowhere, because the type has changed, does nothing.
func (r *repair) apply(v reflect.Value) {
	for _, kind := range r.kinds {
		applyKind(kind, v)
	}
	// Values in a map or interface cannot be changed in their places.
	copied := func(r *repair, old reflect.Value) reflect.Value {
		c := reflect.New(old.Type()).Elem()
		c.Set(old)
		r.apply(c)
		return c
	}
	switch v.Kind() {
	case reflect.Pointer:
		if to := r.next["*"]; to != nil && !v.IsNil() {
			to.apply(v.Elem())
		}
	case reflect.Interface:
		if to := r.next["*"]; to != nil && !v.IsNil() {
			v.Set(copied(to, v.Elem()))
		}
	case reflect.Slice, reflect.Array:
		for step, to := range r.next {
			if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < v.Len() {
				to.apply(v.Index(i))
			}
		}
	case reflect.Map:
		if len(r.next) == 0 {
			return
		}
		for _, key := range v.MapKeys() {
			if to := r.next[keyStep(key)]; to != nil {
				v.SetMapIndex(key, copied(to, v.MapIndex(key)))
			}
		}
	case reflect.Struct:
		for step, to := range r.next {
			if f, there := v.Type().FieldByName(step); there && len(f.Index) == 1 && f.IsExported() {
				to.apply(v.Field(f.Index[0]))
			}
		}
	}
}

// applyKind repairs v itself.
func applyKind(kind byte, v reflect.Value) {
	negative := math.Copysign(0, -1)
	switch k := v.Kind(); {
	case kind == repairNil && k == reflect.Map:
		v.SetZero()
	case kind == repairMake && k == reflect.Pointer && v.IsNil():
		v.Set(reflect.New(v.Type().Elem()))
	case kind == repairMake && k == reflect.Slice && v.IsNil():
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	case kind == repairMake && k == reflect.Map && v.IsNil():
		v.Set(reflect.MakeMap(v.Type()))
	case kind == repairNegative && v.CanFloat():
		v.SetFloat(negative)
	case kind == repairNegative && v.CanComplex():
		v.SetComplex(complex(negative, imag(v.Complex())))
	case kind == repairImag && v.CanComplex():
		v.SetComplex(complex(real(v.Complex()), negative))
	}
}
