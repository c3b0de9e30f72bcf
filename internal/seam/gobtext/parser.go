package gobtext

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A parser reads a message. A value may go on in another message behind a definition within it.
type parser struct {
	r     *Reader
	in    []byte // the rest of the message
	err   error  // nothing is read any more
	depth int
	names int // the length of all names that were printed
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

func (p *parser) uint() uint64 {
	if len(p.in) > 0 && p.in[0] <= 0x7f {
		n := p.in[0]
		p.in = p.in[1:]
		return uint64(n)
	}
	first := p.take(1)
	if len(first) == 0 {
		return 0
	}
	length := -int(int8(first[0]))
	if length > 8 {
		p.fail("a number is not right")
		return 0
	}
	return bigEndian(p.take(uint64(length)))
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

// enter counts a level of nesting. It returns false if there are too many.
func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail("values are nested more than %d deep", maxDepth)
	}
	return p.err == nil
}

// goOn reads the message in which a value goes on after a definition. If the value goes on in the
// present message, goOn only reads the length.
func (p *parser) goOn() {
	if len(p.in) > 0 {
		p.uint()
		return
	}
	from, err := p.r.message()
	if err != nil {
		p.err = unexpected(err)
		return
	}
	p.in = p.r.raw[from:]
}

// message reads the value of a message, of the type with number id.
func (p *parser) message(id int64) error {
	t := p.typeOf(id)
	switch {
	case p.err == nil && !p.r.prints && p.r.flat(id, 0):
		return nil
	case p.r.prints && t.kind != structure:
		p.fail("a record is not a struct")
	case p.r.prints:
		p.record(t)
	case t.kind != structure && p.uint() != 0:
		p.fail("a value is not right")
	default:
		p.skip(id)
	}
	if p.err == nil && len(p.in) > 0 {
		p.fail("something follows a value")
	}
	return p.err
}

// skip passes over a value. Each element has at least one byte, so a loop over them ends with the
// input.
func (p *parser) skip(id int64) {
	if id < idInterface {
		p.skipBasic(id)
		return
	}
	t := p.typeOf(id)
	if !p.enter() {
		return
	}
	switch t.kind {
	case basic:
		if name := p.bytes(); len(name) > 0 {
			p.skip(p.dynamicType())
		}
	case array, slice:
		for n := p.count(t); n > 0 && p.err == nil; n-- {
			p.skip(t.elem)
		}
	case mapping:
		for n := p.uint(); n > 0 && p.err == nil; n-- {
			p.skip(t.key)
			p.skip(t.elem)
		}
	case structure:
		for field := p.nextField(t, -1); field >= 0; field = p.nextField(t, field) {
			p.skip(t.fields[field].id)
		}
	default:
		p.bytes()
	}
	p.depth--
}

// skipBasic passes over a value that has no others in it.
func (p *parser) skipBasic(id int64) {
	switch id {
	case idBytes, idString:
		p.bytes()
	case idComplex:
		p.uint()
		p.uint()
	case idBool, idInt, idUint, idFloat:
		p.uint()
	default:
		p.fail("there is no type %d", id)
	}
}

// count reads how many elements an array or slice has.
func (p *parser) count(t *wireType) uint64 {
	n := p.uint()
	if t.kind == array && n != uint64(t.length) && p.err == nil {
		p.fail("an array has %d elements, and its type %d", n, t.length)
	}
	return n
}

// nextField reads and returns which field of a struct comes after field, -1 if none does.
func (p *parser) nextField(t *wireType, field int) int {
	delta := p.uint()
	if delta == 0 || p.err != nil {
		return -1
	}
	if delta > uint64(len(t.fields)) || field+int(delta) >= len(t.fields) {
		p.fail("there is no such field of %s", t.name)
		return -1
	}
	return field + int(delta)
}

// dynamicType reads the type of the value in an interface, with the definitions before it, and the
// length of the value.
func (p *parser) dynamicType() int64 {
	id := p.int()
	for ; id < 0 && p.err == nil; id = p.int() {
		if p.define(-id); p.err == nil {
			p.goOn()
		}
	}
	p.uint() // the length
	if t := p.typeOf(id); t.kind != structure && p.err == nil && p.uint() != 0 {
		p.fail("a value of an interface is not right")
	}
	return id
}
