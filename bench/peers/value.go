package peers

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// wordSize is the size of a number for the peers that store bytes.
const wordSize = 8

// arena is memory of a session's own, for the keys and numbers of one transaction
// at a time, for the peers that take bytes and copy them before it has ended. It
// is padded: sessions of different goroutines must not share a cache line.
type arena struct {
	_    [128]byte
	used []byte
	_    [128]byte
}

// reset frees all that was added.
func (a *arena) reset() { a.used = a.used[:0] }

// key adds a key, until the next reset.
func (a *arena) key(key string) []byte {
	n := len(a.used)
	a.used = append(a.used, key...)
	return a.used[n:len(a.used):len(a.used)]
}

// encode returns v as bytes: a number in a, until the next reset; a byte slice, which is not
// written to any more, as it is.
func encode[V any](a *arena, v V) []byte {
	switch v := any(&v).(type) {
	case *uint64:
		n := len(a.used)
		a.used = binary.LittleEndian.AppendUint64(a.used, *v)
		return a.used[n:len(a.used):len(a.used)]
	case *[]byte:
		return *v
	}
	panic(fmt.Sprintf("peers: values of type %T", v))
}

// decode returns the value that encode has made into b. A byte slice is a copy.
func decode[V any](b []byte) (v V, err error) {
	switch v := any(&v).(type) {
	case *uint64:
		if len(b) != wordSize {
			return *new(V), fmt.Errorf("peers: a number of %d bytes instead of %d", len(b), wordSize)
		}
		*v = binary.LittleEndian.Uint64(b)
	case *[]byte:
		*v = bytes.Clone(b)
	}
	return v, nil
}

// encodeString returns v as a string.
func encodeString[V any](v V) string {
	switch v := any(&v).(type) {
	case *uint64:
		var b [wordSize]byte
		binary.LittleEndian.PutUint64(b[:], *v)
		return string(b[:])
	case *[]byte:
		return string(*v)
	}
	panic(fmt.Sprintf("peers: values of type %T", v))
}

// decodeString returns the value that encodeString has made into s.
func decodeString[V any](s string) (v V, err error) {
	switch v := any(&v).(type) {
	case *uint64:
		if len(s) != wordSize {
			return *new(V), fmt.Errorf("peers: a number of %d bytes instead of %d", len(s), wordSize)
		}
		for i := range wordSize {
			*v |= uint64(s[i]) << (8 * i)
		}
	case *[]byte:
		*v = []byte(s)
	}
	return v, nil
}

// errNoSuchKey reports an operation on a key that must be there.
func errNoSuchKey(key string) error {
	return fmt.Errorf("peers: there is no key %q", key)
}
