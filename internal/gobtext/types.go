package gobtext

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

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
	id        int64
	name      string
	key, elem int64
	length    int64 // of an array
	fields    []wireField
}

type wireField struct {
	name string
	id   int64
}

// typeOf returns the type with a number.
func (p *parser) typeOf(id int64) *wireType {
	if t := p.d.types[id]; t != nil {
		return t
	}
	if id < idBool || id > idInterface {
		p.fail("there is no type %d", id)
	}
	return &wireType{id: id}
}

// define reads the definition of a type.
func (p *parser) define(id int64) {
	if p.d.types[id] != nil || id < firstID {
		p.fail("the definition of type %d is not the first one", id)
		return
	}
	t := &wireType{id: id}
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
		p.d.types[id] = t
	}
}

// part reads a field of a definition. The first one is what all have in common.
func (p *parser) part(t *wireType, field int) bool {
	switch {
	case field == 1:
		p.structure(func(field int) bool {
			switch field {
			case 1:
				t.name = string(p.bytes())
			case 2:
				p.int() // its number once more
			default:
				return false
			}
			return true
		})
	case field == 2 && t.kind == structure:
		for n := p.count(); n > 0 && p.err == nil; n-- {
			var f wireField
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
			t.fields = append(t.fields, f)
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

// A parser reads a message. A value goes on in another one after each definition within it.
type parser struct {
	d     *Decoder
	in    []byte // the rest of it
	err   error  // nothing is read any more
	raw   []byte // all messages of the value
	inner []Def
	depth int
	put   int // how long the text has become
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("gob: "+format, args...)
	}
	p.in = nil
}

var errShort = errors.New("gob: a value goes on after the end of its message")

// take takes n bytes.
func (p *parser) take(n uint64) []byte {
	if n > uint64(len(p.in)) {
		if p.err == nil {
			p.err = errShort
		}
		p.in = nil
		return nil
	}
	b := p.in[:n:n]
	p.in = p.in[n:]
	return b
}

func (p *parser) uint() (n uint64) {
	first := p.take(1)
	if len(first) == 0 {
		return 0
	}
	if first[0] <= 0x7f {
		return uint64(first[0])
	}
	length := -int(int8(first[0]))
	if length > 8 {
		p.fail("a number is not right")
		return 0
	}
	for _, b := range p.take(uint64(length)) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (p *parser) int() int64 {
	n := p.uint()
	if n&1 != 0 {
		return ^int64(n >> 1)
	}
	return int64(n >> 1)
}

func (p *parser) float() float64 { return math.Float64frombits(bits.ReverseBytes64(p.uint())) }

func (p *parser) bytes() []byte { return p.take(p.uint()) }

// count reads how many elements follow. Each of them has at least one byte, so a loop over them
// ends with the input.
func (p *parser) count() uint64 { return p.uint() }

// goOn reads the message in which a value goes on after a definition; or the length of what goes on
// in this one.
func (p *parser) goOn() {
	if len(p.in) > 0 {
		p.uint()
		return
	}
	prefix, body, err := p.d.message()
	if err != nil {
		p.err = unexpected(err)
		return
	}
	p.raw = append(append(p.raw, prefix...), body...)
	p.in = body
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
