package backupfile

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Shape is a type as a codec sees it: its fields, with their names and types, down to the types
// of Go itself. A load compares it with the shape in the backup.
//
//   - Only exported fields count. A field has the name of its tag with the name of the codec, as in
//     `json:"name,omitempty"`, and is left out if that is "-".
//   - The name of a type does not count, but for types that encode themselves, which have only a
//     name: with codec gob by GobEncode or MarshalBinary, with json by MarshalJSON or MarshalText,
//     with any other codec by any of these.
//
// The zero Shape is that of a backup which has none.
type Shape struct{ nodes []shapeNode } // the first one is that of the type

// A shapeNode is one type in a Shape.
type shapeNode struct {
	// Kind is the kind of the type; for an array "[N]", for a type that encodes itself its name.
	Kind   string   `json:"k"`
	Fields []string `json:"f,omitempty"`
	Of     []int    `json:"t,omitempty"` // the numbers of the fields' types, or those of the elements
}

// MarshalJSON returns the form of s in the header of a backup.
func (s Shape) MarshalJSON() ([]byte, error) { return json.Marshal(s.nodes) }

// UnmarshalJSON reads the form that MarshalJSON returns. It refuses anything else.
func (s *Shape) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &s.nodes); err != nil {
		return err
	}
	for _, n := range s.nodes {
		want := len(n.Fields)
		switch {
		case n.Kind == "map":
			want = 2
		case n.Kind == "*" || strings.HasPrefix(n.Kind, "["):
			want = 1
		}
		if len(n.Of) != want || n.Kind != "struct" && len(n.Fields) > 0 ||
			slices.ContainsFunc(n.Of, func(of int) bool { return of < 0 || of >= len(s.nodes) }) {
			return fmt.Errorf("%s is not the shape of a type", data)
		}
	}
	return nil
}

// IsZero reports whether there is no shape.
func (s Shape) IsZero() bool { return len(s.nodes) == 0 }

// String returns the type in Go, without the names of types. A type within itself is "...".
func (s Shape) String() string {
	if s.IsZero() {
		return ""
	}
	return s.from(0)
}

func (s Shape) write(b *strings.Builder, at int, in []int) {
	if slices.Contains(in, at) || b.Len() > 1<<10 {
		b.WriteString("...")
		return
	}
	in = append(in, at)
	switch n := s.nodes[at]; {
	case n.Kind == "struct":
		b.WriteString("struct{")
		for i, name := range n.Fields {
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(name + " ")
			s.write(b, n.Of[i], in)
		}
		b.WriteString("}")
	case n.Kind == "map":
		b.WriteString("map[")
		s.write(b, n.Of[0], in)
		b.WriteString("]")
		s.write(b, n.Of[1], in)
	default:
		b.WriteString(n.Kind)
		for _, of := range n.Of {
			s.write(b, of, in)
		}
	}
}

// shapes has the shapes of all types that were asked for.
var shapes sync.Map // from shapeKey to Shape

type shapeKey struct {
	of    reflect.Type
	codec string
}

// ShapeOf returns the shape that a type has for a codec.
func ShapeOf(t reflect.Type, codec string) Shape {
	key := shapeKey{t, codec}
	if s, ok := shapes.Load(key); ok {
		return s.(Shape)
	}
	b := shaper{codec: codec, known: map[reflect.Type]int{}}
	b.add(t)
	shapes.Store(key, b.s)
	return b.s
}

type shaper struct {
	s     Shape
	codec string
	known map[reflect.Type]int
}

// add adds a type, with those that it is made of, and returns its number.
func (b *shaper) add(t reflect.Type) int {
	if at, ok := b.known[t]; ok {
		return at
	}
	at := len(b.s.nodes)
	b.known[t] = at
	b.s.nodes = append(b.s.nodes, shapeNode{})
	n := shapeNode{Kind: t.Kind().String()}
	switch {
	case EncodesItself(t, b.codec):
		n.Kind = t.String()
	case t.Kind() == reflect.Struct:
		for f := range t.Fields() {
			if name := FieldName(f, b.codec); SeenByCodec(f) && name != "" {
				n.Fields = append(n.Fields, name)
				n.Of = append(n.Of, b.add(f.Type))
			}
		}
	case t.Kind() == reflect.Pointer:
		n.Kind, n.Of = "*", []int{b.add(t.Elem())}
	case t.Kind() == reflect.Slice:
		n.Kind, n.Of = "[]", []int{b.add(t.Elem())}
	case t.Kind() == reflect.Array:
		n.Kind, n.Of = "["+strconv.Itoa(t.Len())+"]", []int{b.add(t.Elem())}
	case t.Kind() == reflect.Map:
		n.Of = []int{b.add(t.Key()), b.add(t.Elem())}
	}
	b.s.nodes[at] = n
	return at
}

