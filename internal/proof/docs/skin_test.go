package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Code with type parameters is compiled anew in each package that uses a map, see architecture.md.
// So it is thin: no function of it is so long that logic could hide there, and the steps of a
// transaction have none.
const (
	thinFunction = 40   // lines
	thinSkin     = 2200 // lines of all of them
)

// engineFiles have the code of a commit, a read, and the work in the background.
var engineFiles = []string{
	"mvcc/alarm.go", "mvcc/bid.go", "mvcc/commit.go", "mvcc/engine.go", "mvcc/expiry_sweep.go", "mvcc/hub.go",
	"mvcc/install.go", "mvcc/kept.go", "mvcc/member.go", "mvcc/moment.go", "mvcc/prune.go",
	"mvcc/shared.go", "mvcc/state.go", "mvcc/tx_loop.go", "mvcc/txn.go", "mvcc/validate.go", "mvcc/withdraw.go",
	"internal/engine/chain/*.go", "internal/engine/index/*.go", "internal/engine/tree/*.go", "internal/engine/favour/*.go",
}

// typedInEngine are the functions by which the skin puts keys and values in, takes them out, and finds
// the first bucket.
var typedInEngine = []string{"KeyOf", "VersionOf", "ValueOf", "Bare", "New", "Clone", "Present", "For", "Lookup"}

// parsed returns the Go files that match, but for tests.
func parsed(t *testing.T, files *token.FileSet, pattern string) (all []*ast.File) {
	names, err := filepath.Glob(filepath.Join("..", "..", "..", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, names, pattern)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		require.NoError(t, err)
		all = append(all, f)
	}
	return all
}

// isGeneric reports whether a function has type parameters, its own or those of its receiver.
func isGeneric(f *ast.FuncDecl) bool {
	if f.Type.TypeParams != nil {
		return true
	}
	_, typed := receiver(f)
	return typed
}

// receiver returns the name of the type that f is a method of, and whether that has parameters.
func receiver(f *ast.FuncDecl) (name string, typed bool) {
	if f.Recv == nil {
		return "", false
	}
	of := f.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of, typed = x.X, true
		case *ast.IndexListExpr:
			of, typed = x.X, true
		default:
			return x.(*ast.Ident).Name, typed
		}
	}
}

func TestSkinIsThin(t *testing.T) {
	files := token.NewFileSet()
	all := 0
	for _, file := range parsed(t, files, "mvcc/*.go") {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && isGeneric(f) {
				at := files.Position(f.Pos())
				lines := files.Position(f.End()).Line - at.Line + 1
				all += lines
				assert.LessOrEqual(t, lines, thinFunction,
					"%s: %s is compiled in each package that uses a map: move what needs no types", at, f.Name)
			}
		}
	}
	assert.LessOrEqual(t, all, thinSkin, "lines of functions with type parameters in package mvcc")
	assert.Greater(t, all, thinSkin/2, "the test does not see them")
	for _, pattern := range engineFiles {
		for _, file := range parsed(t, files, pattern) {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && !slices.Contains(typedInEngine, f.Name.Name) {
					assert.False(t, isGeneric(f), "%s: %s of the engine has type parameters",
						files.Position(f.Pos()), f.Name)
				}
			}
		}
	}
}
