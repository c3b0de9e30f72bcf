package durable_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
)

// Whatever is in a stream, loading it ends with an error and changes nothing, or with the saved
// records.
func FuzzLoad(f *testing.F) {
	from := newShop(f).fill(3)
	for _, c := range allForms {
		var b bytes.Buffer
		_, err := durable.Save(f.Context(), from.DB, &b, c, nil)
		require.NoError(f, err)
		f.Add(b.Bytes(), 0, byte(0))
		f.Add(b.Bytes(), 100, byte(7))
	}
	whole := from.content()
	f.Fuzz(func(t *testing.T, data []byte, at int, with byte) {
		if len(data) > 0 {
			data = bytes.Clone(data)
			data[uint(at)%uint(len(data))] ^= with
		}
		for _, c := range allForms {
			to := newShop(t).fill(1)
			was := to.content()
			if _, err := durable.Load(t.Context(), to.DB, bytes.NewReader(data), c, &durable.LoadOptions{}); err != nil {
				require.Equal(t, was, to.content())
			} else {
				require.Equal(t, whole, to.content())
			}
		}
	})
}
