package docs

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryNameHasAnExample checks that every exported function, type and method of package
// mvcc has a runnable example where go doc shows it, and that every constant and error is
// shown in one.
func TestEveryNameHasAnExample(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(root, "mvcc/*.go"))
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	examples := ""
	for _, name := range names {
		example := strings.HasPrefix(filepath.Base(name), "example_")
		if strings.HasSuffix(name, "_test.go") && !example {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
		if example {
			examples += string(text)
		}
	}
	p, err := doc.NewFromFiles(fset, files, "mvcc")
	require.NoError(t, err)

	require.NotEmpty(t, p.Types)
	values := append(p.Consts, p.Vars...)
	funcs := p.Funcs
	for _, typ := range p.Types {
		runnable(t, typ.Name, typ.Examples)
		funcs = append(append(funcs, typ.Funcs...), typ.Methods...)
		values = append(append(values, typ.Consts...), typ.Vars...)
	}
	for _, f := range funcs {
		runnable(t, strings.TrimPrefix(f.Recv+"."+f.Name, "."), f.Examples)
	}
	for _, v := range values {
		for _, name := range v.Names {
			if !strings.HasPrefix(name, "Default") && token.IsExported(name) {
				require.True(t, strings.Contains(examples, "mvcc."+name), "no example shows mvcc.%s", name)
			}
		}
	}
}

// runnable checks that one of the examples of a name prints something that is compared.
func runnable(t *testing.T, name string, examples []*doc.Example) {
	t.Helper()
	for _, e := range examples {
		if e.Output != "" {
			return
		}
	}
	t.Errorf("mvcc.%s has no runnable example", name)
}
