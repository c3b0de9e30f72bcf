package main

import (
	"bytes"
	"os"
	"strings"
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

func TestTable(t *testing.T) {
	test := "go test -tags a -run 'TestX$/^sub_test$/^y$' ./mvcc"
	var page bytes.Buffer
	printMarkdown(&page, []mutant{
		{name: "mvcc-x", title: "a | b", why: "c", test: test},
		{name: "mvcc-y", title: "d", why: "e", test: test},
	})
	require.Contains(t, page.String(),
		"| [mvcc-x](../internal/mutants/mvcc-x.patch): a \\| b | c | `TestX/sub_test/y` |\n")
	require.Equal(t, 1, strings.Count(page.String(), "\n## "))
	require.Contains(t, page.String(), "2 deliberate faults")

	page.Reset()
	printMarkdown(&page, []mutant{{name: "hist-x", test: test}, {name: "mvcc-x", test: test}})
	_, others, _ := strings.Cut(page.String(), "Package mvcc: the map")
	require.Contains(t, others, "\n## Package hist\n", "of a package without a title")
	require.Contains(t, others, "[hist-x]")
}

func TestTableFlag(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-root", "testdata/sample", "-dir", "faults", "-table"},
		&stdout, &stderr))
	require.Contains(t, stdout.String(), "# Mutants")
}
