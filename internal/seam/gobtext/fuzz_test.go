package gobtext

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type seed struct {
	K string
	V struct {
		N  int
		Of any
		M  map[string][]seedInner
		P  *seedInner
	}
	D bool
}

type seedInner struct {
	Next  *seedInner
	Array [4]float64
}

func seeds(t testing.TB) [][]byte {
	gob.RegisterName("test.Inner", seedInner{})
	gob.RegisterName("test.List", []any{})
	var b bytes.Buffer
	enc := gob.NewEncoder(&b)
	var s seed
	s.K, s.V.N, s.V.Of = "key", -5, []any{seedInner{Next: &seedInner{}}, "a"}
	s.V.M = map[string][]seedInner{"a": {{}, {}}}
	require.NoError(t, enc.Encode(&s))
	s.V.Of, s.V.P = "text", &seedInner{Array: [4]float64{1, 2, 3, 4}}
	require.NoError(t, enc.Encode(&s))
	repaired := append([]byte{0, 10, 'm', 2, 1, 'V', 1, 'P', 'n', 1, 1, 'K'}, b.Bytes()...)
	return [][]byte{b.Bytes(), repaired}
}

// readForged reads a stream that may be anything, and returns how much text it has become. A value
// that is printed was let pass by Next too, and package gob decodes or refuses it.
func readForged(data []byte) (text int, err error) {
	r, p := NewReader(bytes.NewReader(data)), NewPrinter(bytes.NewReader(data))
	var raw bytes.Buffer
	dec := gob.NewDecoder(&raw)
	for r.Next() == nil {
		raw.Write(r.Raw())
		printed := p.Next()
		if printed == nil {
			out, err := json.Marshal(p.Fields())
			if err != nil {
				return text, err
			}
			text += len(out)
		}
		if dec.Decode(new(seed)) != nil || printed != nil {
			return text, nil
		}
		if raw.Len() > 0 {
			return text, errors.New("package gob has another end of the value")
		}
	}
	return text, nil
}

// Whatever the input is: an error, or some text.
func FuzzForged(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := readForged(data); err != nil {
			t.Fatal(err)
		}
	})
}

// Seeds that were changed at random, in each run of the tests.
func TestForged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range seeds(t) {
		text, err := readForged(s)
		require.NoError(t, err)
		require.Positive(t, text)
		for at := range s {
			for range 40 {
				forged := bytes.Clone(s)
				for range 1 + rng.IntN(3) {
					forged[(at+rng.IntN(8))%len(s)] = byte(rng.Uint32())
				}
				if rng.IntN(4) == 0 {
					forged = forged[:at]
				}
				_, err := readForged(forged)
				require.NoError(t, err)
			}
		}
	}
}

// Lists that go on and on, names that are printed again and again, and lengths that are not there.
func TestBounds(t *testing.T) {
	type link struct{ Next *link }
	type chain struct{ K, V link }
	var c chain
	for range maxDepth + 10 {
		c.V.Next = &link{c.V.Next}
	}
	var b bytes.Buffer
	require.NoError(t, gob.NewEncoder(&b).Encode(&c))
	data := b.Bytes()
	require.ErrorContains(t, NewReader(bytes.NewReader(data)).Next(), "nested more than 20000 deep")
	require.ErrorContains(t, NewPrinter(bytes.NewReader(data)).Next(), "nested more than 20000 deep")

	named := reflect.StructOf([]reflect.StructField{{Name: "A" + strings.Repeat("x", 1<<20),
		Type: reflect.TypeFor[bool]()}})
	list := reflect.MakeSlice(reflect.SliceOf(named), 300, 300)
	for i := range 300 {
		list.Index(i).Field(0).SetBool(true)
	}
	record := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "V", Type: list.Type()}})).Elem()
	record.Field(0).Set(list)
	b.Reset()
	require.NoError(t, gob.NewEncoder(&b).EncodeValue(record))
	require.ErrorContains(t, NewPrinter(&b).Next(), "bytes of names is not printed")

	for _, prefix := range []string{"\xf8\xff\xff\xff\xff\xff\xff\xff\xff", "\xfc\x3f\xff\xff\xff",
		"\x80", "\x00\xff\xff\xff\xff\x01", "\x00\x05m\xff\xff\xff\x7f"} {
		err := NewReader(strings.NewReader(prefix + "abc")).Next()
		require.Error(t, err, "%q", prefix)
		require.NotErrorIs(t, err, io.EOF, "%q", prefix)
	}
	require.Equal(t, io.EOF, NewReader(strings.NewReader("")).Next())
}
