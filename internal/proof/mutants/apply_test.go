package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const editedCode = `package code

import (
	"fmt"
	"example.com/errors"
)

type box[K comparable] struct {
	held int // how many
	key  K
}

const most = 10

// add adds.
func (b *box[K]) add(n int, more ...int) error {
	for _, m := range more {
		n += m // each
	}
	if n > most || b.full(n,
		most,
	) {
		return errors.New("full")
	}
	b.held += n
	fmt.Println(b.held)
	fmt.Println(n)
	return nil
}

func (b *box[K]) full(n, most int) bool { return b.held+n > most }

func (b *box[K]) reset() { b.held = 0; b.add(1) }

func (c *crate) reset() { c.held = 0 }

func spread(list []int) (sum int) {
	for i := 0; i < len(list); i++ {
		sum += list[i]
	}
	return sum
}
`

// Each edit is of the code above; the result has the new code in the place of the old one.
func TestEdits(t *testing.T) {
	for _, c := range []struct{ name, edit, was, is string }{
		{"tokens of an expression", "in: code.box.full\n- > most\n+ >= most",
			"b.held+n > most }", "b.held+n >= most }"},
		{"laid out in another way", "in: code.box.add\n- b.full( n, most )\n+ false",
			"b.full(n,\n\t\tmost,\n\t)", "false"},
		{"names of local variables", "in: code.spread\n- s += all[j]\n+ s -= all[j]",
			"sum += list[i]", "sum -= list[i]"},
		{"other names", "in: code.box.full\n- b.number+n > most\n+ b.number > most",
			"b.held+n > most }", "b.held > most }"},
		{"a type that has another name", "in: code.chest.full\n- b.held+n\n+ 0",
			"b.held+n > most }", "0 > most }"},
		{"an import that is not used any more", "in: code.box.add\n- errors.New(\"full\")\n+ nil",
			"\"example.com/errors\"", "_ \"example.com/errors\""},
		{"code that stays", "in: code.box.reset\n  b.held = 0\n+ b.held++\n  b.add(1)",
			"b.held = 0; b.add(1) }", "b.held = 0\nb.held++\nb.add(1) }"},
		{"code that goes", "in: code.box.add\n- b.held += n\n  fmt.Println(b.held)",
			"b.held += n\n\tfmt.Println(b.held)", "fmt.Println(b.held)"},
		{"two edits", "in: code.box.add\n- b.held += n\n+ b.held++\nin: code.box.add\n- n > most\n" +
			"+ n < most", "n > most", "n < most"},
		{"overlapping edits", "in: code.box.add\n- b.held += n\nin: code.box.add\n- held += n", "",
			"overlap"},

		{"no such code", "in: code.box.full\n- b.held-n > most", "",
			"0 times such code; code/code.go:31 is"},
		{"twice such code", "in: code.box.add\n- fmt.Println", "",
			"2 times such code; code/code.go:16 is"},
		{"twice under another name", "in: code.box.add\n- print.Println", "",
			"2 times such code"},
		{"one name for two", "in: code.spread\n- x += x[j]", "", "0 times such code"},
		{"a name that is still there", "in: code.spread\n- list += sum[i]", "", "0 times such code"},
		{"another declaration", "in: code.fill\n- n += m", "",
			"code has no function fill"},
		{"no package", "in: nowhere.F\n- a", "", "0 folders with Go files are named nowhere"},
		{"nothing old", "in: code.box.add\n+ n++", "", "has no old code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(root, "code"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, "code/code.go"), []byte(editedCode), 0o644))
			tree, err := openTree(root)
			require.NoError(t, err)
			mutants, err := parseMutants("f.txt", []byte("# a-b: x\nwhy: y\ntest: code X\n"+c.edit+"\n"))
			var result *mutated
			if err == nil {
				result, err = tree.apply(mutants[0])
			}
			if c.was == "" {
				require.ErrorContains(t, err, c.is)
				return
			}
			require.NoError(t, err)
			require.Contains(t, editedCode, c.was)
			text := result.files["code/code.go"]
			require.Contains(t, text, c.is)
			if !strings.Contains(c.edit, "errors") && strings.Count(c.edit, "in:") == 1 {
				require.Equal(t, strings.Replace(editedCode, c.was, c.is, 1), text)
			}
		})
	}
}
