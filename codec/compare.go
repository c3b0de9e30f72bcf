package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// rules say what counts as a difference.
type rules struct {
	// trusted says of a type that its values are equal, whatever is in them.
	trusted func(t reflect.Type) bool
	// tags says that what the tags of JSON leave out is no difference.
	tags bool
}

var (
	jsonRules   = rules{trusted: hasJSON, tags: true}
	strictRules = rules{trusted: func(reflect.Type) bool { return false }}

	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// hasJSON reports whether the type has a form of its own in JSON.
func hasJSON(t reflect.Type) bool {
	if t.Kind() <= reflect.Complex128 && t.NumMethod() == 0 && t.Name() == t.Kind().String() {
		return false
	}
	if has, known := ownJSON.Load(t); known {
		return has.(bool)
	}
	p := reflect.PointerTo(t)
	has := t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer &&
		(p.Implements(jsonMarshaler) || p.Implements(textMarshaler))
	ownJSON.Store(t, has)
	return has
}

var ownJSON sync.Map // what hasJSON says of a type

// A difference is what becomes of something that is at a place in a value.
type difference struct {
	at, becomes string
}

// changed says that a becomes b.
func changed(a, b reflect.Value) *difference {
	return &difference{becomes: fmt.Sprintf("is %s, and becomes %s", shown(a), shown(b))}
}

// in returns d in something larger.
func (d *difference) in(step string, args ...any) *difference {
	if d != nil {
		d.at = fmt.Sprintf(step, args...) + d.at
	}
	return d
}

// differ returns where a and b, which are of one type, differ, nil if nowhere.
func (by rules) differ(a, b reflect.Value) *difference {
	t := a.Type()
	if by.trusted(t) {
		return nil
	}
	if equal, ok := ownEqual(a, b); ok {
		if !equal {
			return changed(a, b)
		}
		return nil
	}
	same := true
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			same = a.IsNil() == b.IsNil()
			break
		}
		a, b := a.Elem(), b.Elem()
		if a.Type() != b.Type() {
			return &difference{becomes: fmt.Sprintf("is a %s, and becomes a %s", a.Type(), b.Type())}
		}
		return by.differ(a, b)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if by.tags && leftOut(f, a.Field(i), b.Field(i)) {
				continue
			}
			if d := by.differ(a.Field(i), b.Field(i)); d != nil {
				return d.in(".%s", f.Name)
			}
		}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return changed(a, b)
		}
		for i := range a.Len() {
			if d := by.differ(a.Index(i), b.Index(i)); d != nil {
				return d.in("[%d]", i)
			}
		}
	case reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return changed(a, b)
		}
		for i := a.MapRange(); i.Next(); {
			v := b.MapIndex(i.Key())
			if !v.IsValid() {
				return (&difference{becomes: "is missing"}).in("[%+q]", fmt.Sprint(i.Key()))
			}
			if d := by.differ(i.Value(), v); d != nil {
				return d.in("[%v]", i.Key())
			}
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		same = a.IsNil() == b.IsNil()
	default:
		same = a.Equal(b)
	}
	if !same {
		return changed(a, b)
	}
	return nil
}

// leftOut reports whether the tag of a field says that it may become what b is.
func leftOut(f reflect.StructField, a, b reflect.Value) bool {
	tag := f.Tag.Get("json")
	_, options, _ := strings.Cut(tag, ",")
	return tag == "-" || strings.Contains(options, "omit") && b.IsZero() && isEmpty(a)
}

// ownEqual asks a method Equal of the type, if there is one that can be called.
func ownEqual(a, b reflect.Value) (equal, ok bool) {
	if !a.CanInterface() || !b.CanInterface() || a.Kind() == reflect.Interface ||
		a.Kind() == reflect.Pointer && (a.IsNil() || b.IsNil()) {
		return false, false
	}
	m := a.MethodByName("Equal")
	if !m.IsValid() {
		return false, false
	}
	t := m.Type()
	if t.NumIn() != 1 || t.In(0) != a.Type() || t.NumOut() != 1 || t.Out(0).Kind() != reflect.Bool {
		return false, false
	}
	return m.Call([]reflect.Value{b})[0].Bool(), true
}

// isEmpty reports whether omitempty or omitzero may leave v out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func shown(v reflect.Value) string {
	const longest = 50
	text := fmt.Sprintf("%+v", v)
	switch {
	case v.Kind() == reflect.String:
		text = fmt.Sprintf("%+q", v)
	case v.Kind() == reflect.Slice && v.IsNil(), v.Kind() == reflect.Map && v.IsNil():
		text = "nil"
	case v.Kind() == reflect.Pointer && !v.IsNil():
		text = "a pointer"
	}
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return text
}
