package gobtext

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Fields returns the fields of the record that Next of a printer has read, by their names, as values
// that package json prints: numbers, strings, bool, nil, []byte, and slices and maps of them.
//
// A field that gob has left out, since it is zero or nil, is left out; but such a field of the
// record itself is the zero value of a number, text or bool, else nil. Floats that JSON does not
// have are strings. A text that is not UTF-8 is {"base64": ...}. A map whose keys are neither text,
// numbers nor bool is a sorted list of pairs. A value of an interface type is {"type": ...,
// "value": ...}, unless it is a string or bool. A type that encodes itself is {"type": ...,
// "base64": ...}, but for times. Repairs are ignored: nil is as empty, and -0 as 0. All is valid
// until the next call of Next.
func (r *Reader) Fields() map[string]any { return r.fields }

// Text returns a text as JSON has it.
func Text(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string]any{"base64": []byte(s)}
}

// record reads a struct, and puts zero values in the place of missing fields.
func (p *parser) record(t *wireType) {
	fields := p.structOf(t)
	for _, f := range t.fields {
		if _, has := fields[f.name]; !has {
			fields[f.name] = zeroOf(f.id)
		}
	}
	p.r.fields = fields
}

// zeroOf returns the zero value of a type.
func zeroOf(id int64) any {
	switch id {
	case idBool:
		return false
	case idInt, idUint, idFloat:
		return 0
	case idString:
		return ""
	}
	return nil
}

// named adds to p.names the length of a name, and returns the name.
func (p *parser) named(name string) string {
	if p.names += len(name); p.names > maxNames {
		p.fail("a record with more than %d bytes of names is not printed", maxNames)
	}
	return name
}

// value returns a value. Each element has at least one byte, so a loop over them ends with the input.
func (p *parser) value(id int64) (v any) {
	t := p.typeOf(id)
	if !p.enter() {
		return nil
	}
	switch t.kind {
	case basic:
		v = p.basic(id)
	case array, slice:
		list := []any{}
		for n := p.count(t); n > 0 && p.err == nil; n-- {
			list = append(list, p.value(t.elem))
		}
		v = list
	case structure:
		v = p.structOf(t)
	case mapping:
		v = p.mapOf(t)
	default:
		v = p.opaque(t, p.bytes())
	}
	p.depth--
	return v
}

func (p *parser) structOf(t *wireType) map[string]any {
	fields := map[string]any{}
	for at := p.nextField(t, -1); at >= 0; at = p.nextField(t, at) {
		fields[p.named(t.fields[at].name)] = p.value(t.fields[at].id)
	}
	return fields
}

func (p *parser) basic(id int64) any {
	switch id {
	case idBool:
		return p.uint() != 0
	case idInt:
		return p.int()
	case idUint:
		return p.uint()
	case idFloat:
		switch f := p.float(); {
		case f == 0: // also -0: as keys both are the same
			return 0.0
		case math.IsNaN(f) || math.IsInf(f, 0):
			return strconv.FormatFloat(f, 'g', -1, 64)
		default:
			return f
		}
	case idBytes:
		return p.bytes()
	case idString:
		return Text(string(p.bytes()))
	case idComplex:
		re, im := p.float(), p.float()
		return fmt.Sprint(complex(re, im))
	}
	return p.dynamic()
}

func (p *parser) mapOf(t *wireType) any {
	names, pairs := map[string]any{}, [][2]any{}
	for n := p.uint(); n > 0 && p.err == nil; n-- {
		pair := [2]any{p.value(t.key), p.value(t.elem)}
		switch pair[0].(type) {
		case string, bool, int64, uint64, float64:
			names[fmt.Sprint(pair[0])] = pair[1]
		}
		pairs = append(pairs, pair)
	}
	if len(names) == len(pairs) {
		return names
	}
	slices.SortFunc(pairs, func(a, b [2]any) int {
		return cmp.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0]))
	})
	return pairs
}

// dynamic returns a value of an interface type.
func (p *parser) dynamic() any {
	name := string(p.bytes())
	if name == "" {
		return nil
	}
	v := p.value(p.dynamicType())
	if name == "string" || name == "bool" {
		return v
	}
	return map[string]any{"type": Text(name), "value": v}
}

// opaque returns a value of a type that encodes itself, whose bytes are b. The type of a pointer
// has no name.
func (p *parser) opaque(t *wireType, b []byte) any {
	if at, ok := timeOf(b); ok && (t.name == "Time" || t.name == "") {
		return at.Format(time.RFC3339Nano)
	}
	v := map[string]any{"base64": b}
	if t.name != "" {
		v["type"] = Text(p.named(t.name))
	}
	return v
}

// timeOf returns the time whose binary form is b.
func timeOf(b []byte) (t time.Time, ok bool) {
	if t.UnmarshalBinary(b) != nil || binary.BigEndian.Uint32(b[9:]) >= 1e9 {
		return t, false
	}
	again, err := t.MarshalBinary()
	return t, err == nil && bytes.Equal(again, b)
}
