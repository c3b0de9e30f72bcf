package disk

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

var magic = Magic([]byte("testtest"))

func stream(t testing.TB, payloads ...string) ([]byte, []int) {
	var b bytes.Buffer
	w := NewWriter(&b, magic)
	starts := []int{len(magic)}
	for i, p := range payloads {
		require.NoError(t, w.Frame(byte(i), []byte(p)))
		starts = append(starts, b.Len())
	}
	require.Equal(t, int64(b.Len()), w.Written())
	return b.Bytes(), starts
}

func readAll(r io.Reader, n int) (payloads []string, err error) {
	in := NewReader(r, magic)
	for i := range n {
		kind, payload, err := in.Frame()
		if err != nil {
			return payloads, err
		}
		if kind != byte(i) {
			return payloads, errors.New("wrong kind")
		}
		payloads = append(payloads, string(payload))
	}
	return payloads, in.End()
}

var want = []string{"first", "", "the third frame", string(make([]byte, MaxPayload))}

func TestFrames(t *testing.T) {
	data, _ := stream(t, want...)
	got, err := readAll(iotest.HalfReader(bytes.NewReader(data)), len(want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = readAll(io.MultiReader(bytes.NewReader(data[:20]), iotest.ErrReader(io.ErrClosedPipe)),
		len(want))
	require.Equal(t, io.ErrClosedPipe, err)

}

// Whatever is cut off, flipped or put elsewhere is found, in the frame that it is in.
func TestDamage(t *testing.T) {
	data, starts := stream(t, want[:3]...)
	frameOf := func(at int) int64 {
		for i := len(starts) - 2; i > 0; i-- {
			if at >= starts[i] {
				return int64(starts[i])
			}
		}
		if at >= starts[0] {
			return int64(starts[0])
		}
		return 0
	}
	check := func(damaged []byte, at int) {
		got, err := readAll(bytes.NewReader(damaged), 3)
		var damage *DamageError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, frameOf(at), damage.Offset, "%v at %d", err, at)
		require.Equal(t, want[:len(got)], append([]string{}, got...))
	}
	for at := range data {
		check(data[:at], at)
		for bit := range 8 {
			flipped := bytes.Clone(data)
			flipped[at] ^= 1 << bit
			check(flipped, at)
		}
	}
	a, b, c := data[starts[0]:starts[1]], data[starts[1]:starts[2]], data[starts[2]:starts[3]]
	check(bytes.Join([][]byte{magic[:], b, a, c}, nil), starts[0])
	check(bytes.Join([][]byte{magic[:], a, c, b}, nil), starts[1])
	check(bytes.Join([][]byte{magic[:], a, a, b, c}, nil), starts[1])
	_, err := readAll(bytes.NewReader(append(bytes.Clone(data), 0)), 3)
	require.Equal(t, &DamageError{int64(len(data)), "it should end here"}, err)
}
