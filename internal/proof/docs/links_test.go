package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?s)```.*?```")
)

// Links of the pages to files and headings of the repository lead to something.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		pages = append(pages, more...)
	}
	links := 0
	for _, page := range pages {
		for _, match := range link.FindAllStringSubmatch(text(t, page), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(match[1], "#")
			file := filepath.Join(filepath.Dir(page), path)
			if path == "" {
				file = page
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s: no such file", filepath.Base(page), match[1])
			} else if anchor != "" && !strings.Contains(anchors(text(t, file)), " "+anchor+" ") {
				t.Errorf("%s: %s: no such heading", filepath.Base(page), match[1])
			}
		}
	}
	require.Greater(t, links, 100, "links are not found any more")
}

// anchors returns the link targets of the headings of a page, with a space before and after each.
func anchors(page string) string {
	all := " "
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		words := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(match[1]))
		all += words + " "
	}
	return all
}

// text returns the contents of a file, without code.
func text(t *testing.T, file string) string {
	t.Helper()
	all, err := os.ReadFile(file)
	require.NoError(t, err)
	return fenced.ReplaceAllString(string(all), "")
}

// command is a command that runs benchmarks, as a page has it: where, which, and the rest of
// the line.
var command = regexp.MustCompile("go (?:-C (\\S+) )?test [^`\n]*-bench '?([\\w|]+)([^`\n]*)")

// Benchmarks that a page says to run are there.
func TestBenchmarksAreThere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	require.NoError(t, err)
	found := 0
	for _, page := range pages {
		for _, match := range command.FindAllStringSubmatch(text(t, page), -1) {
			folder, code := "", ""
			for _, word := range strings.Fields(match[3]) {
				if strings.HasPrefix(word, ".") {
					folder = filepath.Join(match[1], word)
				}
			}
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
			require.NoError(t, err)
			for _, file := range files {
				code += text(t, file)
			}
			for name := range strings.SplitSeq(match[2], "|") {
				found++
				if !strings.Contains(code, "\nfunc Benchmark"+name) {
					t.Errorf("%s: %s: no such benchmark in %s", filepath.Base(page), match[0], folder)
				}
			}
		}
	}
	require.Greater(t, found, 10, "commands are not found any more")
}
