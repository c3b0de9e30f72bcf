package hist

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The same values as HdrHistogram has encoded them, with two and with three significant digits.
const (
	twoDigits   = "HISTFAAAAEZ42pJpmSzMwMCgxAABTFCakYGB+T8I2H+ASjCxsnxkZGLqZWTKZmLSZLrKdIIxl6Wfl+kpJ1O/INNfUSZAAAAA///qcg8b"
	threeDigits = "HISTFAAAAEl42pJpmSzMwMCgygABzFCakYGBA8yw/wARYGJiZfnIyMTUy8iUzcQUyrSd/QTjbmaWhxlMO/2YejsZmf6uZ2QCBAAA//88mQxl"
)

func encoded() *Hist {
	h := new(Hist)
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
		"own": h.Encode(), "two digits": twoDigits, "three digits": threeDigits,
	} {
		var got Hist
		require.NoError(t, got.Decode(text), name)
		got.Add(h.Max(), 0)
		require.Equal(t, *h, got, name)
	}
	require.NoError(t, h.Decode(new(Hist).Encode()))
	require.Equal(t, Hist{}, *h)
}

func TestDamagedEncodings(t *testing.T) {
	for _, text := range []string{
		"", "H", "HIST", "HISTFAAAAEZ4", strings.ToLower(twoDigits), twoDigits[4:],
		twoDigits[:len(twoDigits)-8], strings.Replace(twoDigits, "AEZ", "AEA", 1),
		strings.Replace(twoDigits, "zMwM", "zMzM", 1),
	} {
		require.Error(t, new(Hist).Decode(text), text)
	}
	for name, counts := range map[string][]byte{
		"cut off":      {0x80},
		"too far":      {0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x02},
		"sum too high": {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x02},
	} {
		require.Error(t, new(Hist).addCounts(counts, 2), name)
	}
}
