package durable_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
)

// The types of the table.
type (
	Own    struct{ n int } // encodes itself
	PtrOwn struct{ n int } // likewise, by methods of the pointer
	// Promoted has the methods of Own, which know nothing of its name.
	Promoted struct {
		Own
		Name string
	}
	// Shadowing has methods of its own, which drop the other field, and embeds Own.
	Shadowing struct {
		Own
		Dropped string
	}
	Hidden struct {
		Name  string
		count int
	}
	Func func()
	Chan chan int
	Ring struct {
		Name string
		Next *Ring
	}
)

// These embed one of them.
type (
	InOwn struct {
		Own
		B int
	}
	InShadowing struct {
		Shadowing
		B int
	}
	InPromoted struct {
		Promoted
		B int
	}
	InPtrOwn struct {
		PtrOwn
		B int
	}
	InHidden struct {
		Hidden
		B int
	}
	InFunc struct {
		Func
		B int
	}
	InChan struct {
		Chan
		B int
	}
	InRing struct {
		Ring
		B int
	}
)

func text(n int) ([]byte, error) { return []byte(strconv.Itoa(n)), nil }

func number(b []byte, n *int) (err error) {
	*n, err = strconv.Atoi(strings.Trim(string(b), `"`))
	return err
}

func (o Own) MarshalText() ([]byte, error)        { return text(o.n) }
func (o Own) MarshalJSON() ([]byte, error)        { return json.Marshal(strconv.Itoa(o.n)) }
func (o Own) GobEncode() ([]byte, error)          { return text(o.n) }
func (o *Own) UnmarshalText(b []byte) error       { return number(b, &o.n) }
func (o *Own) UnmarshalJSON(b []byte) error       { return number(b, &o.n) }
func (o *Own) GobDecode(b []byte) error           { return number(b, &o.n) }
func (o *PtrOwn) MarshalText() ([]byte, error)    { return text(o.n) }
func (o *PtrOwn) MarshalJSON() ([]byte, error)    { return json.Marshal(strconv.Itoa(o.n)) }
func (o *PtrOwn) MarshalBinary() ([]byte, error)  { return text(o.n) }
func (o *PtrOwn) UnmarshalText(b []byte) error    { return number(b, &o.n) }
func (o *PtrOwn) UnmarshalJSON(b []byte) error    { return number(b, &o.n) }
func (o *PtrOwn) UnmarshalBinary(b []byte) error  { return number(b, &o.n) }
func (s Shadowing) MarshalText() ([]byte, error)  { return text(s.n) }
func (s Shadowing) MarshalJSON() ([]byte, error)  { return json.Marshal(strconv.Itoa(s.n)) }
func (s Shadowing) GobEncode() ([]byte, error)    { return text(s.n) }
func (s *Shadowing) UnmarshalText(b []byte) error { return number(b, &s.n) }
func (s *Shadowing) UnmarshalJSON(b []byte) error { return number(b, &s.n) }
func (s *Shadowing) GobDecode(b []byte) error     { return number(b, &s.n) }

// At each place a codec keeps a value that it may change, or refuses it with the path to it. A type
// is taken at its word where its very own methods encode and decode it.
func TestPlaces(t *testing.T) {
	ring := &Ring{Name: "a"}
	ring.Next = &Ring{"b", ring}
	call := func() {}
	ch := make(Chan)
	for _, row := range []struct {
		name string
		v    any
		in   func(b int) any // embeds v, beside another field
		// The results by place, in the order of placesOf: k is kept, r refused, - that there is no
		// such value.
		gob, json string
	}{
		{"own", Own{1}, func(b int) any { return InOwn{Own{1}, b} },
			"kkrkkkkkk", "kkrkkkkrk"},
		{"shadowing", Shadowing{Own: Own{1}},
			func(b int) any { return InShadowing{Shadowing{Own: Own{1}}, b} },
			"kkrkkkkkk", "kkrkkkkrk"},
		{"promoted", Promoted{Own{1}, "n"},
			func(b int) any { return InPromoted{Promoted{Own{1}, "n"}, b} },
			"rrrrrrrrr", "rrrrrrrrr"},
		{"promoted alone", Promoted{Own: Own{1}},
			func(b int) any { return InPromoted{Promoted{Own: Own{1}}, b} },
			"kkrkkkkkk", "kkrkkkkrk"},
		{"pointer method", PtrOwn{1}, func(b int) any { return InPtrOwn{PtrOwn{1}, b} },
			"kkrkkrrrk", "kkrkkrrrk"},
		{"unexported", Hidden{"a", 1}, func(b int) any { return InHidden{Hidden{"a", 1}, b} },
			"rrrrrrrrr", "rrrrrrrrr"},
		{"unexported zero", Hidden{"a", 0}, func(b int) any { return InHidden{Hidden{"a", 0}, b} },
			"kkkkkkkkk", "kkkkkrkrk"},
		{"func", Func(call), func(b int) any { return InFunc{call, b} },
			"rrrrr-rrr", "rrrrr-rrr"},
		{"chan", ch, func(b int) any { return InChan{ch, b} },
			"rrrrrrrrr", "rrrrrrrrr"},
		{"ring", *ring, func(b int) any { return InRing{*ring, b} },
			"rrrrrrrrr", "rrrrrrrrr"},
	} {
		for i, place := range placesOf(reflect.ValueOf(row.v), row.in) {
			for c, want := range map[*durable.Codec]byte{&durable.Gob: row.gob[i], &durable.JSON: row.json[i]} {
				if want != '-' {
					tryPlace(t, *c, place, want == 'k', row.name+" as "+place.name+", "+c.Name)
				}
			}
		}
	}
}

