package durable

import (
	"reflect"
	"strings"
	"sync"
)

// rules say how a codec encodes values, and so which of them it changes.
type rules struct {
	codec          string   // its name, also in tags; "" for a comparison without exception
	encode, decode []method // that it calls
	plans          [places]sync.Map
}

var (
	gobRules    = &rules{codec: "gob", encode: gobEncode, decode: gobDecode}
	jsonRules   = &rules{codec: "json", encode: jsonEncode, decode: jsonDecode}
	strictRules = &rules{}
)

func (r *rules) isGob() bool  { return r.codec == "gob" }
func (r *rules) isJSON() bool { return r.codec == "json" }

// A plan has the answers of rules for a type at a place. It is made once, and then never changed.
type plan struct {
	goType reflect.Type
	place  place
	by     encodedBy
	// still says that no value needs a look before it is encoded: the codec has a form for all
	// values, the form of gob keeps each of them, and the nesting of each is bounded.
	still  bool
	noForm string // why the codec has no form for a value, "" if it has one
	equal  bool   // the type has a method Equal, for strictRules
	key    *plan  // of a map
	elem   *plan  // of a pointer, slice, array or map
	fields []fieldPlan
}

// A fieldPlan is the plan of a field.
type fieldPlan struct {
	*plan
	index  int
	name   string
	unsent bool // the codec leaves it out
	omits  bool // a tag says that it may be left out if it is empty
}

// planOf returns the plan of a type at a place.
func (r *rules) planOf(t reflect.Type, at place) *plan {
	if p, known := r.plans[at].Load(t); known {
		return p.(*plan)
	}
	b := planner{r, map[typeAt]*plan{}}
	p := b.build(t, at)
	for _, made := range b.made { // not before all of them are complete
		r.plans[made.place].LoadOrStore(made.goType, made)
	}
	return p
}

// A planner makes the plans of a type, and of the types that it is made of.
type planner struct {
	*rules
	made map[typeAt]*plan
}

type typeAt struct {
	of reflect.Type
	at place
}

func (b *planner) build(t reflect.Type, at place) *plan {
	if p := b.made[typeAt{t, at}]; p != nil {
		return p // still is not set yet if the type is within itself
	}
	p := &plan{goType: t, place: at}
	b.made[typeAt{t, at}] = p
	switch p.by = b.encodedBy(t, at); p.by {
	case byOwn:
		p.still = true
		return p
	case byNone:
		p.noForm = "whose method that encodes it is one of the pointer, and cannot be called here"
		if at&isFlat != 0 {
			p.noForm = "whose method that encodes it is not called where the type is embedded"
		}
		return p
	case byOther:
		return p
	}
	if b.codec == "" {
		p.equal = hasEqual(t)
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		p.noForm = noForm
	case reflect.Float32, reflect.Float64:
		p.still = !b.isGob() || at&isElement != 0
	case reflect.Complex64, reflect.Complex128:
		p.still = at&isElement != 0
		if b.isJSON() {
			p.still, p.noForm = false, noForm
		}
	case reflect.Pointer:
		p.elem = b.build(t.Elem(), at|hasAddress)
		p.still = b.isJSON() && p.elem.still
	case reflect.Interface:
	case reflect.Slice:
		p.elem = b.build(t.Elem(), hasAddress|isElement)
		p.still = b.isJSON() && p.elem.still
	case reflect.Array:
		p.elem = b.build(t.Elem(), at&hasAddress|isElement)
		p.still = p.elem.still
	case reflect.Map:
		b.mapping(p)
	case reflect.Struct:
		b.structure(p)
	default:
		p.still = true
	}
	return p
}

func (b *planner) mapping(p *plan) {
	key := p.goType.Key()
	p.key, p.elem = b.build(key, isElement), b.build(p.goType.Elem(), isElement)
	p.still = b.isJSON() && p.elem.still
	switch k := key.Kind(); {
	case !b.isJSON() || k == reflect.String || reflect.Int <= k && k <= reflect.Uintptr:
	case !key.Implements(jsonEncode[1].in):
		p.still, p.noForm = false, noForm
	}
}

func (b *planner) structure(p *plan) {
	still := true // p.still is not set before the end: the type may be within itself
	for i := range p.goType.NumField() {
		f := p.goType.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get(b.codec), ",")
		flat := b.isJSON() && f.Anonymous && name == "" && pointedType(f.Type).Kind() == reflect.Struct
		unsent := b.codec != "" && !f.IsExported() && !flat
		if to := pointedType(f.Type).Kind(); b.isGob() && (to == reflect.Func || to == reflect.Chan) {
			unsent = true
		}
		switch {
		case f.Name == "_" && unsent:
			continue
		case f.Tag.Get(b.codec) == "-" && (unsent || b.isJSON()):
			continue // it says so
		}
		at := p.place & hasAddress
		if flat {
			at |= isFlat
		}
		is := fieldPlan{index: i, name: f.Name, unsent: unsent}
		is.omits = b.isJSON() && strings.Contains(options, "omit")
		if !unsent {
			is.plan = b.build(f.Type, at)
		}
		still = still && !unsent && is.still
		p.fields = append(p.fields, is)
	}
	p.still = still
}

// pointedType returns the type that a pointer type leads to, through other pointers.
func pointedType(t reflect.Type) reflect.Type {
	for range maxPointers {
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	return t
}

const noForm = "which the codec has no form for"

// maxPointers is how many pointers may lead to each other with nothing between.
const maxPointers = 100

// hasEqual reports whether the type has a method Equal for values of it.
func hasEqual(t reflect.Type) bool {
	m, has := t.MethodByName("Equal")
	if !has || t.Kind() == reflect.Interface {
		return false
	}
	f := m.Type // with the receiver
	return f.NumIn() == 2 && f.In(1) == t && f.NumOut() == 1 && f.Out(0).Kind() == reflect.Bool
}
