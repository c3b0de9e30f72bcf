package gobtext

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Field is a field of a struct, in JSON. Text is nil if gob has left it out and its shape is not
// known: then it is zero, or nil.
type Field struct {
	Name string
	Text []byte
}

// record prints the fields of a message.
//
// A field that gob has left out is zero if it is of a number, text or time, and null otherwise: or
// what the repairs say. Within a value whose shape is not known, it is left out too. Numbers are as
// Go prints them, those that JSON does not have in quotation marks. Bytes are in base64. A text
// that is not UTF-8 is {"base64": ...}. Maps are sorted; those with keys that are neither text nor
// numbers are lists of pairs. A value of an interface type is {"type": ..., "value": ...}, unless it is a
// string or bool. A type that encodes itself is {"type": ..., "base64": ...}, but for times.
func (p *printer) record(id int64, shapes map[string]Shape, fx *fix) (list []Field, err error) {
	t := p.typeOf(id)
	if p.err == nil && t.kind != structure {
		p.fail("a record is not a struct")
	}
	p.fields(t, func(f wireField, there bool) {
		of, fx := shapes[f.name].form(), fx.step(f.name)
		if there {
			p.value(f.id, of, fx)
		} else if !p.absent(f.id, of, fx) {
			list = append(list, Field{Name: f.name})
			return
		}
		list = append(list, Field{f.name, p.out})
		p.out = nil
	})
	if p.err == nil && len(p.in) > 0 {
		p.fail("something follows a value")
	}
	return list, p.err
}

// A printer prints what it parses.
type printer struct {
	parser
	out []byte
}

func (p *printer) add(s string) {
	if p.put += len(s); p.put > p.d.text {
		p.fail("a record of more than %d bytes of text is not printed", p.d.text)
		return
	}
	p.out = append(p.out, s...)
}

// fields calls visit for all fields of a struct; those that are there are to be read.
func (p *printer) fields(t *wireType, visit func(f wireField, there bool)) {
	next := -1
	step := func() {
		switch delta := p.uint(); {
		case delta == 0:
			next = len(t.fields)
		case delta > uint64(len(t.fields)) || next+int(delta) >= len(t.fields):
			p.fail("there is no such field of %s", t.name)
		default:
			next += int(delta)
		}
	}
	step()
	for i, f := range t.fields {
		if p.err != nil {
			return
		}
		if visit(f, i == next); i == next && p.err == nil {
			step()
		}
	}
}

// enter counts a level of nesting. It returns false if there are too many.
func (p *printer) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail("values are nested more than %d deep", maxDepth)
	}
	return p.err == nil
}

// value prints a value.
func (p *printer) value(id int64, of form, fx *fix) {
	of, _ = of.pointed()
	t := p.typeOf(id)
	if !p.enter() {
		return
	}
	defer func() { p.depth-- }()
	switch t.kind {
	case basic:
		p.basic(id, of, fx)
	case array, slice:
		p.list(t, of, fx)
	case structure:
		sep := "{"
		p.fields(t, func(f wireField, there bool) {
			if p.member(f, of.field(f.name), fx.step(f.name), sep, there) {
				sep = ","
			}
		})
		p.end(sep, "{", "}")
	case mapping:
		p.mapping(t, of, fx)
	default:
		p.opaque(t, of, p.bytes())
	}
}

func (p *printer) end(sep, open, end string) {
	if sep == open {
		p.add(open)
	}
	p.add(end)
}

// member prints a field with its name, or nothing if it is left out: then it returns false.
func (p *printer) member(f wireField, of form, fx *fix, sep string, there bool) bool {
	before := len(p.out)
	p.add(sep)
	p.add(string(appendQuoted(nil, f.name)) + ":")
	if there {
		p.value(f.id, of, fx)
	} else if !p.absent(f.id, of, fx) {
		p.out = p.out[:min(before, len(p.out))]
		return false
	}
	return true
}

func (p *printer) basic(id int64, of form, fx *fix) {
	switch id {
	case idBool:
		p.add(strconv.FormatBool(p.uint() != 0))
	case idInt:
		p.add(strconv.FormatInt(p.int(), 10))
	case idUint:
		p.add(strconv.FormatUint(p.uint(), 10))
	case idFloat:
		p.float(p.parser.float(), of)
	case idBytes:
		if b := p.bytes(); len(b) > 0 || fx != nil && fx.makes > 0 {
			p.base64(b)
		} else {
			p.add("null")
		}
	case idString:
		p.text(p.bytes())
	case idComplex:
		re, im := p.parser.float(), p.parser.float()
		p.add(`"` + fmt.Sprint(complex(re, im)) + `"`)
	case idInterface:
		p.dynamic(fx)
	}
}

func (p *printer) float(f float64, of form) {
	size := 64
	if of.kind() == "float32" {
		size = 32
	}
	text := strconv.FormatFloat(f, 'g', -1, size)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		text = `"` + text + `"`
	}
	p.add(text)
}

func (p *printer) base64(b []byte) { p.add(`"` + base64.StdEncoding.EncodeToString(b) + `"`) }

// text prints a text.
func (p *printer) text(s []byte) { p.add(string(AppendText(nil, string(s)))) }

// AppendText appends a text as JSON, or {"base64": ...} if it is not UTF-8.
func AppendText(to []byte, s string) []byte {
	if utf8.ValidString(s) {
		return appendQuoted(to, s)
	}
	to = base64.StdEncoding.AppendEncode(append(to, `{"base64":"`...), []byte(s))
	return append(to, `"}`...)
}

