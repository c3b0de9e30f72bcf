package mvcc

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// A stableHash hashes keys of one type, given by their addresses, in the same way in every process:
// equal keys have the same hash. A pointer or channel in a key is hashed by its address, which
// differs in another process; but such a key cannot be sent there. The hash is no secret: a caller
// that chooses the keys can make equal hashes, with which users of a stableHash must cope.
type stableHash func(key unsafe.Pointer) uint64

func newStableHash(t reflect.Type) stableHash {
	f := stepOf(t)
	return func(key unsafe.Pointer) uint64 { return f(0, hasher.Unkept(key)) }
}

// A stableStep adds the value at an address to a hash.
type stableStep func(h uint64, at unsafe.Pointer) uint64

// stepOf returns the step for values of type t.
func stepOf(t reflect.Type) stableStep {
	switch t.Kind() {
	case reflect.Bool, reflect.Uint8:
		return stepFor(func(x uint8) uint64 { return uint64(x) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return signedSteps[t.Size()]
	case reflect.Uint16:
		return stepFor(func(x uint16) uint64 { return uint64(x) })
	case reflect.Uint32:
		return stepFor(func(x uint32) uint64 { return uint64(x) })
	case reflect.Uint64:
		return stepFor(func(x uint64) uint64 { return x })
	case reflect.Uint, reflect.Uintptr, reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		return stepFor(func(x uint) uint64 { return uint64(x) })
	case reflect.Float32:
		return stepFor(func(x float32) uint64 { return floatBits(float64(x)) })
	case reflect.Float64:
		return stepFor(floatBits)
	case reflect.Complex64:
		return stepFor(func(x complex64) uint64 { return complexBits(complex128(x)) })
	case reflect.Complex128:
		return stepFor(complexBits)
	case reflect.String:
		return func(h uint64, at unsafe.Pointer) uint64 { return addText(h, *(*string)(at)) }
	case reflect.Interface:
		return func(h uint64, at unsafe.Pointer) uint64 { return addHeld(h, reflect.NewAt(t, at).Elem()) }
	case reflect.Array:
		each, size := stepOf(t.Elem()), t.Elem().Size()
		return func(h uint64, at unsafe.Pointer) uint64 {
			for i := range t.Len() {
				h = each(h, unsafe.Add(at, uintptr(i)*size))
			}
			return h
		}
	case reflect.Struct:
		type field struct {
			add stableStep
			at  uintptr
		}
		var fields []field
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" { // which == passes over
				fields = append(fields, field{stepOf(f.Type), f.Offset})
			}
		}
		return func(h uint64, at unsafe.Pointer) uint64 {
			for _, f := range fields {
				h = f.add(h, unsafe.Add(at, f.at))
			}
			return h
		}
	}
	// A slice, map or function in an interface: no table has such a key.
	return func(uint64, unsafe.Pointer) uint64 {
		panic(fmt.Sprintf("mvcc: a key has a %v, which cannot be hashed", t))
	}
}

// stepFor returns the step for values that bits turns into a number.
func stepFor[T any](bits func(x T) uint64) stableStep {
	return func(h uint64, at unsafe.Pointer) uint64 { return stir(h, bits(*(*T)(at))) }
}

// signedSteps are the steps for signed integers, by size: an int is hashed alike whatever its size.
var signedSteps = [9]stableStep{
	1: stepFor(func(x int8) uint64 { return uint64(x) }),
	2: stepFor(func(x int16) uint64 { return uint64(x) }),
	4: stepFor(func(x int32) uint64 { return uint64(x) }),
	8: stepFor(func(x int64) uint64 { return uint64(x) }),
}

// floatBits returns the bits of x, the same for both zeros.
func floatBits(x float64) uint64 {
	if x == 0 {
		return 0
	}
	return math.Float64bits(x)
}

func complexBits(x complex128) uint64 { return stir(floatBits(real(x)), floatBits(imag(x))) }

// addHeld adds the type and the value that an interface holds.
func addHeld(h uint64, held reflect.Value) uint64 {
	if held.IsNil() {
		return stir(h, 0)
	}
	held = held.Elem()
	t := held.Type()
	step, known := heldSteps.Load(t)
	if !known {
		step, _ = heldSteps.LoadOrStore(t, stepOf(t))
	}
	value := reflect.New(t) // one with an address
	value.Elem().Set(held)
	return step.(stableStep)(addText(addText(h, t.PkgPath()), t.String()), value.UnsafePointer())
}

// heldSteps has the steps for types that interfaces have held.
var heldSteps sync.Map

// addText adds a string, and how long it is.
func addText(h uint64, s string) uint64 {
	h = stir(h, uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		h = stir(h, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
	}
	var rest uint64
	for i := range len(s) {
		rest |= uint64(s[i]) << (8 * i)
	}
	return stir(h, rest)
}

// stir adds x to a hash, see [hasher.Hasher.Mix].
func stir(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x^0xa0761d6478bd642f, 0x9e3779b97f4a7c15)
	hi, lo = bits.Mul64(hi^lo^0xe7037ed1a0b428db, 0xd1b54a32d192ed03)
	return hi ^ lo
}
