package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Words with one meaning each, see the glossary in docs/architecture.md: the earlier words of the
// house, where they might come back.
var oldWords = []struct {
	files, word, say string
}{
	{"internal/index/*.go", `\b[sS]lots?\b`,
		"cell: a slot is where a transaction publishes its epoch"},
	{"internal/tree/*.go", `\b[sS]lots?\b`, "cell: a slot is where a transaction publishes its epoch"},
	{"internal/hooks/points.go", `slots? of|fill a slot|a slot (has|is)`, "cell"},
	{"mvcc/wheel.go", `\b[sS]lots?\b`, "list"},
	{"mvcc/alarm*.go", `[wW]atch(er|ing|es)`, "alarm, alarmed: a watch is what follows commits"},
	{"docs/protocol.md", `[wW]atcher|\*watch\*|watch was|moved slot|marks? (before|after) the draw`,
		"alarm, raise: a watch is what follows commits"},
	{"internal/index/*.go", `\bbucketSlots\b|\btype slot\b`, "cell"},
	{"internal/index/*.go", `\btype table struct|\*table\b|\bnewTable\(`,
		"hashTable: a table is one of a database"},
	{"mvcc/*.go", `\btype watch(es)? struct|\*watch\b|\bendWatch\b|\bdecideWatched\b`,
		"alarm: a watch is what follows commits"},
	{"mvcc/*.go", `func \(st \*txState\) order\(`, "sortWrites: an order is that of keys"},
	{"mvcc/*.go", `func \(m \*core\) settle\(`,
		"DecidedBase: a slot's record is settled"},
	{"internal/chain/*.go", `func \(w Word\) ([dD]ecided|[sS]lot)\(|\) [sS]ettle\(`,
		"Drawn, recordNumber, PutOutcome: a slot's record is settled"},
	{"mvcc/*.go", `func \(m \*core\) (push|installed|mark)\(`, "putOnTop, tidyKey, tell"},
	{"mvcc/*.go", riddle, "a reader that, a caller that"},
	{"internal/*/*.go", riddle, "a reader that, a caller that"},
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
