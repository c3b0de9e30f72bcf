package gobtext_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/internal/gobtext"
	"github.com/mvccmap/mvccmap/mvcc"
)

type inner struct {
	X, Y int8
	Deep *inner `json:",omitempty"`
}

type color uint8

// A thing has what gob and JSON write in the same way, once the shape is known.
type thing struct {
	Name    string
	On      bool
	N       int64
	U       uint16
	F32     float32
	F64     float64
	Bytes   []byte
	List    []string
	Lists   [][]int
	Array   [3]color
	In      inner
	Ptr     *inner
	PtrN    *int
	PtrPtr  **string
	PtrList *[]int
	All     []inner
	ByName  map[string]inner
	ByN     map[int]string
	ByColor map[color][]string
	Maps    []map[string]int
	When    time.Time
	WhenPtr *time.Time
	hidden  int
}

func ptr[T any](v T) *T { return &v }

func things() []thing {
	none := (*string)(nil)
	return []thing{
		{},
		{Name: "plain \"quoted\" <tag> \n\t\x01  é", On: true, N: math.MinInt64, U: 65535, F32: 0.1,
			F64: 1e300, Bytes: []byte{0, 255}, List: []string{"", "b"}, Lists: [][]int{{1}, nil, {2, -3}},
			Array: [3]color{1, 0, 3}, In: inner{X: -128}},
		{Ptr: &inner{X: 1, Deep: &inner{Y: 2, Deep: &inner{}}}, PtrN: ptr(7), PtrPtr: ptr(ptr("s")),
			PtrList: &[]int{1}},
		{Ptr: &inner{}, PtrN: new(int), PtrPtr: ptr(ptr("")), PtrList: &[]int{}},
		{PtrPtr: &none, PtrList: new([]int), Bytes: []byte{}, List: []string{}, Lists: [][]int{}},
		{Lists: [][]int{{}, nil, {}}, Maps: []map[string]int{nil, {}, {"b": 2, "a": 1}}},
		{All: []inner{{}, {Deep: &inner{}}}, ByName: map[string]inner{"z": {}, "": {X: 1}},
			ByN:     map[int]string{-1: "a", 0: "", 10: "c"},
			ByColor: map[color][]string{1: {}, 2: nil, 200: {"x"}}},
		{ByName: map[string]inner{}, ByN: map[int]string{}, Maps: []map[string]int{}},
		{When: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
			WhenPtr: ptr(time.Date(1999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -5400)))},
		{WhenPtr: new(time.Time)},
	}
}

// save makes a backup of one table, and returns a decoder of that, and the shapes.
func save[V any](t testing.TB, values ...V) (*gobtext.Decoder, map[string]gobtext.Shape) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewOrderedTable[int, V](db, "t", nil)
	for i, v := range values {
		m.Store(i, v)
	}
	var file bytes.Buffer
	_, err := db.Save(t.Context(), &file, codec.Gob, nil)
	require.NoError(t, err)
	b, err := backupfile.NewReader(&file)
	require.NoError(t, err)
	shape := func(s mvcc.Shape) gobtext.Shape {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		return gobtext.ParseShape(text)
	}
	shapes := map[string]gobtext.Shape{"K": shape(b.Tables[0].KeyShape),
		"V": shape(b.Tables[0].ValueShape), "D": gobtext.ParseShape([]byte(`[{"k":"bool"}]`))}
	table, err := b.Next()
	require.NoError(t, err)
	data, err := io.ReadAll(table)
	require.NoError(t, err)
	return gobtext.NewDecoder(bytes.NewReader(data)), shapes
}

// printed returns the values that a decoder has, and checks the keys.
func printed(t testing.TB, d *gobtext.Decoder, shapes map[string]gobtext.Shape) (list []string) {
	for {
		m, err := d.Next(shapes)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		fields := m.Fields
		require.Equal(t, "K", fields[0].Name)
		key, err := json.Marshal(len(list))
		require.NoError(t, err)
		require.Equal(t, string(key), string(fields[0].Text))
		require.Equal(t, "V", fields[1].Name)
		require.Equal(t, "false", string(fields[2].Text))
		list = append(list, string(fields[1].Text))
	}
}

// What is printed is what package json prints of the values themselves, which have their types.
func TestAsJSON(t *testing.T) {
	_ = thing{}.hidden
	d, shapes := save(t, things()...)
	got := printed(t, d, shapes)
	require.Len(t, got, len(things()))
	for i, v := range things() {
		want, err := json.Marshal(v)
		require.NoError(t, err)
		text := strings.ReplaceAll(got[i], `,"Deep":null`, "")
		require.JSONEq(t, string(want), text)
	}
	p, shapes := save(t, &inner{X: 1}, nil, &inner{})
	require.Equal(t, []string{`{"X":1,"Y":0,"Deep":null}`, "null", `{"X":0,"Y":0,"Deep":null}`},
		printed(t, p, shapes))
	n, shapes := save(t, 5, 0)
	require.Equal(t, []string{"5", "0"}, printed(t, n, shapes))
	s, shapes := save(t, "\xff", "")
	require.Equal(t, []string{`{"base64":"/w=="}`, `""`}, printed(t, s, shapes))
}

