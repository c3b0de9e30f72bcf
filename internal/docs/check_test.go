package docs

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestBadPromisesAreFound checks the check.
func TestBadPromisesAreFound(t *testing.T) {
	have := map[string]bool{"mvcc.TestA": true, "epoch.TestB": true, "internal/x.FuzzC": true}
	for _, c := range []struct{ name, text, want string }{
		{"good", "Text.\n\n- **M1.** Promised.\n  Tests: `TestA`.\n- **M2.** Promised,\n  at length.\n" +
			"  Tests: `epoch.TestB`,\n  `internal/x.FuzzC`.\n\nMore.\n", ""},
		{"no test of this name", "- **M1.** Promised.\n  Tests: `TestB`.\n",
			"M1: there is no test mvcc.TestB"},
		{"no test in this folder", "- **M1.** Promised.\n  Tests: `gc.TestB`.\n",
			"M1: there is no test gc.TestB"},
		{"one of two", "- **M1.** Promised.\n  Tests: `TestA`, `TestZ`.\n",
			"M1: there is no test mvcc.TestZ"},
		{"names no test", "- **M1.** Promised.\n  Tests: all of them.\n", "M1 names no test"},
		{"says nothing about tests", "- **M1.** Promised `TestA`.\n- **M2.** And.\n  Tests: `TestA`.\n",
			"M1: want a sentence"},
		{"not a test", "- **M1.** Promised.\n  Tests: `TestA`, `Map.Load`.\n", "`Map.Load` is no name"},
		{"gap", "- **M1.** Promised.\n  Tests: `TestA`.\n- **M3.** Promised.\n  Tests: `TestA`.\n",
			"M3, want M2"},
		{"twice", "- **M1.** Promised.\n  Tests: `TestA`.\n- **M1.** Promised.\n  Tests: `TestA`.\n",
			"M1, want M2"},
		{"not in a list", "**M1.** Promised.\n", "line 1 looks like a promise"},
		{"indented", "  - **M1.** Promised.\n", "line 1 looks like a promise"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkPromises(c.text, have)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestTestsAreFound checks what counts as a test.
func TestTestsAreFound(t *testing.T) {
	have, err := testsIn(fstest.MapFS{
		"a/a_test.go": {Data: []byte("//go:build some\n\npackage a\nfunc TestA(t *testing.T) {}\nfunc " +
			"TestMain(m *testing.M) {}\n" +
			"func (x) TestMethod(t *testing.T) {}\nvar TestVar = 1\n// TestComment\n")},
		"a/b/b_test.go": {Data: []byte("package b\nfunc FuzzB(f *testing.F) {}\nfunc " +
			"TestHelper(t *testing.T, n int) { TestCall() }\n")},
		"a/c.go":               {Data: []byte("package a\nfunc TestC(t *testing.T) {}\n")},
		"a/testdata/d_test.go": {Data: []byte("package d\nfunc TestD(t *testing.T) {}\n")},
		".git/e_test.go":       {Data: []byte("package e\nfunc TestE(t *testing.T) {}\n")},
	})
	require.NoError(t, err)
	for _, name := range []string{"a.TestA", "a/b.FuzzB"} {
		require.True(t, have[name], name)
	}
	for _, name := range []string{
		"a.TestMain", "a.TestMethod", "a.TestVar", "a.TestComment", "a/b.TestCall", "a/b.TestHelper",
		"a.TestC", "a/testdata.TestD", ".git.TestE",
	} {
		require.False(t, have[name], name)
	}
	_, err = testsIn(fstest.MapFS{"a_test.go": {Data: []byte("not Go")}})
	require.Error(t, err)
}
