package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWatchLoopsLookAtTheError checks that every loop over a Watch, in examples, programs and tests
// alike, takes its error: one that does not takes a gap for the end.
func TestWatchLoopsLookAtTheError(t *testing.T) {
	loops := 0
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			watches, blind := watchLoops(decl)
			loops += watches
			for _, loop := range blind {
				assert.Fail(t, "a loop over a Watch does not take the error", fset.Position(loop.Pos()))
			}
		}
		return nil
	}))
	require.Greater(t, loops, 8)
}

// watchLoops counts the loops over watches in a declaration, and returns those that have no
// variable for the error.
func watchLoops(decl ast.Decl) (n int, blind []*ast.RangeStmt) {
	watches := map[string]bool{} // variables
	ast.Inspect(decl, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			if name, ok := node.Lhs[0].(*ast.Ident); ok && isWatch(node.Rhs[0]) {
				watches[name.Name] = true
			}
		case *ast.RangeStmt:
			name, ok := node.X.(*ast.Ident)
			if !isWatch(node.X) && !(ok && watches[name.Name]) {
				break
			}
			n++
			if name, ok := node.Value.(*ast.Ident); !ok || name.Name == "_" {
				blind = append(blind, node)
			}
		}
		return true
	})
	return n, blind
}

// isWatch reports whether x is a call of a method Watch.
func isWatch(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Watch"
}
