package mvcc

import "io"

// A Codec turns keys and values into bytes and back, for [DB.Save] and [DB.Load]. Package
// github.com/mvccmap/mvccmap/codec has those of gob and JSON. What it does not write is not saved:
// both leave out the unexported fields of a struct, and gob channels and functions as well.
type Codec struct {
	// Name is written into a backup, which is loaded with a Codec of the same name.
	Name string
	// NewEncoder and NewDecoder are called once for each table: what is encoded may refer to what
	// was encoded before. Encode and Decode are given a pointer to a struct that has key and
	// value in its exported fields; Decode returns [io.EOF] where there are no more.
	NewEncoder func(w io.Writer) interface{ Encode(v any) error }
	NewDecoder func(r io.Reader) interface{ Decode(v any) error }
}

type (
	encoder = interface{ Encode(v any) error }
	decoder = interface{ Decode(v any) error }
)

func (c Codec) check(call string) {
	if c.Name == "" || c.NewEncoder == nil || c.NewDecoder == nil {
		panic("mvcc: " + call + ": the Codec has an empty field")
	}
}
