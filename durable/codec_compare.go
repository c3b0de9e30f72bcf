package durable

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A difference is a change that the encoding makes to a value, with the value's place in the
// record. It is the error for the record.
type difference struct {
	steps   []string // that lead there, the last one first
	becomes string
}

// changed returns the difference that a becomes b.
func changed(a, b reflect.Value) *difference {
	return &difference{becomes: fmt.Sprintf("is %s, and becomes %s", shown(a), shown(b))}
}

// within adds to d the step that leads to the value of d from the value around it.
func (d *difference) within(step string, args ...any) *difference {
	d.steps = append(d.steps, fmt.Sprintf(step, args...))
	return d
}

// Error names the place, as an expression in Go would, and both values.
func (d *difference) Error() string {
	const most = 12 // steps
	steps, more := slices.Clone(d.steps), ""
	if slices.Reverse(steps); len(steps) > most {
		steps, more = steps[:most], "..."
	}
	return strings.TrimPrefix(strings.Join(steps, "")+more+" "+d.becomes, ".")
}

// ChangesRecord tells changesKey that a record with such a difference in its key cannot have been
// saved, not even in part: so the deletion of the record need not be saved.
func (d *difference) ChangesRecord() {}

// differ returns where a and b, which are of the type of the plan, differ, nil if nowhere.
func (r *rules) differ(p *plan, a, b reflect.Value, depth int) *difference {
	switch {
	case p.by == byOwn:
		return nil
	case p.by == byOther: // the method may keep some fields alone
		return strictRules.differ(strictRules.planOf(p.goType, 0), a, b, depth)
	case depth > 3*maxDepth: // with pointers
		return tooDeep()
	}
	if equal, ok := ownEqual(p, a, b); ok {
		if !equal {
			return changed(a, b)
		}
		return nil
	}
	switch p.goType.Kind() {
	case reflect.Pointer, reflect.Interface:
		return r.differPointed(p, a, b, depth+1)
	case reflect.Struct:
		for i := range p.fields {
			if d := r.differField(&p.fields[i], a, b, depth+1); d != nil {
				return d
			}
		}
		return nil
	case reflect.Slice, reflect.Array:
		return r.differList(p, a, b, depth+1)
	case reflect.Map:
		return r.differMap(p, a, b, depth+1)
	}
	if !sameBasic(a, b) {
		return changed(a, b)
	}
	return nil
}

func (r *rules) differPointed(p *plan, a, b reflect.Value, depth int) *difference {
	if a.IsNil() || b.IsNil() {
		if a.IsNil() != b.IsNil() {
			return changed(a, b)
		}
		return nil
	}
	a, b = a.Elem(), b.Elem()
	if p.goType.Kind() == reflect.Pointer {
		return r.differ(p.elem, a, b, depth)
	}
	if a.Type() != b.Type() {
		return &difference{becomes: fmt.Sprintf("is a %s, and becomes a %s", a.Type(), b.Type())}
	}
	return r.differ(r.planOf(a.Type(), isElement), a, b, depth)
}

func (r *rules) differField(f *fieldPlan, a, b reflect.Value, depth int) *difference {
	a, b = a.Field(f.index), b.Field(f.index)
	if f.unsent || f.omits && b.IsZero() && isEmpty(a) { // the precheck decides on unsent ones
		return nil
	}
	if d := r.differ(f.plan, a, b, depth); d != nil {
		return d.within(".%s", f.name)
	}
	return nil
}

func (r *rules) differList(p *plan, a, b reflect.Value, depth int) *difference {
	if p.goType.Kind() == reflect.Slice && a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return changed(a, b)
	}
	for i := range a.Len() {
		if d := r.differ(p.elem, a.Index(i), b.Index(i), depth); d != nil {
			return d.within("[%d]", i)
		}
	}
	return nil
}

func (r *rules) differMap(p *plan, a, b reflect.Value, depth int) *difference {
	if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return changed(a, b)
	}
	for i := a.MapRange(); i.Next(); {
		v := b.MapIndex(i.Key())
		if !v.IsValid() {
			return (&difference{becomes: "is missing"}).within("[%s]", shown(i.Key()))
		}
		if d := r.differ(p.elem, i.Value(), v, depth); d != nil {
			return d.within("[%s]", shown(i.Key()))
		}
	}
	return nil
}

// sameBasic compares values that have no others in them. All NaN are the same; zero and negative
// zero are not.
func sameBasic(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return a.IsNil() == b.IsNil()
	case reflect.Float32, reflect.Float64:
		return sameFloat(a.Float(), b.Float())
	case reflect.Complex64, reflect.Complex128:
		x, y := a.Complex(), b.Complex()
		return sameFloat(real(x), real(y)) && sameFloat(imag(x), imag(y))
	}
	return a.Equal(b)
}

func sameFloat(x, y float64) bool {
	return x == y && math.Signbit(x) == math.Signbit(y) || x != x && y != y
}

// ownEqual asks a method Equal of the type, if there is one that can be called.
func ownEqual(p *plan, a, b reflect.Value) (equal, ok bool) {
	if !p.equal || !a.CanInterface() || !b.CanInterface() ||
		a.Kind() == reflect.Pointer && (a.IsNil() || b.IsNil()) {
		return false, false
	}
	return a.MethodByName("Equal").Call([]reflect.Value{b})[0].Bool(), true
}

// isEmpty reports whether omitempty or omitzero may leave v out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// shown returns a value as text for an error. It does not print the parts of the value, which may
// be very many, or have the value within them.
func shown(v reflect.Value) string {
	const longest = 50
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Complex64, reflect.Complex128:
		return strconv.FormatComplex(v.Complex(), 'g', -1, 128)
	case reflect.String:
		text := v.String()
		if len(text) > longest {
			return strconv.QuoteToASCII(text[:longest]) + "..."
		}
		return strconv.QuoteToASCII(text)
	case reflect.Interface:
		if !v.IsNil() {
			return shown(v.Elem())
		}
		return "nil"
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if v.IsNil() {
			return "nil"
		}
	case reflect.Slice, reflect.Map:
		if v.IsNil() {
			return "nil"
		}
		return fmt.Sprintf("a %s of length %d", v.Type(), v.Len())
	}
	return "a " + v.Type().String()
}
