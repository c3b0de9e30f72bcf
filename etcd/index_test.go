package etcd

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Index keys have buckets where equal ones have the same in each process: in those the bytes are
// told. Processes are of one class if they have the same indexes.
func TestIndexBytes(t *testing.T) {
	type name string
	type pair struct {
		a name
		_ float64
		b [2]int8
	}
	for key, want := range map[any]string{
		"ab":                              "\x02ab",
		name("ab"):                        "\x02ab",
		int8(-1):                          "\xff\xff\xff\xff\xff\xff\xff\xff",
		int(-1):                           "\xff\xff\xff\xff\xff\xff\xff\xff",
		uint16(7):                         "\x00\x00\x00\x00\x00\x00\x00\x07",
		true:                              "\x01",
		2.5:                               "\x40\x04\x00\x00\x00\x00\x00\x00",
		[1]float32{1}:                     "\x3f\xf0\x00\x00\x00\x00\x00\x00",
		math.Copysign(0, -1):              "\x00\x00\x00\x00\x00\x00\x00\x00",
		math.Copysign(math.NaN(), -1):     "\x7f\xf8\x00\x00\x00\x00\x00\x01",
		pair{a: "x", b: [2]int8{1, -128}}: "\x01x\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\x80",
	} {
		require.NotEmpty(t, stableShape(reflect.TypeOf(key)))
		require.Equal(t, want, string(appendStable(nil, reflect.ValueOf(key))))
	}
	require.Equal(t, "{a string; _; b [2]int}", stableShape(reflect.TypeFor[pair]()))
	require.NotEqual(t, stableShape(reflect.TypeFor[struct{ a, b int }]()), // which have other bytes
		stableShape(reflect.TypeFor[struct{ b, a int }]()))
	for _, none := range []reflect.Type{reflect.TypeFor[complex64](), reflect.TypeFor[*int](), reflect.TypeFor[any](),
		reflect.TypeFor[[2]any](), reflect.TypeFor[struct{ c chan int }]()} {
		require.Empty(t, stableShape(none), none)
	}
	of := func(all ...index) string {
		m := map[string]index{}
		for _, ix := range all {
			m[ix.name] = ix
		}
		return classOf(m)
	}
	a, b := index{"a", "string"}, index{"b", "int"}
	require.Equal(t, classNone, of())
	require.Equal(t, classNone, of(index{"c", ""}))
	require.Equal(t, of(a, b), of(b, a, index{"c", ""}))
	require.NotEqual(t, of(a), of(a, b))
	require.NotEqual(t, of(a), of(index{"a", "int"}))
	// Where these change indexFormat has to.
	require.EqualValues(t, 0x6dfd, a.bucket("ann"))
	require.Equal(t, "d886155612357818", of(a))
}
