package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// library returns a git work tree with a module example.com/lib, made of files
// and of a few that are the same in every test.
func library(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	all := map[string]string{
		"go.mod":            "module example.com/lib\n\ngo 1.26\n",
		"one/one.go":        "package one\n\nfunc One() int { return 1 }\n",
		"README.md":         "# lib\n\n```go\n" + program("one.One()") + "```\n",
		".gitignore":        "/ignored.txt\n",
		"ignored.txt":       "not for anybody\n",
		"nested/go.mod":     "module example.com/lib/nested\n",
		"nested/a/a.go":     "package a\n",
		"nestedtoo/file.go": "package nestedtoo\n",
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	out, err := exec.Command("git", "-C", root, "init", "--quiet").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return root
}

// program returns a main program that prints an expression of package one.
func program(expr string) string {
	return "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/lib/one\"\n)\n\n" +
		"func main() { fmt.Println(\"result\", " + expr + ") }\n"
}

// offline makes the go command do with the local module cache. That has what building this module
// takes; what "go list -m all" reads beside is fetched before.
func offline(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "all").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv("GOPROXY", "off")
	t.Setenv("GONOSUMDB", "*")
}

func TestCheck(t *testing.T) {
	offline(t)
	const usesMod = "package one\n\nimport \"golang.org/x/mod/semver\"\n\n" +
		"func One() int { return semver.Compare(\"v1.0.0\", \"v0.1.0\") }\n"
	const needsMod = "module example.com/lib\n\ngo 1.26\n\nrequire golang.org/x/mod v0.42.0\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		code  int
		says  string
	}{
		{"good", nil, nil, 0, "result 1\n"},
		{"a dependency for tests only", map[string]string{
			"go.mod": needsMod,
			"one/one_test.go": "package one\n\nimport (\n\t\"testing\"\n\n\t_ \"golang.org/x/mod/semver\"\n)\n\n" +
				"func TestOne(t *testing.T) {}\n",
		}, nil, 0, "go.mod: 1 required"},
		{"a dependency", map[string]string{"go.mod": needsMod, "one/one.go": usesMod}, nil,
			1, "the example compiles golang.org/x/mod, which a user should not need"},
		{"an allowed dependency", map[string]string{"go.mod": needsMod, "one/one.go": usesMod},
			[]string{"-allow", "example.com/x,golang.org/x/mod"}, 0,
			"compiled modules: example.com/lib example.com/user golang.org/x/mod\n"},
		{"no readme", nil, []string{"-readme", "MANUAL.md"}, 1, "MANUAL.md"},
		{"no program", map[string]string{"README.md": "```go\nx := 1\n```\n"}, nil, 1, "no ```go block"},
		{"does not build", map[string]string{"README.md": "```go\n" + program("one.Two()") + "```\n"},
			nil,
			1, "undefined: one.Two"},
		{"panics", map[string]string{"README.md": "```go\n" + program("[]int{}[one.One()]") + "```\n"},
			nil,
			1, "index out of range"},
		{"does not use the library", map[string]string{"README.md": "```go\npackage main\n\nfunc " +
			"main() {}\n```\n"}, nil,
			1, "does not use example.com/lib"},
		{"package left out by gitignore", map[string]string{".gitignore": "/one/\n"}, nil,
			1, "does not contain package example.com/lib/one"},
		{"a bad version", nil, []string{"-version", "0.1"}, 1, "0.1"},
		{"an unknown flag", nil, []string{"-walk"}, 2, "-walk"},
		{"an argument", nil, []string{"walk"}, 2, `"walk"`},
		{"help", nil, []string{"-h"}, 0, "-readme"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			args := append([]string{"-root", library(t, c.files), "-package", "one"}, c.args...)
			code := run(t.Context(), args, &out, &out)
			require.Equal(t, c.code, code, "%s", &out)
			require.Contains(t, out.String(), c.says)
		})
	}
}

func TestPackModule(t *testing.T) {
	root, dir := library(t, nil), t.TempDir()
	require.NoError(t, os.Symlink("README.md", filepath.Join(root, "link.md")))
	modPath, err := packModule(t.Context(), root, dir, "v0.1.0")
	require.NoError(t, err)
	require.Equal(t, "example.com/lib", modPath)

	at := filepath.Join(dir, "example.com/lib/@v")
	list, err := os.ReadFile(filepath.Join(at, "list"))
	require.NoError(t, err)
	require.Equal(t, "v0.1.0\n", string(list))
	mod, err := os.ReadFile(filepath.Join(at, "v0.1.0.mod"))
	require.NoError(t, err)
	require.Equal(t, "module example.com/lib\n\ngo 1.26\n", string(mod))
	info, err := os.ReadFile(filepath.Join(at, "v0.1.0.info"))
	require.NoError(t, err)
	require.Regexp(t, `^\{"Version":"v0\.1\.0","Time":"[0-9T:-]+Z"\}$`, string(info))

	packed, err := zip.OpenReader(filepath.Join(at, "v0.1.0.zip"))
	require.NoError(t, err)
	defer packed.Close()
	var names []string
	for _, f := range packed.File {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"example.com/lib@v0.1.0/.gitignore",
		"example.com/lib@v0.1.0/README.md",
		"example.com/lib@v0.1.0/go.mod",
		"example.com/lib@v0.1.0/nestedtoo/file.go",
		"example.com/lib@v0.1.0/one/one.go",
	}, names)
}

func TestFirstProgram(t *testing.T) {
	const text = "```go\nx := 1\n```\ntext\n```text\npackage main\n```\n" +
		"```go\n\t// first\n\n  package main\nfunc main() {}\n```\n```go\npackage main // second\n```\n"
	program, err := firstProgram(text)
	require.NoError(t, err)
	require.Equal(t, "\t// first\n\n  package main\nfunc main() {}\n", program)

	for _, none := range []string{"", "package main\n", "```go\npackage main\n",
		"```golang\npackage main\n```\n"} {
		_, err := firstProgram(none)
		require.Error(t, err, "%q", none)
	}
}

func TestModFiles(t *testing.T) {
	paths, err := requirements([]byte("module m\n\nrequire a.com/a v1.0.0\n\nrequire (\n\tb.com/b " +
		"v1.0.0 // indirect\n)\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"a.com/a", "b.com/b"}, paths)
	require.Equal(t, []string{"a.com/a"}, sumContents([]byte(
		"a.com/a v1.0.0 h1:x=\na.com/a v1.0.0/go.mod h1:y=\nb.com/b v1.0.0/go.mod h1:z=\n")))
}
