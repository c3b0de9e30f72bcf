package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMigratingIsTested checks that all code of docs/migrating.md is in the tests that it
// names, declaration by declaration.
func TestMigratingIsTested(t *testing.T) {
	var tests strings.Builder
	for _, name := range []string{"examples/migrating/sides_test.go",
		"bench/peers/migrating/migrating_test.go"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		tests.Write(text)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/migrating.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)\n```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 12, "six stores, two sides each")
	for _, block := range blocks {
		for declaration := range strings.SplitSeq(block[1], "\n\n") {
			require.True(t, strings.Contains(tests.String(), "\n"+declaration+"\n"),
				"no test has\n%s", declaration)
		}
	}
}
