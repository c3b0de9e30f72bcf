package gobtext

import "encoding/json"

// absent prints a field that gob has left out. It returns false, and prints nothing, if that can be
// zero as well as nil, or nobody knows the type.
func (p *printer) absent(id int64, of form, fx *fix) bool {
	makes := 0
	if fx != nil {
		makes = fx.makes
	}
	if !of.known() && makes == 0 {
		return false
	}
	to, pointers := of.pointed()
	switch {
	case makes < pointers:
		p.add("null")
	case of.known():
		p.zero(id, to, makes > pointers)
	default:
		p.zero(id, to, true)
	}
	return true
}

// zero prints the zero value of a type that is no pointer; or, if it is made, a slice or map
// without elements.
func (p *printer) zero(id int64, of form, made bool) {
	t := p.typeOf(id)
	if !p.enter() {
		return
	}
	defer func() { p.depth-- }()
	switch t.kind {
	case basic:
		p.zeroBasic(id, made)
	case slice, mapping:
		switch {
		case !made:
			p.add("null")
		case t.kind == slice:
			p.add("[]")
		default:
			p.add("{}")
		}
	case array:
		sep := "["
		for i := int64(0); i < t.length && p.err == nil; i++ {
			p.add(sep)
			sep = ","
			if !p.absent(t.elem, of.part(0), nil) {
				p.add("null")
			}
		}
		p.end(sep, "[", "]")
	case structure:
		sep := "{"
		for _, f := range t.fields {
			if p.err == nil && p.member(f, of.field(f.name), nil, sep, false) {
				sep = ","
			}
		}
		p.end(sep, "{", "}")
	default:
		if of.kind() == "time.Time" {
			p.add(`"0001-01-01T00:00:00Z"`)
			return
		}
		p.add("null")
	}
}

func (p *printer) zeroBasic(id int64, made bool) {
	switch id {
	case idBool:
		p.add("false")
	case idInt, idUint, idFloat:
		p.add("0")
	case idString:
		p.add(`""`)
	case idComplex:
		p.add(`"(0+0i)"`)
	case idBytes:
		if made {
			p.add(`""`)
			return
		}
		p.add("null")
	default:
		p.add("null")
	}
}

func unquote(text string) (s string, err error) {
	err = json.Unmarshal([]byte(text), &s)
	return s, err
}
