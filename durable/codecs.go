package durable

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/internal/seam/gobtext"
)

// Gob is the codec of package [encoding/gob]. It keeps a record as it is, or refuses it with an
// error that names the place:
//
//   - Values that gob leaves out are refused unless they are zero: unexported fields, also embedded
//     ones, functions and channels. A field with the tag `gob:"-"` may be lost.
//   - Gob makes nil of a pointer to zero and of a slice without elements, an empty map of nil in a
//     slice, array or map, and 0 of -0. Here they stay as they are. Such a record is encoded and
//     decoded once more.
//   - Types that encode and decode themselves, by GobEncode or MarshalBinary, are taken at their
//     word, if the methods are their own. A type that has the methods from an embedded field is
//     compared.
//
// Values of interface types must be registered with [gob.Register]. Fields of a struct may be
// added between a backup and its loading. Loading refuses a type from which a field was removed,
// with a [*SchemaError], unless [LoadOptions] have a place for it. Encoding costs a
// walk over values of types that have pointers, slices, maps, floats or unexported fields.
var Gob = Codec{
	Name: "gob",
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } {
		return &gobEncoder{w: w, enc: gob.NewEncoder(w)}
	},
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } {
		d := &gobDecoder{in: gobtext.NewReader(r)}
		d.dec = gob.NewDecoder(&d.raw)
		return d
	},
}

// JSON is the codec of package [encoding/json]: larger and slower than [Gob], and readable by
// others. It refuses a record that would not come back as it is: with a string that is not UTF-8,
// an unexported field that is not zero, a value in an interface that JSON decodes as another one,
// such as an int, or a value that is within itself, or nested more than 10,000 deep. Types that
// encode and decode themselves, by MarshalJSON or MarshalText, are taken at their word, as with
// [Gob]; they are refused where the method is one of the pointer, and cannot be called, as in maps.
// Fields with the tag "-" are left out, and fields with omitempty or omitzero may come back as
// zero.
//
// To find this it decodes each record as well: encoding takes about three times as long as package
// json does. A backup is a file of lines of JSON, see [Codec.Lines].
var JSON = Codec{
	Name:  "json",
	Lines: true,
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } {
		return newStrict(w, plainJSON, jsonRules)
	},
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return json.NewDecoder(r) },
}

// plainJSON is JSON without its checks.
var plainJSON = Codec{
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } { return json.NewEncoder(lines{w}) },
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return json.NewDecoder(r) },
}

// lines writes JSON by way of [disk.EscapeLineEnds]. Each Write gets whole lines.
type lines struct{ w io.Writer }

func (l lines) Write(p []byte) (int, error) {
	if _, err := l.w.Write(disk.EscapeLineEnds(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Strict returns c with a check: it refuses a record that differs after it was encoded and decoded.
// Equality is that of [reflect.DeepEqual], but for types with a method Equal, such as time.Time,
// functions (two that are not nil are equal), NaN and negative zeros. Strict is for tests of a
// codec of one's own. It costs more than twice as much as c; the backups of both are the same.
func Strict(c Codec) Codec {
	strict := c
	strict.NewEncoder = func(w io.Writer) interface{ Encode(v any) error } {
		return newStrict(w, c, strictRules)
	}
	return strict
}

// A strict is an encoder that decodes each record that it has encoded.
type strict struct {
	enc  interface{ Encode(v any) error }
	dec  interface{ Decode(v any) error }
	by   *rules
	plan *plan // of the type that was encoded last
}

func newStrict(w io.Writer, c Codec, by *rules) *strict {
	buf := &bytes.Buffer{} // from enc to dec
	return &strict{enc: c.NewEncoder(io.MultiWriter(w, buf)), dec: c.NewDecoder(buf), by: by}
}

func (s *strict) Encode(v any) error {
	from := reflect.ValueOf(v).Elem()
	if s.plan == nil || s.plan.goType != from.Type() {
		s.plan = s.by.planOf(from.Type(), hasAddress)
	}
	if s.by != strictRules && !s.plan.still {
		c := precheck{rules: s.by}
		if d := c.value(s.plan, from, 0); d != nil {
			return d
		}
	}
	if err := s.enc.Encode(v); err != nil {
		return err
	}
	back := reflect.New(from.Type())
	if err := s.dec.Decode(back.Interface()); err != nil {
		return fmt.Errorf("it cannot be decoded: %w", err)
	}
	if d := s.by.differ(s.plan, from, back.Elem(), 0); d != nil {
		return d
	}
	return nil
}
