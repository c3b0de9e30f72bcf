package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// docs/mutants.md is what "make mutants-table" writes.
func TestTableIsUpToDate(t *testing.T) {
	mutants, err := readMutants(".")
	require.NoError(t, err)
	var page bytes.Buffer
	printMarkdown(&page, mutants)
	committed, err := os.ReadFile("../../docs/mutants.md")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(committed), page.String()), "run make mutants-table")
	for _, m := range mutants {
		require.Contains(t, page.String(), "["+m.name+"]", "want a file called PACKAGE-NAME.patch")
	}
}
