package durable

import (
	"fmt"
	"math"
	"reflect"
	"sync"
)

// maxDepth is how deep a value may be nested. Package json and codec Gob decode no deeper. A value
// that has itself within it is deeper.
const maxDepth = 10000

// A precheck goes over a record before it is encoded. It finds values that the codec has no form
// for, or would leave out, and those that gob may change.
type precheck struct {
	*rules
	doubt bool // it has to be tried whether the value comes back as it is
	// held are types that interfaces hold, of which it is not known yet that gob keeps them.
	held     []reflect.Type
	inKey    bool // of a map
	pointers int  // that have led here from the last other value
}

// keptInInterfaces are the types that gob is known to keep in interfaces. Gob has one name for a
// type and for a pointer to it, and decodes the one of both that was registered.
var keptInInterfaces sync.Map

// value checks a value, nested depth deep, and returns why the codec cannot keep it; nil if it can.
func (c *precheck) value(p *plan, v reflect.Value, depth int) *difference {
	switch {
	case p.still && (!c.inKey || plain(v.Kind())):
		return nil
	case p.noForm != "":
		return &difference{becomes: fmt.Sprintf("is a %s, %s", p.goType, p.noForm)}
	case p.by != byFields: // of keys it is not known whether they are equal when they come back
		c.doubt = true
		return nil
	case depth > maxDepth || c.pointers > maxPointers:
		return tooDeep()
	}
	if v.Kind() == reflect.Pointer {
		return c.pointer(p, v, depth)
	}
	c.pointers = 0
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return c.negative(p, v, negativeZero(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		x := v.Complex()
		return c.negative(p, v, x == 0 && (negativeZero(real(x)) || negativeZero(imag(x))))
	case reflect.Interface:
		return c.heldValue(v, depth)
	case reflect.Slice, reflect.Array:
		return c.elements(p, v, depth)
	case reflect.Map:
		return c.mapping(p, v, depth)
	case reflect.Struct:
		return c.fields(p, v, depth)
	}
	return nil
}

// plain reports whether gob keeps all values of a kind, also in keys.
func plain(k reflect.Kind) bool { return k <= reflect.Uintptr || k == reflect.String }

func tooDeep() *difference {
	return &difference{becomes: fmt.Sprintf("is within itself, or nested more than %d deep", maxDepth)}
}

func negativeZero(f float64) bool { return f == 0 && math.Signbit(f) }

// negative checks a number, which is a negative zero or not. Gob leaves zero out in fields.
func (c *precheck) negative(p *plan, v reflect.Value, is bool) *difference {
	if !is || p.place&isElement != 0 {
		return nil
	}
	if c.inKey { // where nothing can be repaired
		return &difference{becomes: fmt.Sprintf("is %s, and becomes 0", shown(v))}
	}
	c.doubt = true
	return nil
}

func (c *precheck) pointer(p *plan, v reflect.Value, depth int) *difference {
	switch {
	case v.IsNil() && c.isGob() && p.place&isElement != 0:
		return &difference{becomes: "is nil, which gob has no form for in a slice, map or interface"}
	case v.IsNil():
		return nil
	case c.inKey:
		return &difference{becomes: "is a pointer, and becomes another one"}
	}
	c.pointers++
	c.doubt = c.doubt || v.Elem().IsZero()
	return c.value(p.elem, v.Elem(), depth)
}

// heldValue checks the value in an interface.
func (c *precheck) heldValue(v reflect.Value, depth int) *difference {
	if v.IsNil() {
		return nil
	}
	v = v.Elem()
	if _, kept := keptInInterfaces.Load(v.Type()); !kept && c.isGob() {
		c.held = append(c.held, v.Type())
		c.doubt = true
	}
	return c.value(c.planOf(v.Type(), isElement), v, depth+1)
}

func (c *precheck) elements(p *plan, v reflect.Value, depth int) *difference {
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		c.doubt = c.doubt || !v.IsNil()
		return nil
	}
	if p.elem.still && !c.inKey {
		return nil
	}
	for i := range v.Len() {
		if d := c.value(p.elem, v.Index(i), depth+1); d != nil {
			return d.within("[%d]", i)
		}
	}
	return nil
}

func (c *precheck) mapping(p *plan, v reflect.Value, depth int) *difference {
	if v.IsNil() {
		c.doubt = c.doubt || p.place&isElement != 0
		return nil
	}
	keys := c.isGob() && !plain(p.key.goType.Kind())
	if !keys && p.elem.still {
		return nil
	}
	for i := v.MapRange(); i.Next(); {
		if keys {
			c.inKey = true
			d := c.value(p.key, i.Key(), depth+1)
			if c.inKey = false; d != nil {
				return d.within("[%s]", shown(i.Key()))
			}
		}
		if d := c.value(p.elem, i.Value(), depth+1); d != nil {
			return d.within("[%s]", shown(i.Key()))
		}
	}
	return nil
}

func (c *precheck) fields(p *plan, v reflect.Value, depth int) *difference {
	for i := range p.fields {
		f := &p.fields[i]
		var d *difference
		switch is := v.Field(f.index); {
		case !f.unsent && f.still && !c.inKey, (f.unsent || f.omits) && is.IsZero():
		case !f.unsent:
			d = c.value(f.plan, is, depth+1)
		case is.Kind() == reflect.Pointer || is.Kind() == reflect.Struct:
			d = &difference{becomes: "is not zero, and the codec leaves it out"}
		default:
			d = changed(is, reflect.Zero(is.Type()))
		}
		if d != nil {
			return d.within(".%s", f.name)
		}
	}
	return nil
}
