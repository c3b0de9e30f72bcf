// Package examples has programs to copy from. Its test runs each of them; sessions has a test of its
// own, which also shows how to test with testing/synctest.
package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestRun builds every example, and runs those whose output is always the same.
func TestRun(t *testing.T) {
	dirs, err := filepath.Glob("*/want.txt")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	bin := t.TempDir()
	out, err := exec.Command("go", "build", "-o", bin, "./...").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(filepath.Join(dir, "want.txt"))
			require.NoError(t, err)
			cmd := exec.Command(filepath.Join(bin, dir))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), string(out)))
		})
	}
}

// TestReadme builds and runs the program in the README, which has its output.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(readme), "```go\npackage main\n")
	require.True(t, found)
	program, _, found = strings.Cut(program, "```\n")
	require.True(t, found)
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte("package main\n"+program), 0o600))
	out, err := exec.Command("go", "run", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotEmpty(t, out)
	for line := range strings.Lines(string(out)) {
		require.Contains(t, string(readme), "`"+strings.TrimSpace(line)+"`")
	}
}
