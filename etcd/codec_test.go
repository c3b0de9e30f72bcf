package etcd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A value that package json would change is refused, wherever it is; one that it keeps is kept, as
// package json writes it.
func TestJSONKeepsText(t *testing.T) {
	type inner struct {
		Text   string
		Any    any
		hidden int
	}
	c := jsonCodec[inner]()
	for name, bad := range map[string]inner{
		"a text that is no UTF-8": {Text: "\\\"\xff"},
		"one in an interface":     {Any: []any{"\xc3"}},
		"another type":            {Any: 1},
		"an unexported field":     {hidden: 1},
	} {
		_, err := c.encode(bad)
		require.Error(t, err, name)
	}
	for _, good := range []inner{{Text: "\ufffd"}, {Text: `\\ufffd`}, {Any: "<\u2028\x00>"}} {
		b, err := c.encode(good)
		require.NoError(t, err)
		require.NotContains(t, string(b), "\n")
		back, err := c.decode(b)
		require.NoError(t, err)
		require.Equal(t, good, back)
	}
}