func tryPlace(t *testing.T, c durable.Codec, place placed, kept bool, name string) {
	r := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "K", Type: reflect.TypeFor[int]()}, {Name: "V", Type: place.v.Type()}}))
	r.Elem().Field(1).Set(place.v)
	var b bytes.Buffer
	err := c.NewEncoder(&b).Encode(r.Interface())
	if !kept {
		require.Error(t, err, name)
		require.Regexp(t, `^V(`+place.path+`).* is `, err.Error(), name)
		return
	}
	require.NoError(t, err, name)
	back := reflect.New(r.Type().Elem())
	require.NoError(t, c.NewDecoder(&b).Decode(back.Interface()), name)
	require.Equal(t, r.Interface(), back.Interface(), name)
}

// A placed is a value at a place in another one.
type placed struct {
	name string
	v    reflect.Value
	path string // that an error begins with
}

// placesOf returns a value at each place.
func placesOf(v reflect.Value, in func(b int) any) []placed {
	t := v.Type()
	field := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "F", Type: t}})).Elem()
	field.Field(0).Set(v)
	slice := reflect.Append(reflect.MakeSlice(reflect.SliceOf(t), 0, 1), v)
	array := reflect.New(reflect.ArrayOf(1, t)).Elem()
	array.Index(0).Set(v)
	key := reflect.ValueOf(0)
	if t.Comparable() {
		key = reflect.MakeMap(reflect.MapOf(t, reflect.TypeFor[int]()))
		key.SetMapIndex(v, reflect.ValueOf(1))
	}
	value := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), t))
	value.SetMapIndex(reflect.ValueOf("k"), v)
	inside := reflect.New(reflect.TypeFor[any]()).Elem()
	inside.Set(v)
	gob.Register(v.Interface())
	pointer := reflect.New(t)
	pointer.Elem().Set(v)
	return []placed{{"a field", field, `\.F`}, {"embedded", reflect.ValueOf(in(0)), `\.` + t.Name()},
		{"embedded beside others", reflect.ValueOf(in(2)), `\.(B|` + t.Name() + `)`},
		{"in a slice", slice, `\[0\]`}, {"in an array", array, `\[0\]`}, {"a key", key, ``},
		{"the value of a key", value, `\["k"\]`}, {"in an interface", inside, ``},
		{"behind a pointer", pointer, ``}}
}

// A list is nested as deep as it is long.
type list struct{ Next *list }

func listOf(n int) *list {
	var l *list
	for range n {
		l = &list{l}
	}
	return l
}

// A value that is nested too deep, in any way, is refused, with a path that is not too long; and
// one that is saved can be loaded.
func TestNested(t *testing.T) {
	type maps map[string]any
	type slices []slices
	type pointer *pointer
	type unexported struct {
		N    int
		past map[string]any
	}
	gob.Register(maps{})
	within, in, to := maps{}, make(slices, 1), pointer(new(pointer))
	within["a"], in[0], *to = within, in, to
	for _, c := range []durable.Codec{durable.Gob, durable.JSON} {
		const deepest = 9999 // the value is in a record
		for _, n := range []int{deepest, deepest + 1} {
			var b bytes.Buffer
			r := struct{ V *list }{listOf(n)}
			err := c.NewEncoder(&b).Encode(&r)
			if n > deepest {
				require.ErrorContains(t, err, "is within itself, or nested more than 10000 deep")
				require.Less(t, len(err.Error()), 200)
				continue
			}
			require.NoError(t, err)
			back := struct{ V *list }{}
			require.NoError(t, c.NewDecoder(&b).Decode(&back))
			for l := r.V; l != nil; l, back.V = l.Next, back.V.Next {
				require.NotNil(t, back.V)
			}
		}
		refusesValue(t, c, within, `V["a"]["a"]["a"]`)
		refusesValue(t, c, in, "V[0][0][0]")
		refusesValue(t, c, to, "V")
		refusesValue(t, c, listOf(1e6), "V.Next.Next")
		refusesValue(t, c, unexported{1, within}, "V.past is a map[string]interface {} of length 1, and")
	}
	refusesValue(t, durable.Strict(durable.Codec{ // a codec that does not look into values
		NewEncoder: func(io.Writer) interface{ Encode(v any) error } {
			return encoderFunc(func(any) error { return nil })
		},
		NewDecoder: func(io.Reader) interface{ Decode(v any) error } {
			return decoderFunc(func(v any) error {
				reflect.ValueOf(v).Elem().Field(0).Set(reflect.ValueOf(within))
				return nil
			})
		},
	}), within, "is within itself")
}

