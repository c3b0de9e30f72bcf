package etcd

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

var _ mvcc.Reader[string, int] = (*Table[string, int])(nil)

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
