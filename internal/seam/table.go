package seam

import (
	"reflect"
	"unsafe"
)

// A Table is a table of a database without its types. Two are equal if they are the same table.
type Table interface {
	Name() string
	// ID differs for tables of one name, when one was closed and made again.
	ID() int
	Types() (key, value reflect.Type)
	// Boxes returns structs for the records of the table, and Loader collects some.
	Boxes() *Boxes
	Loader() Loader
	// Changed returns a version with the key, and the new value, of number i of a []mvcc.Change, and
	// whether it has one.
	Changed(changes any, i int) (v *Version, has bool)
	// Key returns the address of the key of a version; Equal compares keys, and Boxed returns one.
	Key(v *Version) unsafe.Pointer
	Equal(a, b unsafe.Pointer) bool
	Boxed(key unsafe.Pointer) any
	// Unchanged reports whether a key has not been written after an epoch, in a table that has not
	// been closed. If deleted is set it need not be there.
	Unchanged(key unsafe.Pointer, since uint64, deleted bool) bool
}

// A Version has a key of a table, and the value unless it is deleted. It is never changed.
type Version struct{ _ byte }

// Boxes are the arguments of encoders and decoders for the records of a table: pointers to structs
// that have its types.
type Boxes struct {
	Record, Key, Back any            // a Saved, a SavedKey, and another one to decode into
	BackKey           unsafe.Pointer // the key of that
	// Fill makes Record and Key those of a version, or of the deletion of its key, and Back empty.
	Fill func(v *Version, deleted bool)
}

// A Loader collects the records of a table that are loaded.
type Loader interface {
	// Add decodes a record, and adds it. If once is set its key must be a new one.
	Add(dec interface{ Decode(v any) error }, once bool) error
	// Renew says that the records after it are of a table that took the place of the one before.
	Renew()
	// InOrder says, before the first record, that they are applied some at a time, in their order.
	InOrder()
	// Apply writes the records from number from on, and below to, or all that follow if to is
	// negative, in a transaction of the database, an mvcc.DBTx.
	Apply(tx any, from, to int)
}

// Saved is a record in a backup, or the deletion of one, and SavedKey one without a value: a codec
// may not like a struct that has no fields. Streams of gob have the names of the types.
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
