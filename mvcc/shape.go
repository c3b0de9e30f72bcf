package mvcc

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
// of Go itself. [DB.Load] compares it with that in the backup.
//
//   - Only exported fields count. A field has the name of its tag with the name of the codec, as in
//     `json:"name,omitempty"`, and is left out if that is "-".
//   - The name of a type does not count, but for types that encode themselves, which have only
//     that: with codec gob by GobEncode or MarshalBinary, with json by MarshalJSON or MarshalText,
//     with any other codec by any of these.
//
// The zero Shape is that of a backup which has none.
type Shape struct{ nodes []shapeNode } // the first one is that of the type

// A shapeNode is one type in a Shape.
type shapeNode struct {
	// Kind is that of the type; for an array "[N]", for one that encodes itself its name.
	Kind   string   `json:"k"`
	Fields []string `json:"f,omitempty"`
	Of     []int    `json:"t,omitempty"` // the numbers of the fields' types, or those of the elements
}

// MarshalJSON is for the header of a backup.
func (s Shape) MarshalJSON() ([]byte, error) { return json.Marshal(s.nodes) }

// UnmarshalJSON is for the header of a backup. It refuses anything else.
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
			return fmt.Errorf("mvcc: %s is not the shape of a type", data)
		}
	}
	return nil
}

// IsZero reports whether there is no shape.
func (s Shape) IsZero() bool { return len(s.nodes) == 0 }

// String is the type in Go, without the names of types. A type within itself is "...".
func (s Shape) String() string {
	if s.IsZero() {
		return ""
	}
	var b strings.Builder
	s.write(&b, 0, nil)
	return b.String()
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

// shapes are those of all types that were asked for.
var shapes sync.Map // from shapeKey to Shape

type shapeKey struct {
	of    reflect.Type
	codec string
}

// shapeOf returns the shape that a type has for a codec.
func shapeOf(t reflect.Type, codec string) Shape {
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
	case b.encodesItself(t):
		n.Kind = t.String()
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); b.exported(f) && b.named(f) != "" {
				n.Fields = append(n.Fields, b.named(f))
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

// exported reports whether a codec may see a field: also one that is embedded, of a struct whose
// own fields are exported.
func (b *shaper) exported(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.IsExported() || f.Anonymous && t.Kind() == reflect.Struct
}

// named returns the name of a field, "" if it is left out.
func (b *shaper) named(f reflect.StructField) string {
	tag := f.Tag.Get(b.codec)
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

// encodesItself reports whether the fields of a type are its own affair.
func (b *shaper) encodesItself(t reflect.Type) bool {
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
	switch b.codec {
	case "gob":
		return inGob
	case "json":
		return inJSON
	}
	return inGob || inJSON
}

// lost says, in words, what of s is not in is: a field that is gone, or another type. What is new
// in is does not count. of is what the whole is called.
func (s Shape) lost(is Shape, of string) (what []string) {
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

// has reports whether there is a field, whose path is that of fieldNames.
func (s Shape) has(path string) bool {
	at := 0
	for _, name := range strings.Split(path, "\x00")[1:] {
		for range s.nodes { // more there are not, but in a circle
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

// same reports whether two types look alike: no field is in one of them alone.
func (s Shape) same(as Shape) bool {
	return len(s.lost(as, "")) == 0 && len(as.lost(s, "")) == 0
}

// sameShapes reports whether a table has the shapes that were saved.
func sameShapes(of BackupTable, t *core, codec string) bool {
	is := of
	setShape(&is, t, codec)
	return !of.KeyShape.IsZero() && of.KeyShape.same(is.KeyShape) && of.ValueShape.same(is.ValueShape)
}

// lostIn returns how much of what was saved a table would lose.
func lostIn(of BackupTable, t *core, codec string) int {
	is := of
	setShape(&is, t, codec)
	return len(of.KeyShape.lost(is.KeyShape, "")) + len(of.ValueShape.lost(is.ValueShape, ""))
}

// from is String of the type with a number.
func (s Shape) from(at int) string {
	var b strings.Builder
	s.write(&b, at, nil)
	return b.String()
}

// A SchemaError says that the types of a table in the program would lose something of a backup:
// nothing was loaded.
type SchemaError struct {
	Table string
	// Saved and Is are the types of key and value in the backup and in the program.
	Saved, Is [2]string
	// SavedShape and Shape are their shapes; zero in a backup that has none.
	SavedShape, Shape [2]Shape
	// Lost says what would be lost, in words.
	Lost []string
}

func (e *SchemaError) Error() string {
	s := fmt.Sprintf("table %q is a Map[%s, %s]", e.Table, e.Is[0], e.Is[1])
	if e.Saved == e.Is {
		s += ", as in the backup"
	} else {
		s += fmt.Sprintf(", and in the backup it is a Map[%s, %s]", e.Saved[0], e.Saved[1])
	}
	if len(e.Lost) > 0 {
		s += ": " + strings.Join(e.Lost, "; ")
	}
	return s + ": see LoadOptions.Migrate and AnyShape"
}

// A VersionError says that the program does not take the version of a backup: nothing was loaded.
type VersionError struct {
	// Saved is [SaveOptions.Version] of the backup; Version and Versions are those of
	// [LoadOptions].
	Saved, Version int
	Versions       []int
	// Backup says which one it is: 0, or that of LoadOptions.Then from 1.
	Backup int
	// File is where it is, if a journal has it.
	File string
	_    struct{}
}

func (e *VersionError) Error() string {
	which, more := "the backup", ""
	if e.Backup > 0 {
		which = fmt.Sprintf("the backup Then[%d]", e.Backup-1)
	}
	if len(e.Versions) > 0 {
		more = fmt.Sprintf(", and Versions %d", e.Versions)
	}
	return fmt.Sprintf("the version of %s is %d, and LoadOptions.Version is %d%s", which, e.Saved,
		e.Version, more)
}

// setShape sets the shapes that a table has for a codec.
func setShape(of *BackupTable, t *core, codec string) {
	key, value := t.types.key, t.types.value
	of.KeyShape, of.ValueShape = shapeOf(key, codec), shapeOf(value, codec)
}

// misfits returns a *SchemaError if something of a table in a backup would be lost in the table
// that is.
func (of BackupTable) misfits(is BackupTable) error {
	e := &SchemaError{Table: of.Name, Saved: [2]string{of.Key, of.Value}, Is: [2]string{is.Key, is.Value},
		SavedShape: [2]Shape{of.KeyShape, of.ValueShape}, Shape: [2]Shape{is.KeyShape, is.ValueShape}}
	if of.KeyShape.IsZero() || of.ValueShape.IsZero() {
		if e.Saved == e.Is {
			return nil
		}
		return e
	}
	e.Lost = append(of.KeyShape.lost(is.KeyShape, "the key"),
		of.ValueShape.lost(is.ValueShape, "the value")...)
	if len(e.Lost) == 0 {
		return nil
	}
	return e
}
