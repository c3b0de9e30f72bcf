package durable_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
)

// forged encodes a record, and puts bytes in the place of others at the end of its message.
func forged(t *testing.T, v any, end, by []byte) []byte {
	var b bytes.Buffer
	require.NoError(t, durable.Gob.NewEncoder(&b).Encode(v))
	data := b.Bytes()
	body := bytes.LastIndex(data, end)
	require.Equal(t, len(data)-len(end), body)
	for n := 1; ; n++ { // where the length stands that the message has
		if int(data[body-n]) == n-1+len(end) {
			data[body-n] = byte(n - 1 + len(by))
			require.Less(t, n-1+len(by), 128)
			return append(data[:body], by...)
		}
	}
}

// A count that is larger than the bytes which are there is an error, and little is allocated before
// that.
func TestForgedCounts(t *testing.T) {
	type nested []nested
	many := []byte{0xfd, 0x40, 0, 0} // 4,194,304
	for name, data := range map[string][]byte{
		"map": forged(t, &struct{ V map[int]int }{map[int]int{7: 7}}, []byte{1, 1, 14, 14, 0},
			append(append([]byte{1}, many...), 14, 14, 0)),
		"values of a map": forged(t, &struct{ V map[int]map[int]int }{map[int]map[int]int{7: {}}},
			[]byte{1, 1, 14, 0, 0}, append(append([]byte{1, 1, 14}, many...), 0)),
		"slices in each other": forged(t, &struct{ V nested }{nested{{{}}}}, []byte{1, 1, 1, 0, 0},
			append(append([]byte{1}, bytes.Repeat(many, 25)...), 0)),
		"repairs": {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'm', 0xff, 0xff, 0xff, 0xff, 1, 1},
		"message": {0xf8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 1, 2, 3},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var v struct{ V nested }
		var m struct{ V map[int]int }
		var mm struct{ V map[int]map[int]int }
		for _, to := range []any{&v, &m, &mm} {
			require.Error(t, durable.Gob.NewDecoder(bytes.NewReader(data)).Decode(to), name)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), name)
	}
}
