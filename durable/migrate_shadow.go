package durable

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
)

// A shadow is a type whose fields, or those of structs within it, have older names. It is a type of
// its own, made when it is used, with the fields that a codec sees.
type shadow struct {
	of    reflect.Type
	codec string
	// fields are those of the struct that of is, or has within it, if some of them are renamed.
	fields []*shadowField
}

// A shadowField is a field that the codec sees.
type shadowField struct {
	shadow
	reflect.StructField
	name    string // at the moment
	renamed bool
}

func newShadow(of reflect.Type, codec string) renamedType { return &shadow{of: of, codec: codec} }

func (s *shadow) undo(list []renamedField) error {
	found := make([]*shadowField, len(list))
	for i, f := range list {
		at := s
		for n, name := range f.is {
			if err := at.open(); err != nil {
				return err
			}
			if found[i] = at.field(name); found[i] == nil {
				return fmt.Errorf("there is no field %s in %s", strings.Join(f.is[:n+1], "."), s.of)
			}
			at = &found[i].shadow
		}
	}
	before := make([]shadowField, len(list))
	for i, f := range found {
		before[i] = *f
		f.name, f.renamed = list[i].was[len(list[i].was)-1], true
	}
	err := s.right(list, found)
	if err != nil {
		for i, f := range found {
			f.name, f.renamed = before[i].name, before[i].renamed
		}
	}
	return err
}

// right returns why a former name of a field is impossible, or nil.
func (s *shadow) right(list []renamedField, found []*shadowField) error {
	for i, f := range list {
		if !s.canBe(found[i].name) {
			return fmt.Errorf("codec %s gives no field the name %q", s.codec, found[i].name)
		}
		at, last := s, (*shadowField)(nil)
		for _, name := range f.was {
			if last = at.field(name); last == nil {
				break
			}
			at = &last.shadow
		}
		if last != found[i] {
			return fmt.Errorf("%s was not called %s: the structs that it is in had other names",
				strings.Join(f.is, "."), strings.Join(f.was, "."))
		}
	}
	return s.unique()
}

func (s *shadow) field(name string) *shadowField {
	for _, f := range s.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

func (s *shadow) names() fieldNames {
	names := fieldNames{}
	s.addNames("", "", names)
	return names
}

func (s *shadow) addNames(was, is string, to fieldNames) {
	for _, f := range s.fields {
		w, n := was+"\x00"+f.name, is+"\x00"+backupfile.FieldName(f.StructField, s.codec)
		to[w] = n
		f.addNames(w, n, to)
	}
}

// unique returns an error if two fields of a struct have one name.
func (s *shadow) unique() error {
	names := map[string]string{}
	for _, f := range s.fields {
		if other, taken := names[f.name]; taken {
			return fmt.Errorf("the fields %s and %s of %s would both have been %s", other, f.Name, s.of, f.name)
		}
		names[f.name] = f.Name
		if err := f.unique(); err != nil {
			return err
		}
	}
	return nil
}

// canBe reports whether a field may have a name in the codec.
func (s *shadow) canBe(name string) bool {
	if s.codec == "gob" {
		first, _ := utf8.DecodeRuneInString(name)
		return unicode.IsUpper(first) && strings.IndexFunc(name, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) < 0
	}
	return name != "-" && strings.IndexFunc(name, func(r rune) bool { // as package json has it
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
	}) < 0
}

// open looks up the fields of the struct that is in the type.
func (s *shadow) open() error {
	if s.fields != nil || s.of.Size() == 0 { // a record has no such value
		return nil
	}
	seen := map[reflect.Type]bool{}
	for t := s.of; !seen[t]; t = t.Elem() { // a slice may be one of itself
		seen[t] = true
		if backupfile.EncodesItself(t, s.codec) || decodesItself(t) {
			return fmt.Errorf("%s encodes or decodes itself, and what becomes of its fields is not known: "+
				"use Migrate", t)
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			continue
		case reflect.Struct:
			return s.openStruct(t)
		}
		return nil
	}
	return nil
}

func (s *shadow) openStruct(t reflect.Type) error {
	for f := range t.Fields() {
		name := backupfile.FieldName(f, s.codec)
		switch {
		case s.codec == "gob" && f.IsExported() && name != f.Name:
			return fmt.Errorf("%s has a tag gob at the field %s, which package gob does not look at, and a "+
				"shape does: use Migrate", t, f.Name)
		case !backupfile.SeenByCodec(f) || name == "":
			continue
		case f.Anonymous && (s.codec != "gob" || !f.IsExported()):
			return fmt.Errorf("%s has the embedded field %s, which codec %s has not as a field: use Migrate",
				t, f.Name, s.codec)
		case hasWithin(f.Type, t, map[reflect.Type]bool{}):
			return fmt.Errorf("%s has itself within it, in the field %s: use Migrate", t, f.Name)
		}
		s.fields = append(s.fields, &shadowField{shadow{of: f.Type, codec: s.codec}, f, name, false})
	}
	return nil
}

// hasWithin reports whether values of type t may have values of type of within them. It does not
// look into interfaces.
func hasWithin(t, of reflect.Type, seen map[reflect.Type]bool) bool {
	if t == of || seen[t] {
		return t == of
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hasWithin(t.Elem(), of, seen)
	case reflect.Map:
		return hasWithin(t.Key(), of, seen) || hasWithin(t.Elem(), of, seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if hasWithin(f.Type, of, seen) {
				return true
			}
		}
	}
	return false
}

// decodesItself reports whether a type has a method that decodes it.
func decodesItself(t reflect.Type) bool {
	switch reflect.New(t).Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler, interface{ GobDecode([]byte) error },
		encoding.BinaryUnmarshaler:
		return true
	}
	return false
}

