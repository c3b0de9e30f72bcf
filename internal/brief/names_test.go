package brief

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	var n Names
	for _, c := range [][2]string{
		{"a", "a"}, {"A", "A"}, {"\u00e9", "\u00e9"}, {"e\u0301", "e\u0301"}, {"", ""},
		{"\ufffd", "\ufffd"}, {"\"\\\n", "\"\\\n"},
		{"a\xff", `a\xff`}, {"a\xfe", `a\xfe`}, {`a\xff`, `a\xff (2)`}, {"\xe4\xb8", `\xe4\xb8`},
		{"b (2)", "b (2)"},
	} {
		require.Equal(t, c[1], n.Valid(c[0]))
		require.Equal(t, c[1], n.Valid(c[0]), "the same each time")
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a\xff\x00a\xfe")
	f.Add("a\xff\x00a\\xff\x00a\\xff (2)")
	f.Fuzz(func(t *testing.T, text string) {
		var n Names
		of := map[string]string{} // by what it became
		for name := range strings.SplitSeq(text, "\x00") {
			v := n.Valid(name)
			require.True(t, utf8.ValidString(v))
			if before, ok := of[v]; ok {
				require.Equal(t, before, name, "%q", v)
			}
			of[v] = name
		}
	})
}
