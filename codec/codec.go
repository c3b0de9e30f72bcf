// Package codec has the codecs for backups that Go brings along, see mvcc.DB.Save.
package codec

import (
	"encoding/gob"
	"encoding/json"
	"io"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Gob is the codec of package [encoding/gob]. Values of interface types must be registered
// with [gob.Register]; functions and channels are left out. Fields of a struct may be added and
// removed between a backup and its loading.
var Gob = mvcc.Codec{
	Name:       "gob",
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } { return gob.NewEncoder(w) },
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return gob.NewDecoder(r) },
}

// JSON is the codec of package [encoding/json]: larger and slower than [Gob], and readable by
// others. A value of an interface type comes back as what JSON makes of it.
var JSON = mvcc.Codec{
	Name:       "json",
	NewEncoder: func(w io.Writer) interface{ Encode(v any) error } { return json.NewEncoder(w) },
	NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return json.NewDecoder(r) },
}
