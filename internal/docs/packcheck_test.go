package docs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scripts/packcheck.sh runs the example of a library's README as a user would, and finds what keeps
// a user from having the library, or what comes along that he does not need.
func TestPackcheck(t *testing.T) {
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	script, err := filepath.Abs("../../scripts/packcheck.sh")
	require.NoError(t, err)
	program := func(expr string) string {
		return "# lib\n\n```go\nx := 1\n```\n```go\npackage main\n\nimport \"example.com/lib/one\"\n\n" +
			"func main() { println(\"result\", " + expr + ") }\n```\n"
	}
	const needed = "github.com/puzpuzpuz/xsync/v4"
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", needed).Output()
	require.NoError(t, err)
	needs := map[string]string{
		"go.mod": "module example.com/lib\n\ngo 1.26\n\nrequire " + needed + " " + string(version),
		"one/one.go": "package one\n\nimport \"" + needed + "\"\n\n" +
			"func One() int { return xsync.NewMap[int, int]().Size() + 1 }\n",
	}
	for name, c := range map[string]struct {
		files map[string]string
		allow string
		says  string // of what is wrong; else the script succeeds
	}{
		"good":                  {},
		"an allowed dependency": {needs, needed, ""},
		"a dependency":          {needs, "none", "compiles " + needed + ", which a user should not need"},
		"no program":            {map[string]string{"README.md": "```go\nx\n```\n"}, "", "no ```go block"},
		"does not build": {map[string]string{"README.md": program("one.Two()")}, "",
			"undefined: one.Two"},
		"panics": {map[string]string{"README.md": program("[]int{}[one.One()]")}, "",
			"the example of README.md ended"},
		"does not use the library": {map[string]string{"README.md": "```go\npackage main\n\n" +
			"func main() {}\n```\n"}, "", "does not use example.com/lib"},
		"left out by gitignore": {map[string]string{".gitignore": "/one/\n"}, "",
			"does not contain package example.com/lib/one"},
		"in another module": {map[string]string{"one/go.mod": "module example.com/lib/one\n"}, "",
			"example.com/lib/one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"go.mod":     "module example.com/lib\n\ngo 1.26\n",
				"one/one.go": "package one\n\nfunc One() int { return 1 }\n",
				"README.md":  program("one.One()"),
			}
			maps.Copy(files, c.files)
			root := t.TempDir()
			for name, text := range files {
				file := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			run := exec.CommandContext(t.Context(), "bash", "-c",
				`git init --quiet "$1" && ALLOW=$2 PACKAGE=one GOPROXY=off "$0" "$1"`, script, root, c.allow)
			run.Env = append(os.Environ(), "GONOSUMDB=*")
			out, err := run.CombinedOutput()
			if c.says == "" {
				require.NoError(t, err, "%s", out)
				require.Contains(t, string(out), "result 1\n")
				return
			}
			require.Error(t, err, "%s", out)
			require.Contains(t, strings.ReplaceAll(string(out), "\n", " "), c.says)
		})
	}
}
