package seam

import (
	"reflect"
	"unsafe"
)

// A Table is a table of a database without its types. Equal Tables are the same table.
type Table interface {
	Name() string
	// ID differs for tables of one name, when one was closed and made again.
	ID() int
	Types() (key, value reflect.Type)
	// Boxes returns structs for the records of the table; Loader returns a collector of records.
	Boxes() *Boxes
	Loader() Loader
	// Changed returns a version with the key, and the new value, of number i of a []mvcc.Change,
	// and whether there is a value.
	Changed(changes any, i int) (v *Version, has bool)
	// Key returns the address of the key of a version; Equal compares keys; Boxed returns a key.
	Key(v *Version) unsafe.Pointer
	Equal(a, b unsafe.Pointer) bool
	Boxed(key unsafe.Pointer) any
	// Unchanged reports whether a key has not been written after an epoch, in a table that has not
	// been closed. With deleted the key may be absent.
	Unchanged(key unsafe.Pointer, since uint64, deleted bool) bool
}

// A Version has a key of a table, and the value unless it is deleted. It is never changed.
type Version struct{ _ byte }

// Boxes are the arguments of encoders and decoders for the records of a table: pointers to structs
// that have its types.
type Boxes struct {
	Record, Key, Back any            // a Saved, a SavedKey, and a SavedKey to decode into
	BackKey           unsafe.Pointer // the key of Back
	// Fill makes Record and Key those of a version, or of its deletion, and Back empty.
	Fill func(v *Version, deleted bool)
}

// A Loader collects the records of a table that are loaded.
type Loader interface {
	// Add decodes a record, and adds it. If once is set its key must be new.
	Add(dec interface{ Decode(v any) error }, once bool) error
	// Renew says that later records are of a table that took the place of the one before.
	Renew()
	// InOrder says, before the first record, that the records are applied in parts, in their order.
	InOrder()
	// Apply writes the records with numbers from from on, below to, or to the end if to is
	// negative, in tx, an mvcc.DBTx.
	Apply(tx any, from, to int)
}

// Saved is a record in a backup, or the deletion of one. SavedKey is a record without a value: a
// codec may not like a struct that has no fields. Streams of gob have the names of these types.
type (
	Saved[K comparable, V any] = saved[K, V]
	SavedKey[K comparable]     = savedKey[K]
)

type saved[K comparable, V any] struct {
	K K    `json:"k"`
	V V    `json:"v"`
	D bool `json:"d,omitempty"` // deleted
}

type savedKey[K comparable] struct {
	K K    `json:"k"`
	D bool `json:"d,omitempty"`
}

// DecodeRecord decodes a record, or the deletion of one.
func DecodeRecord[K comparable, V any](
	from interface{ Decode(v any) error }, r *Saved[K, V],
) error {
	*r = Saved[K, V]{} // a codec may fill in only fields that are not zero
	if unsafe.Sizeof(r.V) > 0 {
		return from.Decode(r)
	}
	var k SavedKey[K]
	err := from.Decode(&k)
	r.K, r.D = k.K, k.D
	return err
}
