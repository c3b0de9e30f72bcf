package docs

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachKindOfCallHasAnExample checks that examples of package mvcc show each call that the table
// "Which call" of README names, and that each of them prints something that is compared.
func TestEachKindOfCallHasAnExample(t *testing.T) {
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
		if example {
			examples += string(text)
			for _, e := range doc.Examples(file) {
				require.NotEmpty(t, e.Output, "Example%s prints nothing that is compared", e.Name)
			}
		} else {
			files = append(files, file)
		}
	}
	p, err := doc.NewFromFiles(fset, files, "mvcc")
	require.NoError(t, err)
	isCall := map[string]bool{}
	funcs := p.Funcs
	for _, typ := range p.Types {
		funcs = append(append(funcs, typ.Funcs...), typ.Methods...)
	}
	for _, f := range funcs {
		isCall[f.Name] = true
	}

	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(readme), "\n## Which call\n")
	table, _, _ = strings.Cut(table, "\n## ")
	quoted, last := regexp.MustCompile("`[^`]*`"), regexp.MustCompile(`\w+$`)
	shown := 0
	for row := range strings.Lines(table) {
		columns := strings.Split(row, "|")
		if len(columns) < 4 {
			continue
		}
		for _, text := range quoted.FindAllString(columns[2], -1) {
			name := last.FindString(strings.Trim(text, "`"))
			if isCall[name] {
				require.Regexp(t, `\.`+name+`[([]`, examples, "no example shows %s, of the row:\n%s", name, row)
				shown++
			}
		}
	}
	require.Greater(t, shown, 40, "the table is not found any more")
}
