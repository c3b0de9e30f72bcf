package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/internal/seam"
)

// A Codec turns keys and values into bytes and back, for [Save] and [Load]: see [Gob] and [JSON]. A
// key that does not come back as it was is refused, see [CodecError]; for values it is up to the codec.
type Codec struct {
	// Name is written into a backup, which is loaded with a Codec of the same name. It is UTF-8.
	Name string
	// NewEncoder and NewDecoder are called once or more for each table: an encoder may refer to its
	// earlier values. Encode and Decode are given a pointer to a struct with key and value in its
	// exported fields, or the key alone. Encode writes all of it before it returns; after an error
	// the encoder is not used any more. Decode returns [io.EOF] at the end.
	NewEncoder func(w io.Writer) interface{ Encode(v any) error }
	NewDecoder func(r io.Reader) interface{ Decode(v any) error }
	// Lines says that Encode writes a line: an object in JSON, with one newline, at its end, and
	// without a field "crc32c". Then a backup is a file of lines, for other tools, see
	// docs/format.md, and a record that is no line is refused. Otherwise, and in a journal,
	// it is a file of binary frames.
	Lines bool
}

type (
	encoder = interface{ Encode(v any) error }
	decoder = interface{ Decode(v any) error }
)

func (c Codec) check(call string) {
	if c.Name == "" || c.NewEncoder == nil || c.NewDecoder == nil {
		panic("durable: " + call + ": the Codec has an empty field")
	}
	if !utf8.ValidString(c.Name) { // the header would have another one
		panic(fmt.Sprintf("durable: %s: the name %q of the Codec is not UTF-8", call, c.Name))
	}
}

// A CodecError says that a record cannot be saved: the codec refuses it, or its key would come back
// as another one. See [SaveOptions.Refused].
type CodecError struct {
	Table string // its name
	Key   any    // of the table's key type
	Codec string // [Codec.Name]
	Epoch uint64 // of the state that has the record, or its deletion
	Err   error  // why

	current func() bool
	_       struct{}
}

func (e *CodecError) Error() string {
	return fmt.Sprintf("durable: table %q, key %s: the codec %s cannot save the record: %v", e.Table,
		seam.KeyText(e.Key), e.Codec, e.Err)
}

func (e *CodecError) Unwrap() error { return e.Err }

// isCurrent reports whether the table still has the refused record: the key was not written since,
// and the table not closed. It is a read like [mvcc.Map.Load].
func (e *CodecError) isCurrent() bool { return e.current != nil && e.current() }

// A changedKeyError says that a codec does not keep a key: another one comes back.
type changedKeyError struct{ back string }

func (e *changedKeyError) Error() string { return "the key would come back as " + e.back }

func (e *changedKeyError) ChangesRecord() {}

// changesKey reports whether the error for a key says that the key would come back as another one,
// or without something: the codecs of the package say so by the method ChangesRecord.
func changesKey(err error) bool {
	var changes interface{ ChangesRecord() }
	return errors.As(err, &changes)
}

// A keyCheck tells whether keys come back from a codec as they were. Then no two of them can become
// one. It encodes and decodes each key, by itself, and keeps nothing of it.
type keyCheck struct {
	whole bool // no codec changes keys of the type
	buf   bytes.Buffer
	enc   encoder
	dec   decoder
}

// check returns an error if the key of v does not come back as it was. It uses x.
func (c *keyCheck) check(codec Codec, x *seam.Boxes, v *seam.Version, t seam.Table) error {
	if c.whole {
		return nil
	}
	for {
		anew := c.enc == nil
		if anew {
			c.buf.Reset()
			c.enc, c.dec = codec.NewEncoder(&c.buf), codec.NewDecoder(&c.buf)
		}
		enc := c.enc
		c.enc = nil // if it fails, or panics
		x.Fill(v, false)
		err := enc.Encode(x.Key)
		if err == nil {
			err = c.dec.Decode(x.Back)
		}
		if err == nil && !t.Equal(t.Key(v), x.BackKey) {
			err = &changedKeyError{seam.KeyText(t.Boxed(x.BackKey))}
		}
		if err == nil {
			c.enc = enc
			return nil
		}
		if anew { // else the keys before may be the cause
			return err
		}
	}
}

// keptByAll reports whether no codec changes keys of type t: they are integers without methods.
func keptByAll(t reflect.Type) bool {
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Uintptr &&
		t.NumMethod() == 0 && reflect.PointerTo(t).NumMethod() == 0
}

func checkContext(call string, ctx context.Context) {
	if ctx == nil {
		panic("durable: " + call + ": ctx is nil, want context.Background() or another one")
	}
}
