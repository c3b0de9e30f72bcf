package durable_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
)

// A record has fields that codecs may stumble over.
type record struct {
	Name   string
	Active *bool
	Twice  **int
	List   []int
	Bytes  []byte
	Lists  [][]string
	Inner  *record
	All    []record
	ByName map[string]record
	ByID   map[int]*record
	Maps   []map[string]int
	Of     any
	When   *time.Time
	Array  [2][]int
}

// records are those that gob alone changes.
func records() []record {
	var none *int
	return []record{
		{},
		{Name: "plain", List: []int{1}, Inner: &record{Name: "inner"}},
		{Active: new(bool)},
		{Active: new(true)},
		{Twice: &none},
		{Twice: new(new(int))},
		{Twice: new(new(7))},
		{List: []int{}},
		{Bytes: []byte{}},
		{Lists: [][]string{}},
		{Lists: [][]string{nil, {}, {"a"}, {}}},
		{Inner: &record{}},
		{Inner: &record{Inner: &record{Active: new(bool), List: []int{}}}},
		{All: []record{{}, {Active: new(bool)}, {List: []int{}}}},
		{ByName: map[string]record{}},
		{ByName: map[string]record{"": {}, "a": {List: []int{}}, "\xff\n": {Active: new(bool)}}},
		{ByID: map[int]*record{-1: {}, 7: {Inner: &record{Bytes: []byte{}}}}},
		{Maps: []map[string]int{nil, {}, {"a": 1}}},
		{Of: record{List: []int{}}},
		{Of: []int{}},
		{Of: map[string]any{"a": []int{}, "b": record{Active: new(bool)}}},
		{When: new(time.Time)},
		{When: new(time.Unix(1, 0).UTC())},
		{Array: [2][]int{nil, {}}},
	}
}

func init() {
	gob.Register(record{})
	gob.Register([]int{})
	gob.Register(map[string]any{})
}

// A pair is a record as package mvcc gives it to a codec.
type pair struct {
	K int
	V record
}

// Values that gob changes come back as they were, in any order, and in a stream with the rest.
func TestGob(t *testing.T) {
	list := append(records(), records()...)
	for _, c := range []durable.Codec{durable.Gob, durable.Strict(durable.Gob)} {
		var b bytes.Buffer
		enc := c.NewEncoder(&b)
		for i, r := range list {
			require.NoError(t, enc.Encode(&pair{i, r}), "%d: %+v", i, r)
		}
		dec := c.NewDecoder(&b)
		for i, r := range list {
			var got pair
			require.NoError(t, dec.Decode(&got))
			require.Equal(t, i, got.K)
			require.True(t, reflect.DeepEqual(r, got.V), "%d: %+v, not %+v", i, got.V, r)
		}
		require.Equal(t, io.EOF, dec.Decode(new(pair)))
	}
}

// Streams of package gob alone can be read, and are the same as ours without such values.
func TestGobIsGob(t *testing.T) {
	var plain, ours bytes.Buffer
	a, b := gob.NewEncoder(&plain), durable.Gob.NewEncoder(&ours)
	for i := range 10 {
		p := pair{i, record{Name: "plain", List: []int{i}, Inner: &record{Name: "inner"}}}
		require.NoError(t, a.Encode(&p))
		require.NoError(t, b.Encode(&p))
	}
	require.Equal(t, plain.Bytes(), ours.Bytes())
}

// Wherever a stream is cut off there is an error, and a field that is gone is no harm.
func TestGobDamage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, durable.Gob.NewEncoder(&b).Encode(&pair{1, record{
		Active: new(bool), List: []int{}, ByName: map[string]record{"a": {Bytes: []byte{}}}}}))
	for n := range b.Len() {
		err := durable.Gob.NewDecoder(bytes.NewReader(b.Bytes()[:n])).Decode(new(pair))
		require.Error(t, err)
		require.Equal(t, n == 0, err == io.EOF, "cut at %d: %v", n, err)
	}
	type other struct {
		List   []int
		ByName map[string]struct{ Name string }
	}
	var got struct{ V other }
	require.NoError(t, durable.Gob.NewDecoder(&b).Decode(&got))
	require.Equal(t, other{[]int{}, map[string]struct{ Name string }{"a": {}}}, got.V)
}

// roundTrip encodes v and decodes it. It returns the error of encoding.
func roundTrip[T any](t *testing.T, c durable.Codec, v T) (back T, err error) {
	type one struct{ V T }
	var b bytes.Buffer
	if err := c.NewEncoder(&b).Encode(&one{v}); err != nil {
		return back, err
	}
	var got one
	require.NoError(t, c.NewDecoder(&b).Decode(&got))
	return got.V, nil
}

