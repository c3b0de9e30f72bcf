package codec

import (
	"bufio"
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Package gob makes nil of a pointer to zero, and of a slice without elements; and of a map that is
// nil, as an element, an empty one. So before such a record there are repairs: a byte 0, which no
// message of gob begins with, their length, and the repairs in the form of repair.append.

// A repair says that something has to be made, or to be nil again.
type repair struct {
	kind byte
	path []string // the names of fields, the numbers of elements, or keys; "*" behind a pointer
}

const (
	repairMake = 'm'
	repairNil  = 'n'
)

func (r repair) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, r.kind), uint64(len(r.path)))
	for _, s := range r.path {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// A gobEncoder writes repairs as well.
type gobEncoder struct {
	w   io.Writer
	enc *gob.Encoder
	// What may have to be repaired is encoded and decoded by these first.
	trial struct {
		buf bytes.Buffer
		enc *gob.Encoder
		dec *gob.Decoder
	}
}

func (e *gobEncoder) Encode(v any) error {
	if from := reflect.ValueOf(v).Elem(); suspicious(from, false) {
		if err := e.repair(from); err != nil {
			return err
		}
	}
	return e.enc.Encode(v)
}

func (e *gobEncoder) repair(from reflect.Value) error {
	t := &e.trial
	if t.enc == nil {
		t.enc, t.dec = gob.NewEncoder(&t.buf), gob.NewDecoder(&t.buf)
	}
	back := reflect.New(from.Type())
	if err := t.enc.EncodeValue(from); err != nil {
		return err
	}
	if err := t.dec.DecodeValue(back); err != nil {
		return err
	}
	var list []repair
	repairs(from, back.Elem(), nil, &list)
	if len(list) == 0 {
		return nil
	}
	var b []byte
	for _, r := range list {
		r.apply(back.Elem(), r.path)
		b = r.append(b)
	}
	var more []repair
	if repairs(from, back.Elem(), nil, &more); len(more) > 0 {
		return fmt.Errorf("gob would not keep %s", strings.Join(more[0].path, "."))
	}
	_, err := e.w.Write(append(binary.AppendUvarint([]byte{0}, uint64(len(b))), b...))
	return err
}

// opaque reports whether gob leaves it to the type how its values are encoded.
func opaque(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface &&
		(p.Implements(gobType) || p.Implements(binaryType))
}

var (
	gobType    = reflect.TypeFor[gob.GobEncoder]()
	binaryType = reflect.TypeFor[encoding.BinaryMarshaler]()
)

// suspicious reports whether gob may change v; it is in a slice, array or map if element is set.
func suspicious(v reflect.Value, element bool) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && (v.Elem().IsZero() || suspicious(v.Elem(), false))
	case reflect.Interface:
		return !v.IsNil() && suspicious(v.Elem(), true)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Len() == 0 {
			return !v.IsNil()
		}
		if plain(v.Type().Elem()) {
			return false
		}
		for i := range v.Len() {
			if suspicious(v.Index(i), true) {
				return true
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return element
		}
		if plain(v.Type().Elem()) {
			return false
		}
		for i := v.MapRange(); i.Next(); {
			if suspicious(i.Value(), true) {
				return true
			}
		}
	case reflect.Struct:
		if opaque(v.Type()) {
			return false
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && suspicious(v.Field(i), false) {
				return true
			}
		}
	}
	return false
}

// plain reports whether gob keeps all values of the type: those that are a number or text.
func plain(t reflect.Type) bool {
	k := t.Kind()
	return k <= reflect.Complex128 || k == reflect.String
}

