package gobtext

import "slices"

// The numbers of the types that need no definition, and the first that may be defined.
const (
	idBool      = 1
	idInt       = 2
	idUint      = 3
	idFloat     = 4
	idBytes     = 5
	idString    = 6
	idComplex   = 7
	idInterface = 8
	firstID     = 64
)

type wireKind byte

const (
	basic wireKind = iota
	array
	slice
	structure
	mapping
	gobEncoder
	binaryMarshaler
	textMarshaler
)

// A wireType is a type as gob describes it.
type wireType struct {
	kind      wireKind
	name      string
	key, elem int64
	length    int64 // of an array
	fields    []wireField

	asked, flat bool // whether it was asked, and the answer of Reader.flat
}

type wireField struct {
	name string
	id   int64
}

var basicType wireType

// typeOf returns the type with a number.
func (p *parser) typeOf(id int64) *wireType {
	if id < idBool || id > idInterface {
		if t := p.r.types[id]; t != nil {
			return t
		}
		p.fail("there is no type %d", id)
	}
	return &basicType
}

// flat reports whether gob allocates nothing by a count in values of a type, and no value is nested
// deeper than the type. (Gob checks lengths of bytes by itself.) All types within are defined.
func (r *Reader) flat(id int64, depth int) bool {
	t := r.types[id]
	if t == nil {
		return id >= idBool && id < idInterface
	}
	if !t.asked && depth < 100 { // a type may be within itself
		t.flat = t.kind != slice && t.kind != mapping && (t.kind != array || r.flat(t.elem, depth+1)) &&
			!slices.ContainsFunc(t.fields, func(f wireField) bool { return !r.flat(f.id, depth+1) })
		t.asked = true
	}
	return t.flat
}

// define reads the definition of a type.
func (p *parser) define(id int64) {
	if id < firstID || p.r.types[id] != nil {
		p.fail("the definition of type %d is not the first one", id)
		return
	}
	t := &wireType{}
	p.structure(func(field int) bool {
		if field < 1 || field > int(textMarshaler) || t.kind != basic {
			return false
		}
		t.kind = wireKind(field)
		p.structure(func(field int) bool { return p.part(t, field) })
		return true
	})
	if p.err == nil && t.kind == basic {
		p.fail("the definition of type %d is empty", id)
	}
	if p.err == nil {
		p.r.types[id] = t
	}
}

// part reads a field of a definition. The first field is the one that all definitions have.
func (p *parser) part(t *wireType, field int) bool {
	switch {
	case field == 1:
		t.name = p.field().name // and its number once more
	case field == 2 && t.kind == structure:
		for n := p.uint(); n > 0 && p.err == nil; n-- {
			t.fields = append(t.fields, p.field())
		}
	case field == 2 && t.kind == mapping:
		t.key = p.int()
	case field == 3 && t.kind == mapping, field == 2 && (t.kind == array || t.kind == slice):
		t.elem = p.int()
	case field == 3 && t.kind == array:
		t.length = p.int()
	default:
		return false
	}
	return true
}

// field reads the description of a field, or the name and number of a type, which look alike.
func (p *parser) field() (f wireField) {
	p.structure(func(field int) bool {
		switch field {
		case 1:
			f.name = string(p.bytes())
		case 2:
			f.id = p.int()
		default:
			return false
		}
		return true
	})
	return f
}

// structure reads the fields of a struct, from 1 on. read returns false if there is no such field.
func (p *parser) structure(read func(field int) bool) {
	for field := 0; p.err == nil; {
		delta := p.uint()
		if delta == 0 || p.err != nil {
			return
		}
		if delta > 1<<20 || field > 1<<30 {
			p.fail("there is no such field")
			return
		}
		if field += int(delta); !read(field) {
			p.fail("there is no field %d", field)
		}
	}
}
