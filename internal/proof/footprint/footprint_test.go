// Package footprint holds the cost of compiling a program that uses maps: how many functions the
// compiler makes in the program's own package, each time that it is built; and the compiler's
// messages about a program with mistakes.
package footprint

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/mvccmap/mvccmap/mvcc" // or the go command would take an old result for that of another mvcc
)

// functions returns how many functions the package of a program has when it is compiled.
func functions(t *testing.T, program string) int {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-gcflags=-dwarf=false", "-f", "{{.Export}}", "./testdata/"+program)
	archive, err := list.Output()
	require.NoError(t, err)
	symbols, err := exec.Command("go", "tool", "nm", strings.TrimSpace(string(archive))).Output()
	require.NoError(t, err)
	n := strings.Count(string(symbols), " T ")
	require.Positive(t, n, "no functions at all")
	return n
}

// The code compiled for each type of map, and for the first one, does not grow: code without a
// need to know the types of keys and values is compiled once, in package mvcc.
func TestFunctions(t *testing.T) {
	one, four, tables := functions(t, "one"), functions(t, "four"), functions(t, "tables")
	further := (four - one) / 3
	t.Logf("one map: %d functions; a further type: %d; two tables: %d", one, further, tables)
	require.LessOrEqual(t, one, mostOne)
	require.LessOrEqual(t, further, mostFurther)
	require.LessOrEqual(t, tables, mostOne+mostFurther, "a database costs more than its tables")
	require.Greater(t, four, one, "nothing is compiled for the further types")
}

// The most functions that one map, and a further type, may add to the package that uses them.
const (
	mostOne     = 525
	mostFurther = 430
)

// The compiler's messages name nothing that is not exported, whether as a type or as a suggestion.
func TestMistakes(t *testing.T) {
	const program = "./testdata/mistakes"
	out, err := exec.Command("go", "build", "-gcflags=-e", "-o", os.DevNull, program).CombinedOutput()
	require.Error(t, err)
	source, err := os.ReadFile(program + "/main.go")
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(source), "db.Begin(nil), db.Snapshot()\n")
	body, _, _ = strings.Cut(body, "\n}")
	lines := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^\S+main\.go:(\d+):`).FindAllStringSubmatch(string(out), -1) {
		lines[found[1]] = true
	}
	require.Len(t, lines, strings.Count(body, "\n")+1, "a message for each mistake:\n%s", out)
	hidden := regexp.MustCompile(`(?m)^.*(mvcc\.[a-z]|unexported|have [a-z]\w*\().*$`)
	require.Empty(t, hidden.FindAllString(string(out), -1))
}
