package humanize

import (
	"testing"

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
