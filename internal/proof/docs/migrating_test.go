package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMigratingIsTested checks the code of docs/migrating.md.
func TestMigratingIsTested(t *testing.T) {
	requireTested(t, "docs/migrating.md", 2, "examples/migrating/sides_test.go",
		"bench/peers/migrating/migrating_test.go")
}

// TestSchemasIsTested checks the code of docs/schemas.md.
func TestSchemasIsTested(t *testing.T) {
	requireTested(t, "docs/schemas.md", 5, "examples/schemas/cases_test.go")
}

// requireTested checks that all code of a page, which has so many blocks, is in the tests, declaration
// by declaration.
func requireTested(t *testing.T, pageName string, blocksOf int, names ...string) {
	t.Helper()
	var tests strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		tests.Write(text)
	}
	page, err := os.ReadFile(filepath.Join(root, pageName))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)\n```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, blocksOf)
	for _, block := range blocks {
		for declaration := range strings.SplitSeq(block[1], "\n\n") {
			require.True(t, strings.Contains(tests.String(), "\n"+declaration+"\n"),
				"no test has\n%s", declaration)
		}
	}
}