func refusesValue[T any](t *testing.T, c durable.Codec, v T, why string) {
	t.Helper()
	_, err := roundTrip(t, c, v)
	require.ErrorContains(t, err, why)
}

func keeps[T any](t *testing.T, c durable.Codec, v T) {
	t.Helper()
	back, err := roundTrip(t, c, v)
	require.NoError(t, err)
	require.Equal(t, v, back)
}

// JSON refuses values that would come back changed, and no others.
func TestJSONRefuses(t *testing.T) {
	c := durable.JSON
	refusesValue(t, c, "\xff", `V is "\xff", and becomes "\ufffd"`)
	refusesValue(t, c, map[string]int{"\xff": 1}, `V["\xff"] is missing`)
	refusesValue(t, c, []Hidden{{"a", 0}, {"b", 1}}, "V[1].count is 1, and becomes 0")
	refusesValue[any](t, c, 1, "V is a int, and becomes a float64")
	refusesValue(t, c, map[string]any{"n": 1}, `V["n"] is a int, and becomes a float64`)
	refusesValue[any](t, c, []int{1}, "V is a []int, and becomes a []interface {}")
	refusesValue[any](t, c, time.Unix(1, 0), "V is a time.Time, and becomes a string")
	keeps(t, c, "\ufffd <&> \u2028")
	keeps(t, c, []Hidden{{"a", 0}})
	keeps[any](t, c, map[string]any{"a": []any{1.5, "b", nil, true, map[string]any{}}})
	keeps(t, c, []float64{0.1, 1e300, math.Copysign(0, -1)})
	keeps(t, c, []int64{1<<63 - 1, -1 << 63})
	keeps(t, c, []*bool{nil, new(bool), new(true)})
	keeps(t, c, [][]int{nil, {}, {1}})
	keeps(t, c, []map[string]int{nil, {}})
	keeps(t, c, big.NewInt(0).Lsh(big.NewInt(1), 100))
	keeps(t, c, json.RawMessage(`{"a":1}`))
	now := time.Now()
	back, err := roundTrip(t, c, now) // it has a form of its own
	require.NoError(t, err)
	require.True(t, now.Equal(back))
	type tagged struct {
		Skipped  int    `json:"-"`
		List     []int  `json:"list,omitempty"`
		Zero     []int  `json:",omitzero"`
		NotEmpty *[]int `json:",omitempty"`
	}
	tags, err := roundTrip(t, c, tagged{Skipped: 1, List: []int{}, NotEmpty: &[]int{}})
	require.NoError(t, err)
	require.Equal(t, tagged{NotEmpty: &[]int{}}, tags)
	for _, r := range records() {
		if r.Of == nil && r.Twice == nil && len(r.ByName) == 0 {
			keeps(t, c, r)
		}
	}
}

// A strict codec refuses values that its codec changes in silence.
func TestStrict(t *testing.T) {
	plain := durable.Codec{
		Name:       "plain gob",
		NewEncoder: func(w io.Writer) interface{ Encode(v any) error } { return gob.NewEncoder(w) },
		NewDecoder: func(r io.Reader) interface{ Decode(v any) error } { return gob.NewDecoder(r) },
	}
	refusesValue(t, durable.Strict(plain), Hidden{"a", 1}, "V.count is 1, and becomes 0")
	refusesValue(t, durable.Strict(plain), struct {
		A int
		F func()
	}{1, func() {}}, "V.F is a func(), and becomes nil")
	refusesValue(t, durable.Strict(plain), math.Copysign(0, -1), "V is -0, and becomes 0")
	keeps(t, durable.Strict(plain), Hidden{"a", 0})
	now := time.Now()
	back, err := roundTrip(t, durable.Strict(plain), now)
	require.NoError(t, err)
	require.True(t, now.Equal(back))
	forgetful := durable.Gob
	forgetful.NewDecoder = func(r io.Reader) interface{ Decode(v any) error } {
		return decoderFunc(func(any) error { return io.ErrUnexpectedEOF })
	}
	refusesValue(t, durable.Strict(forgetful), 1, "it cannot be decoded: unexpected EOF")
	failing := durable.Gob
	failing.NewEncoder = func(io.Writer) interface{ Encode(v any) error } {
		return encoderFunc(func(any) error { return io.ErrClosedPipe })
	}
	refusesValue(t, durable.Strict(failing), 1, io.ErrClosedPipe.Error())
}

type encoderFunc func(v any) error

func (f encoderFunc) Encode(v any) error { return f(v) }

type decoderFunc func(v any) error

func (f decoderFunc) Decode(v any) error { return f(v) }
