package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMigratingIsTested checks the code of docs/migrating.md: three stores, two sides each.
func TestMigratingIsTested(t *testing.T) {
	requireTested(t, "docs/migrating.md", 6, "examples/migrating/sides_test.go",
		"bench/peers/migrating/migrating_test.go")
}

// TestSchemasIsTested checks the code of docs/schemas.md, and that it has all that is tested.
func TestSchemasIsTested(t *testing.T) {
	const cases = "examples/schemas/cases_test.go"
	requireTested(t, "docs/schemas.md", 12, cases)
	text, err := os.ReadFile(filepath.Join(root, cases))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs/schemas.md"))
	require.NoError(t, err)
	for _, line := range regexp.MustCompile(`(?m)^(type|var|func) .*`).FindAllString(string(text), -1) {
		require.Contains(t, string(page), "\n"+line+"\n")
	}
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
