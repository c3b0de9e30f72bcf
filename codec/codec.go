// Package codec has the codecs for backups that Go brings along, see mvcc.DB.Save.
package codec

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Gob is the codec of package [encoding/gob]. Of a value it leaves out the unexported fields of
// structs, functions and channels: they come back as zero, without an error; [Strict] tells where.
// It keeps what gob itself does not: that a pointer to zero, or a slice without elements, is not
// nil, and a map in a slice, array or map is. A pointer that is there twice comes back as two.
//
// Values of interface types must be registered with [gob.Register]. Fields of a struct may be
// added between a backup and its loading. Loading refuses a type from which a field was removed,
// with a [*mvcc.SchemaError], unless [mvcc.LoadOptions] say what becomes of it. Encoding costs a
// walk over values of types that have pointers, slices or maps; one that gob would change is
// encoded and decoded once more.
var Gob = mvcc.Codec{
	Name: "gob",
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } {
		return &gobEncoder{w: w, enc: gob.NewEncoder(w)}
	},
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return newGobDecoder(r) },
}

// JSON is the codec of package [encoding/json]: larger and slower than [Gob], and readable by
// others. It refuses a record that would not come back as it is: that has strings which are not
// UTF-8, unexported fields that are not zero, or in an interface what is not as JSON decodes it,
// such as an int. Types with methods of their own, such as MarshalJSON, are taken at their word,
// fields with the tag "-" are left out, and those with omitempty or omitzero may come back as zero.
// For that each record is decoded as well: encoding takes about three times as long as package json
// does. A backup is a file of lines of JSON, see [mvcc.Codec.Lines].
var JSON = mvcc.Codec{
	Name:  "json",
	Lines: true,
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } {
		return newStrict(w, plainJSON, jsonRules)
	},
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return json.NewDecoder(r) },
}

// plainJSON is JSON without its checks.
var plainJSON = mvcc.Codec{
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } { return json.NewEncoder(w) },
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return json.NewDecoder(r) },
}

// Strict returns c, but that it refuses each record that does not come back as it is: it encodes,
// decodes and compares as [reflect.DeepEqual] does, but for types that have a method Equal, such as
// time.Time, and functions: two that are not nil are equal. It is for tests, which find out with it
// what c would change: it costs more than twice as much. Backups of both are the same.
func Strict(c mvcc.Codec) mvcc.Codec {
	strict := c
	strict.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
		return newStrict(w, c, strictRules)
	}
	return strict
}

// A strict is an encoder that decodes what it has encoded.
type strict struct {
	enc interface{ Encode(v any) error }
	dec interface{ Decode(v any) error }
	buf *bytes.Buffer // what was encoded, for dec
	by  rules
}

func newStrict(w io.Writer, c mvcc.Codec, by rules) *strict {
	buf := &bytes.Buffer{}
	return &strict{enc: c.NewEncoder(io.MultiWriter(w, buf)), dec: c.NewDecoder(buf), buf: buf, by: by}
}

func (s *strict) Encode(v any) error {
	if err := s.enc.Encode(v); err != nil {
		return err
	}
	from := reflect.ValueOf(v).Elem()
	back := reflect.New(from.Type())
	if err := s.dec.Decode(back.Interface()); err != nil {
		return fmt.Errorf("it cannot be decoded: %w", err)
	}
	if d := s.by.differ(from, back.Elem()); d != nil {
		return fmt.Errorf("%s %s", strings.TrimPrefix(d.at, "."), d.becomes)
	}
	return nil
}
