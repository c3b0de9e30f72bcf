package docs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/mvccmap/mvccmap/"

var (
	drawing = regexp.MustCompile("(?s)```mermaid\n(.*?)```")
	label   = regexp.MustCompile(`\["[^"]*"\]`)
)

// TestDrawing checks the packages and arrows of docs/architecture.md: each arrow is an import, and
// each import between packages that are drawn is an arrow, or several one after the other.
func TestDrawing(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	require.NoError(t, err)
	drawn := arrows(string(drawing.FindSubmatch(page)[1]))
	require.Greater(t, len(drawn), 10, "the drawing is not found any more")
	imported := imports(t, drawn)
	for from, all := range drawn {
		for to := range all {
			if !imported[from][to] {
				t.Errorf("%s --> %s is drawn, and is no import", from, to)
			}
		}
	}
	for from, all := range imported {
		for to := range all {
			if from != to && !leads(drawn, from, to) {
				t.Errorf("%s imports %s, and no arrow says so", from, to)
			}
		}
	}
}

// A graph has for each package those that its arrows lead to.
type graph map[string]map[string]bool

func (g graph) add(from string) map[string]bool {
	if g[from] == nil {
		g[from] = map[string]bool{}
	}
	return g[from]
}

// arrows reads lines of "a & b --> c & d --> e", with labels behind names.
func arrows(text string) graph {
	g := graph{}
	for line := range strings.Lines(label.ReplaceAllString(text, "")) {
		var before []string
		for i, side := range strings.Split(line, "-->") {
			after := strings.Split(side, "&")
			for j := range after {
				after[j] = strings.TrimSpace(after[j])
			}
			for _, from := range before {
				for _, to := range after {
					g.add(from)[to] = true
					g.add(to)
				}
			}
			if before = after; i == 0 && !strings.Contains(line, "-->") {
				break
			}
		}
	}
	return g
}

// imports returns the imports of the drawn packages among each other. A package that is not
// drawn counts as the one above it that is.
func imports(t *testing.T, drawn graph) graph {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	names := slices.SortedFunc(maps.Keys(drawn), func(a, b string) int { return len(b) - len(a) })
	node := func(path string) string {
		path = strings.TrimPrefix(path, module)
		i := slices.IndexFunc(names, func(name string) bool {
			return path == name || strings.HasPrefix(path, name+"/")
		})
		if i < 0 {
			return ""
		}
		return names[i]
	}
	g := graph{}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		from := node(paths[0])
		for _, path := range paths[1:] {
			if to := node(path); strings.HasPrefix(path, module) && from != "" && to != "" {
				g.add(from)[to] = true
			}
		}
	}
	return g
}

// leads reports whether arrows lead from one package to the other.
func leads(g graph, from, to string) bool {
	for next := range g[from] {
		if next == to || leads(g, next, to) {
			return true
		}
	}
	return false
}