type shapeless struct {
	Of any
	C  complex128
	F  float64
}

type point struct{ X, Y int }

type pointKeys struct{ M map[point]string }

// What JSON has no form for.
func TestNotJSON(t *testing.T) {
	gob.RegisterName("test.Point", point{})
	gob.RegisterName("test.List", []any{})
	d, shapes := save(t, shapeless{}, shapeless{Of: "text", C: complex(1, -2), F: math.NaN()},
		shapeless{Of: 5, F: math.Inf(-1)}, shapeless{Of: point{1, 0}}, shapeless{Of: true},
		shapeless{Of: []any{point{}, "a", []any{1.5}}, F: math.Copysign(0, -1)})
	require.Equal(t, []string{
		`{"Of":null,"C":"(0+0i)","F":0}`,
		`{"Of":"text","C":"(1-2i)","F":"NaN"}`,
		`{"Of":{"type":"int","value":5},"C":"(0+0i)","F":"-Inf"}`,
		`{"Of":{"type":"test.Point","value":{"X":1}},"C":"(0+0i)","F":0}`,
		`{"Of":true,"C":"(0+0i)","F":0}`,
		`{"Of":{"type":"test.List","value":[{"type":"test.Point","value":{}},"a",` +
			`{"type":"test.List","value":[{"type":"float64","value":1.5}]}]},"C":"(0+0i)","F":0}`,
	}, printed(t, d, shapes))
	k, shapes := save(t, pointKeys{map[point]string{{2, 1}: "b", {1, 2}: "a"}})
	require.Equal(t, []string{`{"M":[[{"X":1,"Y":2},"a"],[{"X":2,"Y":1},"b"]]}`},
		printed(t, k, shapes))
	b, shapes := save(t, big.NewInt(-300))
	require.Equal(t, []string{`{"type":"big.Int","base64":"AwEs"}`}, printed(t, b, shapes))
}

// Without shapes, fields that may be zero or nil are left out.
func TestWithoutShapes(t *testing.T) {
	d, _ := save(t, thing{PtrN: new(int), N: 1, When: time.Unix(1, 0).UTC()})
	m, err := d.Next(nil)
	require.NoError(t, err)
	require.Nil(t, m.Fields[0].Text)
	require.Equal(t, `{"N":1,"Array":[0,0,0],"In":{},"PtrN":0,"When":"1970-01-01T00:00:01Z"}`,
		string(m.Fields[1].Text))
}

// A type named Time of somebody else is not taken for one of package time.
type Time struct{ a, b byte }

func (t Time) GobEncode() ([]byte, error) { return []byte{t.a, t.b}, nil }
func (t *Time) GobDecode(b []byte) error  { t.a, t.b = b[0], b[1]; return nil }

func TestAnotherTime(t *testing.T) {
	d, shapes := save(t, Time{1, 2})
	require.Equal(t, []string{`{"type":"gobtext_test.Time","base64":"AQI="}`}, printed(t, d, shapes))
}

// Definitions are where they were, also those within values, so that records can be copied one by
// one: a stream of the definitions, and any of the records, is one that gob reads.
func TestCopies(t *testing.T) {
	gob.RegisterName("test.Point", point{})
	gob.RegisterName("test.Lists", [][]int{})
	values := []shapeless{{Of: []any{point{1, 2}}}, {Of: point{3, 4}}, {F: 1},
		{Of: []any{1, point{5, 6}}}, {Of: [][]int{{}}}}
	for skip := range 1 << len(values) {
		d, shapes := save(t, values...)
		var out, defs bytes.Buffer
		var want []shapeless
		for i, v := range values {
			m, err := d.Next(shapes)
			require.NoError(t, err)
			for _, def := range m.Defs {
				defs.Write(def.Raw)
			}
			if skip>>i&1 == 0 {
				out.Write(m.Repairs)
				_, _ = defs.WriteTo(&out)
				out.Write(m.Raw)
				want = append(want, v)
				continue
			}
			for _, def := range m.Inner {
				defs.Write(def.Raw)
			}
		}
		dec := codec.Gob.NewDecoder(&out)
		for _, v := range want {
			var r struct {
				K int
				V shapeless
			}
			require.NoError(t, dec.Decode(&r))
			require.Equal(t, v, r.V)
		}
		require.ErrorIs(t, dec.Decode(&struct{ K int }{}), io.EOF)
	}
}