// SeenByCodec reports whether a codec may see a field: an exported one, or an embedded struct,
// whose own fields may be exported.
func SeenByCodec(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.IsExported() || f.Anonymous && t.Kind() == reflect.Struct
}

// FieldName returns the name that a codec gives a field, "" if it is left out.
func FieldName(f reflect.StructField, codec string) string {
	tag := f.Tag.Get(codec)
	if tag == "-" {
		return ""
	}
	if name, _, _ := strings.Cut(tag, ","); name != "" {
		return name
	}
	return f.Name
}

type (
	gobEncoder  interface{ GobEncode() ([]byte, error) }
	jsonEncoder interface{ MarshalJSON() ([]byte, error) }
)

// EncodesItself reports whether a type has a method by which the codec encodes it.
func EncodesItself(t reflect.Type, codec string) bool {
	if t.Name() == "" {
		return false
	}
	is := func(an ...reflect.Type) bool {
		return slices.ContainsFunc(an, func(i reflect.Type) bool {
			return t.Implements(i) || reflect.PointerTo(t).Implements(i)
		})
	}
	inGob := is(reflect.TypeFor[gobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler]())
	inJSON := is(reflect.TypeFor[jsonEncoder](), reflect.TypeFor[encoding.TextMarshaler]())
	switch codec {
	case "gob":
		return inGob
	case "json":
		return inJSON
	}
	return inGob || inJSON
}

// Lost lists, in words, the parts of s that is lacks: a field that is gone, or has another type.
// New fields of is do not count. of names the whole value in the texts.
func (s Shape) Lost(is Shape, of string) (what []string) {
	if s.IsZero() || is.IsZero() {
		return nil
	}
	seen := map[[2]int]bool{}
	var compare func(at, to int, of string)
	compare = func(at, to int, of string) {
		pair := [2]int{at, to}
		if seen[pair] {
			return
		}
		seen[pair] = true
		was, now := s.nodes[at], is.nodes[to]
		if was.Kind != now.Kind {
			what = append(what, fmt.Sprintf("%s was %s, and is %s", of, s.from(at), is.from(to)))
			return
		}
		if was.Kind != "struct" {
			within := of
			for i := range was.Of {
				if within = "an element of " + of; was.Kind == "map" && i == 0 {
					within = "a key of " + of
				} else if was.Kind == "*" {
					within = of
				}
				compare(was.Of[i], now.Of[i], within)
			}
			return
		}
		for i, name := range was.Fields {
			field := "the field " + name + " of " + of
			if j := slices.Index(now.Fields, name); j >= 0 {
				compare(was.Of[i], now.Of[j], field)
			} else {
				what = append(what, field+" is gone")
			}
		}
	}
	compare(0, 0, of)
	return what
}

// Has reports whether there is a field: path has the names that lead to it, each behind a 0 byte.
func (s Shape) Has(path string) bool {
	at := 0
	for _, name := range strings.Split(path, "\x00")[1:] {
		for range s.nodes { // there are no more, except in a circle
			if n := s.nodes[at]; n.Kind == "map" {
				at = n.Of[1]
			} else if n.Kind == "*" || strings.HasPrefix(n.Kind, "[") {
				at = n.Of[0]
			}
		}
		i := slices.Index(s.nodes[at].Fields, name)
		if i < 0 {
			return false
		}
		at = s.nodes[at].Of[i]
	}
	return true
}

// Same reports whether two types look alike: no field is in one of them alone.
func (s Shape) Same(as Shape) bool {
	return len(s.Lost(as, "")) == 0 && len(as.Lost(s, "")) == 0
}

// from returns the String of the type with a number.
func (s Shape) from(at int) string {
	var b strings.Builder
	s.write(&b, at, nil)
	return b.String()
}
