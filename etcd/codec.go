package etcd

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/mvccmap/mvccmap/durable"
)

// A keyCodec makes bytes of keys, of different keys different ones, and back.
type keyCodec[K comparable] struct {
	name   string
	encode func(K) ([]byte, error)
	decode func([]byte) (K, error)
	// ordered says that the bytes have the order that Go's operators give the keys.
	ordered bool
}

// keyCodecFor returns the codec of keys that are strings, integers or arrays of bytes: strings and
// bytes as they are, integers in eight bytes, in the same order.
func keyCodecFor[K comparable]() (c keyCodec[K], ok bool) {
	t := reflect.TypeFor[K]()
	switch t.Kind() {
	case reflect.String:
		return keyCodec[K]{"string",
			func(k K) ([]byte, error) { return []byte(*(*string)(unsafe.Pointer(&k))), nil },
			func(b []byte) (k K, err error) {
				*(*string)(unsafe.Pointer(&k)) = string(b)
				return k, nil
			}, true}, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c, flip := keyCodec[K]{name: "uint", ordered: true}, uint64(0)
		if reflect.Zero(t).CanInt() {
			c.name, flip = "int", 1<<63
		}
		c.encode = func(k K) ([]byte, error) {
			n := reflect.ValueOf(k).Convert(reflect.TypeFor[uint64]()).Uint()
			return binary.BigEndian.AppendUint64(nil, n^flip), nil
		}
		c.decode = func(b []byte) (k K, err error) {
			if len(b) != 8 {
				return k, fmt.Errorf("the key has %d bytes, want 8", len(b))
			}
			n := binary.BigEndian.Uint64(b) ^ flip
			k = reflect.ValueOf(n).Convert(t).Interface().(K)
			if back, _ := c.encode(k); !bytes.Equal(back, b) {
				return k, fmt.Errorf("the key is %d, which is no %v", int64(n), t)
			}
			return k, nil
		}
		return c, true
	case reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			break
		}
		all := func(k *K) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(k)), t.Len()) }
		return keyCodec[K]{name: fmt.Sprintf("[%d]byte", t.Len()),
			encode: func(k K) ([]byte, error) { return bytes.Clone(all(&k)), nil },
			decode: func(b []byte) (k K, err error) {
				if n := copy(all(&k), b); n != len(b) || n != t.Len() {
					err = fmt.Errorf("the key has %d bytes, want %d", len(b), t.Len())
				}
				return k, err
			}}, true
	}
	return c, false
}

// checked is a codec that decodes each key that it has encoded, and compares: two keys with the
// same bytes would be one record in etcd. Of keys that are equal to zero, as the -0 of floats is,
// it encodes zero: with other bytes they would be two records.
func (c keyCodec[K]) checked() keyCodec[K] {
	encode := c.encode
	c.encode = func(k K) ([]byte, error) {
		var zero K
		if k == zero {
			k = zero
		}
		b, err := encode(k)
		if err != nil {
			return nil, err
		}
		if back, err := c.decode(b); err != nil || back != k {
			return nil, fmt.Errorf("key %v is encoded as %q, and that is decoded as %v (%v): "+
				"DecodeKey must be the way back of EncodeKey", k, b, back, err)
		}
		return b, nil
	}
	return c
}

// A valueCodec makes bytes of values, and back.
type valueCodec[V any] struct {
	name   string
	encode func(V) ([]byte, error)
	decode func([]byte) (V, error)
}

// jsonCodec is the codec of values that are given none.
func jsonCodec[V any]() valueCodec[V] {
	return valueCodec[V]{"json",
		func(v V) ([]byte, error) {
			var b bytes.Buffer
			err := durable.JSON.NewEncoder(&b).Encode(&v)
			return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
		},
		func(b []byte) (v V, err error) {
			err = json.Unmarshal(b, &v)
			return v, err
		}}
}
