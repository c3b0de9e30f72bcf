package gobtext_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/gobtext"
)

type inner struct {
	X, Y int8
	Deep *inner
}

// A thing has all that gob has a form for.
type thing struct {
	Name    string
	On      bool
	N       int64
	U       uint16
	F       float64
	C       complex128
	Bytes   []byte
	Lists   [][]int
	Array   [2]int
	In      inner
	ByName  map[string]inner
	ByN     map[int]string
	ByPoint map[point]string
	When    *time.Time
	Big     *big.Int
	Of      any
}

type point struct{ X, Y int }

// Time is not that of package time.
type Time struct{ a, b byte }

func (t Time) GobEncode() ([]byte, error) { return []byte{t.a, t.b}, nil }
func (t *Time) GobDecode(b []byte) error  { t.a, t.b = b[0], b[1]; return nil }

// printed returns the values of records that codec Gob has encoded.
func printed[V any](t *testing.T, values ...V) (list []string) {
	type record struct {
		K int
		V V
	}
	var b bytes.Buffer
	enc := durable.Gob.NewEncoder(&b)
	for i, v := range values {
		require.NoError(t, enc.Encode(&record{i, v}))
	}
	p := gobtext.NewPrinter(&b)
	for i := range values {
		require.NoError(t, p.Next())
		fields := p.Fields()
		require.Len(t, fields, 2)
		require.EqualValues(t, i, fields["K"])
		text, err := json.Marshal(fields["V"])
		require.NoError(t, err)
		list = append(list, string(text))
	}
	require.Equal(t, io.EOF, p.Next())
	return list
}

// Values are printed as far as gob has them.
func TestFields(t *testing.T) {
	gob.RegisterName("test.Point", point{})
	gob.RegisterName("test.List", []any{})
	when := time.Date(1999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -5400))
	require.Equal(t, []string{
		`{"Array":[0,0],"In":{}}`,
		`{"Array":[1,0],"Big":{"base64":"AwEs"},"ByN":{"-1":"a","0":"","10":"c"},` +
			`"ByName":{"":{"X":1},"z":{}},"ByPoint":[[{"X":1,"Y":2},"a"],[{"X":2,"Y":1},"b"]],"Bytes":"AP8=",` +
			`"C":"(1-2i)","F":1e+300,"In":{"Deep":{},"X":-128},"Lists":[[1],[],[2,-3]],` +
			`"N":-9223372036854775808,"Name":"\"\n\u0001é","Of":{"type":"test.Point","value":{"X":1}},"On":true,` +
			`"U":65535,"When":"1999-12-31T23:59:59-01:30"}`,
		`{"Array":[0,0],"ByName":{},"F":"NaN","In":{},"Name":{"base64":"/w=="},"Of":"text"}`,
		`{"Array":[0,0],"F":"-Inf","In":{},"Of":{"type":"test.List","value":[{"type":"test.Point","value":{}},` +
			`"a",null,{"type":"test.List","value":[{"type":"float64","value":1.5}]}]}}`,
	}, printed(t, thing{},
		thing{Name: "\"\n\x01é", On: true, N: math.MinInt64, U: 65535, F: 1e300, C: complex(1, -2),
			Bytes: []byte{0, 255}, Lists: [][]int{{1}, nil, {2, -3}}, Array: [2]int{1}, In: inner{X: -128, Deep: &inner{}},
			ByName: map[string]inner{"z": {}, "": {X: 1}}, ByN: map[int]string{-1: "a", 0: "", 10: "c"},
			ByPoint: map[point]string{{2, 1}: "b", {1, 2}: "a"}, When: &when, Big: big.NewInt(-300), Of: point{1, 0}},
		thing{Name: "\xff", F: math.NaN(), ByName: map[string]inner{}, Of: "text"},
		thing{F: math.Inf(-1), Of: []any{point{}, "a", nil, []any{1.5}}}))
	require.Equal(t, []string{"5", "0"}, printed(t, 5, 0))
	require.Equal(t, []string{`"a"`, `""`}, printed(t, "a", ""))
	require.Equal(t, []string{`["a"]`, "null", "null"}, printed(t, []string{"a"}, nil, []string{}))
	require.Equal(t, []string{`{"base64":"AQI=","type":"Time"}`}, printed(t, Time{1, 2}))
}
