package etcd

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Two keys that are equal have the same bytes, also if they are floats.
func TestFloatKeys(t *testing.T) {
	s := NewSchema(nil)
	a := NewTable[float64, int](s, "a", &TableOptions[float64, int]{Codec: "bits",
		EncodeKey: func(k float64) ([]byte, error) {
			return binary.BigEndian.AppendUint64(nil, math.Float64bits(k)), nil
		},
		DecodeKey: func(b []byte) (float64, error) {
			return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
		}})
	zero, err := a.key.encode(0)
	require.NoError(t, err)
	minus, err := a.key.encode(math.Copysign(0, -1))
	require.NoError(t, err)
	require.Equal(t, zero, minus)
	_, err = a.key.encode(math.NaN())
	require.ErrorContains(t, err, "way back")
}

type loud string

func (l loud) MarshalText() ([]byte, error) { return []byte(strings.ToValidUTF8(string(l), "!")), nil }

// JSON would change a string that is no UTF-8: it is refused, and as a key kept as it is.
func TestNoUTF8(t *testing.T) {
	s := NewSchema(nil)
	a := NewTable[string, string](s, "a", nil)
	visit := func([]byte, []byte, bool) {}
	writes := []mvcc.Change[string, string]{{Key: "k", New: "\xff", Has: true}}
	var codec *CodecError
	require.ErrorAs(t, a.writes(writes, visit), &codec)
	require.Equal(t, "k", codec.Name)
	writes[0].New = "\uFFFD"
	require.NoError(t, a.writes(writes, visit))
	b, err := a.key.encode("\xff")
	require.NoError(t, err)
	key, err := a.key.decode(b)
	require.NoError(t, err)
	require.Equal(t, "\xff", key)
	b, err = jsonCodec[loud]().encode("\xff")
	require.NoError(t, err)
	require.Equal(t, `"!"`, string(b))
}

// Options that would end a replica, or let its memory grow, are refused.
func TestSchemaOptions(t *testing.T) {
	for name, opts := range map[string]mvcc.Options{
		"Options.Strict": {Strict: true}, "Options.MaxTxAge": {MaxTxAge: time.Minute},
		"Options.ManualReclaim": {ManualReclaim: true},
	} {
		func() {
			defer func() { require.Contains(t, recover(), name) }()
			NewSchema(&opts)
		}()
	}
}
