package gobtext

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// A Field is a field of a struct, in JSON.
type Field struct {
	Name string
	Text []byte
	// Absent says that gob has left the field out, since it is zero or nil: then Text is that of zero
	// for numbers, text and bool, and null for others.
	Absent bool
}

// Fields prints the fields of the value that Next has read, which is a struct.
//
// In values the fields that gob has left out, which are zero or nil, are left out too. Numbers are as
// Go prints them, those that JSON does not have in quotation marks. Bytes are in base64. A text that
// is not UTF-8 is {"base64": ...}. Maps are sorted; those with keys that are neither text nor
// numbers are lists of pairs. A value of an interface type is {"type": ..., "value": ...}, unless it
// is a string or bool. A type that encodes itself is {"type": ..., "base64": ...}, without the type if
// it is a pointer, but for times.
// Repairs are not looked at: nil is as that which is empty, and -0 as 0.
func (r *Reader) Fields() (list []Field, err error) {
	p := printer{parser: parser{r: r, again: true}}
	p.goOn()
	t := p.typeOf(r.id)
	if p.err == nil && t.kind != structure {
		return nil, errors.New("gob: a record is not a struct")
	}
	next := p.nextField(t, -1)
	for i, f := range t.fields {
		is := Field{Name: f.name, Absent: i != next}
		if is.Absent {
			p.add(zeroText(f.id))
		} else if p.value(f.id); p.err == nil {
			next = p.nextField(t, next)
		}
		if p.err != nil {
			break
		}
		is.Text, p.out = p.out, nil
		list = append(list, is)
	}
	return list, p.err
}

// zeroText is the zero value of a type in JSON.
func zeroText(id int64) string {
	switch id {
	case idBool:
		return "false"
	case idInt, idUint, idFloat:
		return "0"
	case idString:
		return `""`
	case idComplex:
		return `"(0+0i)"`
	}
	return "null"
}

// A printer prints the values that it parses.
type printer struct {
	parser
	out []byte
	put int // how long the text has become
}

func (p *printer) add(s string) {
	if p.put += len(s); p.put > p.r.text {
		p.fail("a record of more than %d bytes of text is not printed", p.r.text)
		return
	}
	p.out = append(p.out, s...)
}

// value prints a value.
func (p *printer) value(id int64) {
	t := p.typeOf(id)
	if !p.enter() {
		return
	}
	switch t.kind {
	case basic:
		p.basic(id)
	case array, slice:
		p.add("[")
		for n, first := p.count(t), true; n > 0 && p.err == nil; n, first = n-1, false {
			p.separate(first)
			p.value(t.elem)
		}
		p.add("]")
	case structure:
		p.add("{")
		for at, first := p.nextField(t, -1), true; at >= 0; at, first = p.nextField(t, at), false {
			p.separate(first)
			p.add(string(appendQuoted(nil, t.fields[at].name)) + ":")
			p.value(t.fields[at].id)
		}
		p.add("}")
	case mapping:
		p.mapping(t)
	default:
		p.opaque(t, p.bytes())
	}
	p.depth--
}

func (p *printer) separate(first bool) {
	if !first {
		p.add(",")
	}
}

func (p *printer) basic(id int64) {
	switch id {
	case idBool:
		p.add(strconv.FormatBool(p.uint() != 0))
	case idInt:
		p.add(strconv.FormatInt(p.int(), 10))
	case idUint:
		p.add(strconv.FormatUint(p.uint(), 10))
	case idFloat:
		f := p.float()
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			text = `"` + text + `"`
		}
		p.add(text)
	case idBytes:
		p.base64(p.bytes())
	case idString:
		p.text(p.bytes())
	case idComplex:
		re, im := p.float(), p.float()
		p.add(`"` + fmt.Sprint(complex(re, im)) + `"`)
	case idInterface:
		p.dynamic()
	}
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
		case r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029':
			to = fmt.Appendf(to, `\u%04x`, r)
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return append(to, '"')
}

// mapping prints a map, sorted by the text of its keys.
func (p *printer) mapping(t *wireType) {
	var entries [][2]string
	names := true // keys can be names of an object
	start := len(p.out)
	cut := func() (text string) {
		text = string(p.out[start:])
		p.out = p.out[:start]
		return text
	}
	for n := p.uint(); n > 0 && p.err == nil; n-- {
		p.value(t.key)
		key := cut()
		p.value(t.elem)
		names = names && key != "" && (t.key <= idFloat || key[0] == '"')
		entries = append(entries, [2]string{key, cut()})
	}
	if p.err != nil {
		return
	}
	slices.SortFunc(entries, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	open, end := "{", "}"
	if !names {
		open, end = "[", "]"
	}
	p.add(open)
	for i, e := range entries {
		p.separate(i == 0)
		switch {
		case !names:
			p.add("[" + e[0] + "," + e[1] + "]")
		case e[0][0] == '"':
			p.add(e[0] + ":" + e[1])
		default:
			p.add(`"` + e[0] + `":` + e[1])
		}
	}
	p.add(end)
}

// dynamic prints a value of an interface type.
func (p *printer) dynamic() {
	name := string(p.bytes())
	if name == "" {
		p.add("null")
		return
	}
	id := p.dynamicType()
	if name == "string" || name == "bool" {
		p.value(id)
		return
	}
	p.add(`{"type":`)
	p.text([]byte(name))
	p.add(`,"value":`)
	p.value(id)
	p.add("}")
}

// opaque prints the bytes that a type has made of its value by itself. The type of a pointer has no
// name.
func (p *printer) opaque(t *wireType, b []byte) {
	if at, ok := timeOf(b); ok && (t.name == "Time" || t.name == "") {
		p.add(at.Format(`"` + time.RFC3339Nano + `"`))
		return
	}
	p.add("{")
	if t.name != "" {
		p.add(`"type":`)
		p.text([]byte(t.name))
		p.add(",")
	}
	p.add(`"base64":`)
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
