// Package docs checks that the documentation keeps up with the code.
package docs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

// TestGuarantees checks that every promise of docs/guarantees.md names tests, and
// that there are tests of these names, in the packages it says.
func TestGuarantees(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/guarantees.md"))
	require.NoError(t, err)
	have := testsOf(t)
	promises, err := promisesIn(string(text))
	require.NoError(t, err)
	require.Greater(t, len(promises), 40, "the promises are not found any more")
	for _, p := range promises {
		for _, name := range p.tests {
			assert.True(t, there(have, name), "%s: there is no test %s", p.id, name)
		}
	}
}

// there reports whether a test is there, or several whose names begin so before a `*`.
func there(have map[string]bool, name string) bool {
	prefix, several := strings.CutSuffix(name, "*")
	n := 0
	for test := range have {
		if rest, ok := strings.CutPrefix(test, prefix); ok && (rest == "" || several && rest[0] < 'a') {
			n++
		}
	}
	return n > 1 || n == 1 && !several
}

// TestProtocolNamesTests checks the tests that docs/protocol.md names.
func TestProtocolNamesTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/protocol.md"))
	require.NoError(t, err)
	names := map[string]bool{}
	for name := range testsOf(t) {
		names[name[strings.LastIndex(name, ".")+1:]] = true
	}
	found := regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(text), -1)
	require.NotEmpty(t, found)
	for _, name := range found {
		require.True(t, names[name], "docs/protocol.md names %s, which is no test", name)
	}
}

// A promise is one item of docs/guarantees.md:
//
//   - **M1.** What is promised.
//     Tests: `TestOfPackageMvcc`, `epoch.TestOfPackageEpoch`.
//
// A section may name another package for tests without a folder. A `*` stands for several tests
// whose names begin so.
type promise struct {
	id    string
	tests []string // folder.name
}

var (
	promiseID   = regexp.MustCompile(`^- \*\*(M\d+)\.\*\* \S`)
	testsHere   = regexp.MustCompile("^Tests here are of `([a-z/]+)`")
	boldID      = regexp.MustCompile(`\*\*M\d*\b`)
	quoted      = regexp.MustCompile("`([^`]*)`")
	testPattern = regexp.MustCompile(`^(?:([a-z/]+)\.)?((?:Test|Fuzz)[A-Z]\w*\*?)$`)
)

// promisesIn finds the promises. No two have one number, and each must end with its tests.
func promisesIn(text string) (promises []promise, err error) {
	var errs []error
	seen, folder := map[string]bool{}, "mvcc"
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "## ") {
			folder = "mvcc"
		} else if m := testsHere.FindStringSubmatch(lines[i]); m != nil {
			folder = m[1]
		}
		match := promiseID.FindStringSubmatch(lines[i])
		if match == nil {
			if boldID.MatchString(lines[i]) {
				fail("line %d looks like a promise, and is none: %s", i+1, lines[i])
			}
			continue
		}
		p := promise{id: match[1]}
		if seen[p.id] {
			fail("line %d: there is a promise %s already", i+1, p.id)
		}
		seen[p.id] = true
		item := lines[i]
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
			i++
			item += " " + strings.TrimSpace(lines[i])
		}
		said, tests, ok := strings.Cut(item, " Tests: ")
		if !ok || !strings.HasSuffix(strings.TrimSpace(said), ".") && !strings.HasSuffix(said, ")") {
			fail("%s: want a sentence, and then its tests", p.id)
		}
		for _, name := range quoted.FindAllStringSubmatch(tests, -1) {
			m := testPattern.FindStringSubmatch(name[1])
			if m == nil {
				fail("%s: %s is no name of a test", p.id, name[0])
				continue
			}
			if m[1] == "" {
				m[1] = folder
			}
			p.tests = append(p.tests, m[1]+"."+m[2])
		}
		if ok && len(p.tests) == 0 {
			fail("%s names no test", p.id)
		}
		promises = append(promises, p)
	}
	return promises, errors.Join(errs...)
}

// testsOf returns the tests and fuzz targets of every folder below the root, as
// folder.name, with whatever build tags.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	have, tree := map[string]bool{}, os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name != "TestMain" &&
				len(f.Type.Params.List) == 1 {
				have[path.Dir(file)+"."+f.Name.Name] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	return have
}
