package etcd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type loud string

func (l loud) MarshalText() ([]byte, error) { return []byte(strings.ToValidUTF8(string(l), "!")), nil }

// A string that package json would change is refused, wherever it is; one that it keeps is kept,
// also if it has U+FFFD in it, or what looks like an escape.
func TestJSONKeepsText(t *testing.T) {
	type inner struct {
		Text string
		Any  any
		Map  map[string]int
	}
	c := jsonCodec[inner]()
	for name, bad := range map[string]inner{
		"in a field":      {Text: "a\xffb"},
		"in an interface": {Any: []any{"\xc3"}},
		"in a key":        {Map: map[string]int{"\xff": 1}},
		"after a quote":   {Text: "\\\"\xff"},
	} {
		_, err := c.encode(bad)
		require.ErrorContains(t, err, "no UTF-8", name)
	}
	for _, good := range []inner{{Text: "\ufffd"}, {Text: `\ufffd`}, {Text: `\\ufffd`}, {Text: "<\u2028\x00>"},
		{Map: map[string]int{"\ufffd": 1}}} {
		b, err := c.encode(good)
		require.NoError(t, err)
		back, err := c.decode(b)
		require.NoError(t, err)
		require.Equal(t, good, back)
	}
	_, err := jsonCodec[string]().encode("\xff")
	require.ErrorContains(t, err, "no UTF-8")
	b, err := jsonCodec[loud]().encode("\xff")
	require.NoError(t, err)
	require.Equal(t, `"!"`, string(b))
}
