package docs

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sizeRow is a row of docs/size.md: folders, or a sort of thing, and one or two ceilings.
var sizeRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9,]+) \|(?: ([0-9,]+) \|)?$`)

// TestSize holds the ceilings of docs/size.md: nothing is larger than its ceiling, and no ceiling
// stands higher than a twentieth above the thing, so that each deletion lowers it.
func TestSize(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/size.md"))
	require.NoError(t, err)
	folders, things, found := strings.Cut(string(page), "## Other things")
	require.True(t, found)
	code, tests := linesOfGo(t, folders)
	for _, row := range sizeRow.FindAllStringSubmatch(folders, -1) {
		checkCeiling(t, row[1]+" without tests", code[row[1]], row[2])
		checkCeiling(t, row[1]+" tests", tests[row[1]], row[3])
		delete(code, row[1])
		delete(tests, row[1])
	}
	require.Empty(t, code, "folders without a row")
	require.Empty(t, tests, "folders without a row")

	sizes := map[string]int{
		"lines of pages (Markdown)":     linesOfPages(t),
		"words of `go doc -all ./mvcc`": len(bytes.Fields(goDoc(t))),
	}
	rows := sizeRow.FindAllStringSubmatch(things, -1)
	require.Len(t, rows, len(sizes))
	for _, row := range rows {
		require.Contains(t, sizes, row[1])
		checkCeiling(t, row[1], sizes[row[1]], row[2])
	}
}

func checkCeiling(t *testing.T, name string, size int, text string) {
	ceiling, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	require.NoError(t, err)
	switch slack := max(100, ceiling/20); {
	case size > ceiling:
		t.Errorf("%s: %d, above the ceiling of %d", name, size, ceiling)
	case size < ceiling-slack:
		t.Errorf("%s: %d, so lower the ceiling of %d", name, size, ceiling)
	}
}

// linesOfGo counts the lines of Go of each row of the page, without tests and of tests. A file
// counts for the row with the longest folder that holds it.
func linesOfGo(t *testing.T, page string) (code, tests map[string]int) {
	row := map[string]string{}
	for _, r := range sizeRow.FindAllStringSubmatch(page, -1) {
		for folder := range strings.SplitSeq(strings.Trim(r[1], "`"), "`, `") {
			require.DirExists(t, filepath.Join(root, folder))
			row[folder] = r[1]
		}
	}
	code, tests = map[string]int{}, map[string]int{}
	eachFile(t, ".go", func(path string, lines int) {
		folder := filepath.Dir(path)
		for row[folder] == "" && folder != "." {
			folder = filepath.Dir(folder)
		}
		if strings.HasSuffix(path, "_test.go") {
			tests[row[folder]] += lines
		} else {
			code[row[folder]] += lines
		}
	})
	return code, tests
}

func linesOfPages(t *testing.T) (n int) {
	eachFile(t, ".md", func(_ string, lines int) { n += lines })
	return n
}

// eachFile gives the files of the repository with an extension, by paths from its root.
func eachFile(t *testing.T, extension string, give func(path string, lines int)) {
	top := filepath.FromSlash(root)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != extension {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		give(filepath.ToSlash(rel), bytes.Count(text, []byte("\n")))
		return err
	})
	require.NoError(t, err)
}

func goDoc(t *testing.T) []byte {
	doc := exec.Command("go", "doc", "-all", "./mvcc")
	doc.Dir = filepath.FromSlash(root)
	out, err := doc.Output()
	require.NoError(t, err)
	return out
}
