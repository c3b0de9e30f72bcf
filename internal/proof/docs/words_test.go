package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Words with one meaning each, see the glossary in docs/architecture.md: the earlier words of the
// house, where they might come back.
var oldWords = []struct {
	files, word, say string
}{
	{"internal/engine/index/*.go", `\b[sS]lots?\b`,
		"cell: a slot is where a transaction publishes its epoch"},
	{"internal/engine/tree/*.go", `\b[sS]lots?\b`, "cell: a slot is where a transaction publishes its epoch"},
	{"internal/debug/hooks/points.go", `slots? of|fill a slot|a slot (has|is)`, "cell"},
	{"mvcc/wheel.go", `\b[sS]lots?\b`, "list"},
	{"mvcc/alarm*.go", `[wW]atch(er|ing|es)`, "alarm, alarmed: a watch is what follows commits"},
	{"docs/protocol.md", `[wW]atcher|\*watch\*|watch was|moved slot|marks? (before|after) the draw`,
		"alarm, raise: a watch is what follows commits"},
	{"internal/engine/index/*.go", `\bbucketSlots\b|\btype slot\b`, "cell"},
	{"internal/engine/index/*.go", `\btype table struct|\*table\b|\bnewTable\(`,
		"hashTable: a table is one of a database"},
	{"mvcc/*.go", `\btype watch(es)? struct|\*watch\b|\bendWatch\b|\bdecideWatched\b`,
		"alarm: a watch is what follows commits"},
	{"mvcc/*.go", `func \(st \*txState\) order\(`, "sortWrites: an order is that of keys"},
	{"mvcc/*.go", `func \(m \*core\) settle\(`,
		"DecidedBase: a slot's record is settled"},
	{"internal/engine/chain/*.go", `func \(w Word\) ([dD]ecided|[sS]lot)\(|\) [sS]ettle\(`,
		"Drawn, recordNumber, PutOutcome: a slot's record is settled"},
	{"mvcc/*.go", `func \(m \*core\) (push|installed|mark)\(`, "putOnTop, tidyKey, tell"},
	{"internal/engine/favour/*.go", `[tT]enure`, "grantTime, the time of a grant"},
	{"internal/debug/stage/*.go", `\b[cC]rews?\b`, "workers"},
	{"mvcc/*.go", riddle, "a reader that, a caller that"},
	{"internal/*/*.go", riddle, "a reader that, a caller that"},
	{"internal/*/*/*.go", riddle, "a reader that, a caller that"},
	{"durable/*.go", riddle, "a reader that, a caller that"},
	{"cmd/mvccdump/internal/dump/*.go", riddle, "a reader that, a caller that"},
	{"docs/*.md", riddle, "a reader that, a caller that"},
	{"mvcc/*.go", `\btype (part|root|leader|none|keeper) interface`, "one transaction over tables"},
}

// A riddle is a sentence about somebody whom it does not name.
const riddle = `\b[sS]o who\b|\band (so does )?who (has|gives|reads|writes)\b|` +
	`(//|\.) Who(ever)? (has|is too|reads|writes|takes|calls|comes|asks|commits|uses)\b`

// Files do not say an old word where a new one has its meaning.
func TestOldWords(t *testing.T) {
	for _, old := range oldWords {
		files, err := filepath.Glob(filepath.Join(root, old.files))
		require.NoError(t, err)
		require.NotEmpty(t, files, old.files)
		word := regexp.MustCompile(old.word)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, at := range word.FindAllIndex(text, -1) {
				line := 1 + len(regexp.MustCompile(`\n`).FindAllIndex(text[:at[0]], -1))
				t.Errorf("%s:%d: %q: say %s", file, line, text[at[0]:at[1]], old.say)
			}
		}
	}
}

// shortest are the packages with more short names than [TestNouns] allows, and how many. A number
// may only fall.
var shortest = map[string]int{
	"internal/seam/backupfile":  9,
	"profiling/browsertest":     12,
	"profiling/internal/flight": 20,
	"profiling/internal/losses": 12,
	"profiling/internal/web":    9,
}

// standardNames may be short, since programmers know them. Case makes no difference.
const standardNames = " add all close copy do err find get has hash help html id init json key keys " +
	"kind len less load lock main max mean min name new next open pop push put read run save scan " +
	"set size stop sub sum swap sync url view wait zero "

// Comments say things by nouns: of 1,000 words of a package at most 3 are "what", or 2 of less than
// 500. Functions and types can be searched for: at most a fifth of a package's, or 4 of less than
// 20, have names of four letters or fewer that are not standard.
func TestNouns(t *testing.T) {
	words := regexp.MustCompile(`[A-Za-z']+`)
	for folder, files := range goFiles(t) {
		said, whats, names := 0, 0, 0
		var short []string
		declared := func(name string) {
			names++
			if len(name) <= 4 && !strings.Contains(standardNames, " "+strings.ToLower(name)+" ") {
				short = append(short, name)
			}
		}
		for _, file := range files {
			for _, comment := range file.Comments {
				for _, word := range words.FindAllString(comment.Text(), -1) {
					said++
					if strings.EqualFold(word, "what") {
						whats++
					}
				}
			}
			for _, decl := range file.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					declared(decl.Name.Name)
				case *ast.GenDecl:
					for _, spec := range decl.Specs {
						if spec, ok := spec.(*ast.TypeSpec); ok {
							declared(spec.Name.Name)
						}
					}
				}
			}
		}
		if most := max(2, 3*said/1000); whats > most {
			t.Errorf(`%s: %d "what" in comments, at most %d are allowed: say nouns`, folder, whats, most)
		}
		most := max(4, names/5)
		switch ceiling, listed := shortest[folder]; {
		case len(short) <= most && listed:
			t.Errorf("%s: %d short names, as is allowed: take its row away", folder, len(short))
		case len(short) > max(most, ceiling):
			t.Errorf("%s: %d short names, for which nobody can search, at most %d are allowed: %s",
				folder, len(short), max(most, ceiling), strings.Join(short, " "))
		}
	}
}

// goFiles returns all files of Go, by folder, those of modules within this one among them.
func goFiles(t *testing.T) map[string][]*ast.File {
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	tree := os.DirFS(root)
	require.NoError(t, fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || len(name) > 1 && name[0] == '.'):
			return fs.SkipDir
		case filepath.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		folder := filepath.Dir(path)
		packages[folder] = append(packages[folder], file)
		return err
	}))
	return packages
}