func (s *shadow) renaming(key reflect.Type) (backupfile.Shape, func(decoder) decoder) {
	as, give := s.made(s.of)
	record := reflect.StructOf([]reflect.StructField{
		{Name: "K", Type: key, Tag: `json:"k"`},
		{Name: "V", Type: as, Tag: `json:"v"`},
		{Name: "D", Type: reflect.TypeFor[bool](), Tag: `json:"d,omitempty"`},
	})
	return backupfile.ShapeOf(as, s.codec), func(from decoder) decoder {
		return &renamer{from: from, old: reflect.New(record), give: give}
	}
}

// made returns the type that has the names of the shadow, in place of t, which is s.of or within
// it, and the function that copies a value of that type to one of t.
func (s *shadow) made(t reflect.Type) (as reflect.Type, give func(from, to reflect.Value)) {
	if !s.changes() {
		return t, func(from, to reflect.Value) { to.Set(from) }
	}
	if t.Kind() == reflect.Struct {
		return s.madeStruct()
	}
	elem, one := s.made(t.Elem())
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(elem), func(from, to reflect.Value) {
			if !from.IsNil() {
				p := reflect.New(t.Elem())
				one(from.Elem(), p.Elem())
				to.Set(p.Convert(t))
			}
		}
	case reflect.Slice:
		return reflect.SliceOf(elem), func(from, to reflect.Value) {
			if !from.IsNil() {
				to.Set(reflect.MakeSlice(t, from.Len(), from.Len()))
				for i := range from.Len() {
					one(from.Index(i), to.Index(i))
				}
			}
		}
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), elem), func(from, to reflect.Value) {
			for i := range from.Len() {
				one(from.Index(i), to.Index(i))
			}
		}
	default: // a map
		return reflect.MapOf(t.Key(), elem), func(from, to reflect.Value) {
			if from.IsNil() {
				return
			}
			to.Set(reflect.MakeMapWithSize(t, from.Len()))
			for i := from.MapRange(); i.Next(); {
				v := reflect.New(t.Elem()).Elem()
				one(i.Value(), v)
				to.SetMapIndex(i.Key(), v)
			}
		}
	}
}

func (s *shadow) madeStruct() (as reflect.Type, give func(from, to reflect.Value)) {
	list := make([]reflect.StructField, len(s.fields))
	gives := make([]func(from, to reflect.Value), len(s.fields))
	for i, f := range s.fields {
		made := reflect.StructField{Name: f.Name, Tag: f.Tag}
		if made.Type, gives[i] = f.made(f.of); f.renamed && s.codec == "gob" {
			made.Name, made.Tag = f.name, ""
		} else if f.renamed {
			_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			made.Tag = reflect.StructTag(fmt.Sprintf("json:%q", strings.TrimSuffix(f.name+","+options, ",")))
		}
		list[i] = made
	}
	return reflect.StructOf(list), func(from, to reflect.Value) {
		for i, f := range s.fields {
			gives[i](from.Field(i), to.FieldByIndex(f.Index))
		}
	}
}

// changes reports whether a field is renamed.
func (s *shadow) changes() bool {
	for _, f := range s.fields {
		if f.renamed || f.changes() {
			return true
		}
	}
	return false
}

// A renamer decodes records whose fields have the old names.
type renamer struct {
	from decoder
	old  reflect.Value // a pointer to a record
	give func(from, to reflect.Value)
}

// Decode decodes the next record into to, a pointer to a saved.
func (r *renamer) Decode(to any) error {
	old, v := r.old.Elem(), reflect.ValueOf(to).Elem()
	old.SetZero() // a codec may fill in only fields that are not zero
	if err := r.from.Decode(r.old.Interface()); err != nil {
		return err
	}
	v.SetZero()
	v.Field(0).Set(old.Field(0))
	r.give(old.Field(1), v.Field(1))
	v.Field(2).Set(old.Field(2))
	return nil
}