// Cached is one of a program that does not want to save all of it.
type Cached struct {
	Name  string
	cache int    `gob:"-" json:"-"`
	Again func() `gob:"-" json:"-"`
}

// OneWay can be encoded, and Back decoded.
type OneWay struct{ Name string }

func (OneWay) MarshalBinary() ([]byte, error) { return []byte("x"), nil }
func (OneWay) MarshalJSON() ([]byte, error)   { return []byte("{}"), nil }

type Back struct{ Name string }

func (*Back) GobDecode([]byte) error     { return nil }
func (*Back) UnmarshalJSON([]byte) error { return nil }

// A Loose says that it is equal to every other one.
type Loose struct{ ID, n int }

func (Loose) Equal(Loose) bool { return true }

// A value that comes back as another one, without a word of package gob or json, is refused.
func TestChanged(t *testing.T) {
	type at struct{ F float64 }
	type pointed struct{ N int }
	type when struct {
		N int
		t time.Time
	}
	gob.Register(at{})
	gob.Register(&pointed{})
	for _, c := range []durable.Codec{durable.Gob, durable.JSON} {
		why := map[string]string{"gob": "it cannot be decoded", "json": "V.Name is"}[c.Name]
		refusesValue(t, c, OneWay{"a"}, why)
		refusesValue(t, c, Back{"a"}, why)
		refusesValue(t, c, []Loose{{1, 2}}, "V[0].n is 2, and becomes 0")
		refusesValue(t, c, when{1, time.Unix(1, 0)}, "V.t is not zero, and the codec leaves it out")
		back, err := roundTrip(t, c, Cached{"a", 1, func() {}})
		require.NoError(t, err)
		require.Equal(t, Cached{Name: "a"}, back)
	}
	c, one := durable.Gob, 1
	refusesValue(t, c, map[any][]int{int(1): {}, int64(1): nil}, "and becomes") // keys that print the same
	keeps(t, c, map[any][]int{int(1): {}, int64(1): {}})
	refusesValue(t, c, map[*int][]int{&one: {}}, "is a pointer, and becomes another one")
	refusesValue(t, c, map[any]int{&one: 1}, "is a pointer, and becomes another one")
	refusesValue(t, c, map[at]int{{math.Copysign(0, -1)}: 1}, `.F is -0, and becomes 0`)
	refusesValue(t, c, map[time.Time]int{time.Now(): 1}, "is missing")
	refusesValue(t, c, []*big.Int{nil}, "V[0] is nil, which gob has no form for")
	refusesValue(t, c, map[string]*int{"a": nil}, `V["a"] is nil`)
	refusesValue[any](t, c, (*at)(nil), "V is nil")
	refusesValue[any](t, c, &at{1}, "V is a *durable_test.at, and becomes a durable_test.at")
	refusesValue[any](t, c, pointed{1}, "V is a durable_test.pointed, and becomes a *durable_test.pointed")
	keeps[any](t, c, &pointed{1})
	for range 2 { // gob's way with a type in interfaces is found out once
		keeps[any](t, c, at{1})
	}
	nan, err := roundTrip(t, c, struct {
		F float64
		L []int
	}{math.NaN(), []int{}})
	require.NoError(t, err)
	require.True(t, math.IsNaN(nan.F) && nan.L != nil)
}

// A negative zero keeps its sign.
func TestNegativeZero(t *testing.T) {
	negative := math.Copysign(0, -1)
	type numbers struct {
		F  float64
		P  *float32
		In struct{ A [2]float64 }
		M  map[string]struct{ F float64 }
	}
	v := numbers{F: negative, P: new(float32(negative))}
	v.M = map[string]struct{ F float64 }{"a": {negative}}
	v.In.A[1] = negative
	for _, c := range []durable.Codec{durable.Gob, durable.JSON} {
		back, err := roundTrip(t, c, v)
		require.NoError(t, err)
		for _, f := range []float64{back.F, float64(*back.P), back.In.A[1], back.M["a"].F} {
			require.True(t, f == 0 && math.Signbit(f), c.Name)
		}
		require.False(t, math.Signbit(back.In.A[0]))
	}
	for _, want := range []complex128{
		complex(negative, 0), complex(0, negative), complex(negative, negative),
	} {
		back, err := roundTrip(t, durable.Gob, want)
		require.NoError(t, err)
		require.Equal(t, math.Signbit(real(want)), math.Signbit(real(back)))
		require.Equal(t, math.Signbit(imag(want)), math.Signbit(imag(back)))
	}
}