// appendQuoted appends a text in quotation marks, and escapes no more than it must.
func appendQuoted(to []byte, s string) []byte {
	to = append(to, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r == '\n':
			to = append(to, `\n`...)
		case r == '\t':
			to = append(to, `\t`...)
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
			to = fmt.Appendf(to, `\u%04x`, r)
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return append(to, '"')
}

// list prints an array or slice.
func (p *printer) list(t *wireType, of form, fx *fix) {
	n := p.count()
	if t.kind == array && n != uint64(t.length) {
		p.fail("an array has %d elements, and its type %d", n, t.length)
	}
	if n == 0 && t.kind == slice && (fx == nil || fx.makes == 0) {
		p.add("null")
		return
	}
	sep := "["
	for i := uint64(0); i < n && p.err == nil; i++ {
		p.add(sep)
		sep = ","
		var in *fix
		if fx != nil {
			in = fx.step(strconv.FormatUint(i, 10))
		}
		p.value(t.elem, of.part(0), in)
	}
	p.end(sep, "[", "]")
}

// mapping prints a map, sorted by the text of its keys.
func (p *printer) mapping(t *wireType, of form, fx *fix) {
	n := p.count()
	if n == 0 && fx != nil && fx.isNil {
		p.add("null")
		return
	}
	var entries [][2]string
	names := true // keys can be names of an object
	start := len(p.out)
	cut := func() (text string) {
		if start > len(p.out) {
			return ""
		}
		text = string(p.out[start:])
		p.out = p.out[:start]
		return text
	}
	for ; n > 0 && p.err == nil; n-- {
		p.value(t.key, of.part(0), nil)
		key := cut()
		p.value(t.elem, of.part(1), fx.step(p.step(t.key, of.part(0), key)))
		names = names && key != "" && (t.key <= idFloat || key[0] == '"')
		entries = append(entries, [2]string{key, cut()})
	}
	slices.SortFunc(entries, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	open, end, sep := "{", "}", "{"
	if !names {
		open, end, sep = "[", "]", "["
	}
	for _, e := range entries {
		p.add(sep)
		sep = ","
		switch {
		case !names:
			p.add("[" + e[0] + "," + e[1] + "]")
		case e[0][0] == '"':
			p.add(e[0] + ":" + e[1])
		default:
			p.add(`"` + e[0] + `":` + e[1])
		}
	}
	p.end(sep, open, end)
}

// step returns how repairs name the key with a text: as Go writes it. Those of structs, arrays and
// interfaces are not known without their types: what is repaired behind them is printed as gob has
// it, null for a slice without elements.
func (p *printer) step(id int64, of form, text string) string {
	switch {
	case id == idUint:
		n, _ := strconv.ParseUint(text, 10, 64)
		return fmt.Sprintf("%#v", n)
	case id == idFloat:
		f, _ := strconv.ParseFloat(strings.Trim(text, `"`), 64)
		if of.kind() == "float32" {
			return fmt.Sprintf("%#v", float32(f))
		}
		return fmt.Sprintf("%#v", f)
	case id == idString && strings.HasPrefix(text, `"`):
		s, _ := unquote(text)
		return fmt.Sprintf("%#v", s)
	}
	return text
}

// dynamic prints a value of an interface type.
func (p *printer) dynamic(fx *fix) {
	name := p.bytes()
	if len(name) == 0 {
		p.add("null")
		return
	}
	id := p.dynamicType()
	p.uint() // how long it is
	t := p.typeOf(id)
	if t.kind != structure && p.err == nil && p.uint() != 0 {
		p.fail("a value of an interface is not right")
	}
	if plain := string(name); plain == "string" || plain == "bool" {
		p.value(id, form{}, fx)
		return
	}
	p.add(`{"type":`)
	p.text(name)
	p.add(`,"value":`)
	p.value(id, form{}, fx)
	p.add("}")
}

// dynamicType reads the type of a value, with the definitions that stand before it.
func (p *printer) dynamicType() int64 {
	for {
		from := p.in
		id := p.int()
		if p.err != nil || id >= 0 {
			return id
		}
		p.define(-id)
		if p.err != nil {
			return 0
		}
		body := from[:len(from)-len(p.in)]
		raw := append(appendUint(nil, uint64(len(body))), body...)
		p.inner = append(p.inner, Def{-id, raw})
		p.goOn()
	}
}

// appendUint appends a number as gob does.
func appendUint(to []byte, n uint64) []byte {
	if n <= 0x7f {
		return append(to, byte(n))
	}
	b := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, n), "\x00")
	return append(append(to, byte(-len(b))), b...)
}

// opaque prints what a type has made of its value by itself.
func (p *printer) opaque(t *wireType, of form, b []byte) {
	if p.err != nil {
		return
	}
	name := t.name
	if strings.Contains(of.kind(), ".") {
		name = of.kind()
	}
	if at, ok := timeOf(b); ok && (name == "time.Time" || name == "Time" && !of.known()) {
		p.add(at.Format(`"` + time.RFC3339Nano + `"`))
		return
	}
	if t.kind == textMarshaler {
		p.text(b)
		return
	}
	p.add(`{"type":`)
	p.text([]byte(name))
	p.add(`,"base64":`)
	p.base64(b)
	p.add("}")
}

// timeOf returns the time that b is the binary form of.
func timeOf(b []byte) (t time.Time, ok bool) {
	if t.UnmarshalBinary(b) != nil || binary.BigEndian.Uint32(b[9:]) >= 1e9 {
		return t, false
	}
	again, err := t.MarshalBinary()
	return t, err == nil && bytes.Equal(again, b)
}
