package results

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/hist"
)

// The same values as HdrHistogram has encoded them, with two and with three significant digits.
const (
	twoDigits   = "HISTFAAAAEZ42pJpmSzMwMCgxAABTFCakYGB+T8I2H+ASjCxsnxkZGLqZWTKZmLSZLrKdIIxl6Wfl+kpJ1O/INNfUSZAAAAA///qcg8b"
	threeDigits = "HISTFAAAAEl42pJpmSzMwMCgygABzFCakYGBA8yw/wARYGJiZfnIyMTUy8iUzcQUyrSd/QTjbmaWhxlMO/2YejsZmf6uZ2QCBAAA//88mQxl"
)

func encoded() *hist.Hist {
	h := new(hist.Hist)
	for _, v := range []int64{0, 1, 5, 5, 127, 128, 200, 255, 256, 300, 1000, 1000, 100_000,
		3_000_000, 1 << 30, 1 << 41} {
		h.Add(v, 1)
	}
	h.Add(777, 100)
	return h
}

func TestEncoding(t *testing.T) {
	h := encoded()
	for name, text := range map[string]string{
		"own": encodeHistogram(h), "two digits": twoDigits, "three digits": threeDigits,
	} {
		got, err := DecodeHistogram(text)
		require.NoError(t, err, name)
		got.Add(h.Max(), 0)
		require.Equal(t, h, got, name)
	}
	h, err := DecodeHistogram(encodeHistogram(new(hist.Hist)))
	require.NoError(t, err)
	require.Equal(t, new(hist.Hist), h)
}

func TestDamagedEncodings(t *testing.T) {
	for _, text := range []string{"", "H", "HIST", "HISTFAAAAEZ4", strings.ToLower(twoDigits),
		twoDigits[4:], twoDigits[:len(twoDigits)-8], strings.Replace(twoDigits, "zMwM", "zMzM", 1)} {
		_, err := DecodeHistogram(text)
		require.Error(t, err, text)
	}
}
