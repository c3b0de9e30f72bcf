package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// External tests are left out where the command runs none of them.
func TestLean(t *testing.T) {
	root := t.TempDir()
	files := []string{"a/a.go", "a/in_test.go", "a/out_test.go", "a/other_test.go", "b/out_test.go"}
	for i, text := range []string{
		"package a", "package a\nfunc TestIn(", "package a_test\nfunc TestOut(",
		"package a_test\nfunc helper(",
		"package b_test\nfunc TestB(",
	} {
		name := filepath.Join(root, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	require.Equal(t, files[:2], lean(root, files, "go test -count=1 -run 'TestIn$' ./a"))
	require.Equal(t, files[:4], lean(root, files, "go test -run TestOut ./a"))
	require.Equal(t, append(files[:2:2], files[4]),
		lean(root, files, "go test -run='Test(B|In)$' ./..."))
	require.Equal(t, files, lean(root, files, "go test ./a"))
}