// repairs adds what is to be done to b, which gob has made of a.
func repairs(a, b reflect.Value, path []string, list *[]repair) {
	add := func(kind byte) { *list = append(*list, repair{kind, slices.Clone(path)}) }
	in := func(a, b reflect.Value, step string) { repairs(a, b, append(path, step), list) }
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return
		}
		if b.IsNil() {
			add(repairMake)
			b = reflect.New(a.Type().Elem())
		}
		in(a.Elem(), b.Elem(), "*")
	case reflect.Interface:
		if !a.IsNil() && !b.IsNil() && a.Elem().Type() == b.Elem().Type() {
			in(a.Elem(), b.Elem(), "*")
		}
	case reflect.Slice, reflect.Array:
		if a.Kind() == reflect.Slice && !a.IsNil() && b.IsNil() {
			add(repairMake)
			return
		}
		if plain(a.Type().Elem()) {
			return
		}
		for i := range min(a.Len(), b.Len()) {
			in(a.Index(i), b.Index(i), strconv.Itoa(i))
		}
	case reflect.Map:
		if a.IsNil() != b.IsNil() {
			if a.IsNil() {
				add(repairNil)
			} else {
				add(repairMake)
			}
			return
		}
		if plain(a.Type().Elem()) {
			return
		}
		for i := a.MapRange(); i.Next(); {
			if v := b.MapIndex(i.Key()); v.IsValid() {
				in(i.Value(), v, keyStep(i.Key()))
			}
		}
	case reflect.Struct:
		if opaque(a.Type()) {
			return
		}
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() {
				in(a.Field(i), b.Field(i), f.Name)
			}
		}
	}
}

// keyStep is the step to what is under a key of a map.
func keyStep(key reflect.Value) string { return fmt.Sprintf("%#v", key) }

// apply repairs what is at path in v. What is not there any more, because the type has changed, is
// left as it is.
func (r repair) apply(v reflect.Value, path []string) {
	if len(path) == 0 {
		switch k := v.Kind(); {
		case r.kind == repairNil && k == reflect.Map:
			v.SetZero()
		case r.kind == repairNil:
		case k == reflect.Pointer && v.IsNil():
			v.Set(reflect.New(v.Type().Elem()))
		case k == reflect.Slice && v.IsNil():
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		case k == reflect.Map && v.IsNil():
			v.Set(reflect.MakeMap(v.Type()))
		}
		return
	}
	step, rest := path[0], path[1:]
	// What is in a map or interface cannot be changed in its place.
	copied := func(old reflect.Value) reflect.Value {
		c := reflect.New(old.Type()).Elem()
		c.Set(old)
		r.apply(c, rest)
		return c
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.apply(v.Elem(), rest)
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(copied(v.Elem()))
		}
	case reflect.Slice, reflect.Array:
		if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < v.Len() {
			r.apply(v.Index(i), rest)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if keyStep(key) == step {
				v.SetMapIndex(key, copied(v.MapIndex(key)))
			}
		}
	case reflect.Struct:
		if f := v.FieldByName(step); f.IsValid() && f.CanSet() {
			r.apply(f, rest)
		}
	}
}

// A gobDecoder reads repairs as well.
type gobDecoder struct {
	r   *bufio.Reader // gob reads no more of it than it needs
	dec *gob.Decoder
}

func newGobDecoder(r io.Reader) *gobDecoder {
	in := bufio.NewReader(r)
	return &gobDecoder{in, gob.NewDecoder(in)}
}

func (d *gobDecoder) Decode(v any) error {
	var list []repair
	if first, err := d.r.Peek(1); err == nil && first[0] == 0 {
		if list, err = d.repairs(); err != nil {
			return err
		}
	}
	if err := d.dec.Decode(v); err != nil {
		if len(list) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	for _, r := range list {
		r.apply(reflect.ValueOf(v).Elem(), r.path)
	}
	return nil
}

// repairs reads them.
func (d *gobDecoder) repairs() (list []repair, err error) {
	_, _ = d.r.Discard(1)
	n, err := binary.ReadUvarint(d.r)
	if err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	in := &io.LimitedReader{R: d.r, N: int64(min(n, 1<<62))}
	b := bufio.NewReader(in)
	text := func() string {
		var n uint64
		if n, err = binary.ReadUvarint(b); err != nil {
			return ""
		}
		var s strings.Builder // grows as far as there is something
		_, err = io.CopyN(&s, b, int64(min(n, 1<<62)))
		return s.String()
	}
	for err == nil && (in.N > 0 || b.Buffered() > 0) {
		var r repair
		var steps uint64
		if r.kind, err = b.ReadByte(); err == nil {
			steps, err = binary.ReadUvarint(b)
		}
		for ; err == nil && steps > 0; steps-- {
			r.path = append(r.path, text())
		}
		list = append(list, r)
	}
	if err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return list, nil
}
