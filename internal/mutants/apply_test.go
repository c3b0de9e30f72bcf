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
	"example.com/errors/v2"
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
		{"code that stays", "in: code.box.add\n  if n > most || b.full(n, most) {\n" +
			"- return errors.New(\"full\")\n  }",
			"\t\treturn errors.New(\"full\")", "\t\t"},
		{"a statement behind another", "in: code.box.add\n  b.held += n\n+ n = 0",
			"b.held += n", "b.held += n \nn = 0 "},
		{"behind one of several in a line", "in: code.box.reset\n  b.held = 0\n+ b.held++",
			"b.held = 0;", "b.held = 0 \nb.held++ ;"},
		{"behind the last of a line", "in: code.box.reset\n  b.add(1)\n+ b.held++",
			"b.add(1) }", "b.add(1) \nb.held++  }"},
		{"at the beginning of a block", "in: code.crate.reset\n  func (c *crate) reset() {\n+ c.n = 1",
			"reset() { c.held", "reset() { c.n = 1\n  c.held"},
		{"before a statement", "in: code.box.add\n+ n = 0\n  b.held += n",
			"b.held += n", "n = 0\nb.held += n"},
		{"more of an expression", "in: code.box.add\n  n > most\n+ || n < 0\n  ||",
			"n > most", "n > most || n < 0 "},
		{"code between", "in: code.box.add\n- n += m\n  ...\n- b.held += n\n+ b.held++",
			"n += m // each\n\t}\n\tif n > most || b.full(n,\n\t\tmost,\n\t) {\n" +
				"\t\treturn errors.New(\"full\")\n\t}\n\tb.held += n",
			" // each\n\t}\n\tif n > most || b.full(n,\n\t\tmost,\n\t) {\n" +
				"\t\treturn errors.New(\"full\")\n\t}\n\tb.held++"},
		{"code between that goes", "in: code.spread\n- for\n- ...\n- }",
			"for i := 0; i < len(list); i++ {\n\t\tsum += list[i]\n\t}", ""},
		{"names of local variables", "in: code.spread\n- s += all[j]\n+ s -= all[j]",
			"sum += list[i]", "sum -= list[i]"},
		{"other names", "in: code.box.full\n- b.number+n > most\n+ b.number > most",
			"b.held+n > most }", "b.held > most }"},
		{"a type that has another name", "in: code.chest.full\n- b.held+n\n+ 0",
			"b.held+n > most }", "0 > most }"},
		{"a constant", "in: code.most\n- const most = 10\n+ const most = 11", "= 10", "= 11"},
		{"a field", "in: code.box\n- held int\n+ held int8", "held int //", "held int8 //"},
		{"an import that is not used any more", "in: code.box.add\n- errors.New(\"full\")\n+ nil",
			"\"example.com/errors/v2\"", "_ \"example.com/errors/v2\""},
		{"two edits", "in: code.box.full\n- >\n+ <\nin: code.most\n- 10\n+ 9",
			"const most = 10", "const most = 9"},

		{"no such code", "in: code.box.full\n- b.held-n > most", "",
			"no such code in box.full; at code/code.go:31 is"},
		{"twice such code", "in: code.box.add\n- fmt.Println", "",
			"2 times such code in box.add; at code/code.go:27 is"},
		{"twice under another name", "in: code.box.add\n- print.Println", "",
			"2 times such code, with other names, in box.add"},
		{"one name for two", "in: code.spread\n- x += x[j]", "", "no such code"},
		{"a name that is still there", "in: code.spread\n- list += sum[i]", "", "no such code"},
		{"another declaration", "in: code.fill\n- n += m", "",
			"code has no fill, but code.box.add has the old code"},
		{"another package", "in: code.elsewhere\n- a", "",
			"code has no elsewhere, but other has elsewhere"},
		{"no package", "in: nowhere.F\n- a", "", "no folder with Go files is named nowhere"},
		{"nothing old", "in: code.box.add\n+ n++", "", "old code has to stand"},
		{"nothing old behind a gap", "in: code.box.add\n- n += m\n  ...", "", "old code has to stand"},
		{"a comment alone", "in: code.box.add\n+ n++\n  // each", "", "no code in the line"},
		{"old code of a package", "in: code\n- n", "", "names no declaration, but has old code"},
		{"no statement", "in: code.box.full\n- b.held+n\n+ (", "", "cannot be parsed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(root, "other"), 0o755))
			require.NoError(t, os.MkdirAll(filepath.Join(root, "code"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, "other/other.go"),
				[]byte("package other\n\nfunc elsewhere() {}\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(root, "code/code.go"), []byte(editedCode), 0o644))
			tree, err := openTree(root)
			require.NoError(t, err)
			mutants, err := parseMutants("f.txt", []byte("# a-b: x\nwhy: y\ntest: code X\n"+c.edit+"\n"))
			require.NoError(t, err)
			result, err := tree.apply(mutants[0])
			if c.was == "" {
				require.ErrorContains(t, err, c.is)
				return
			}
			require.NoError(t, err)
			require.Contains(t, editedCode, c.was)
			text := string(result.files["code/code.go"])
			require.Contains(t, text, c.is)
			if !strings.Contains(c.edit, "errors") && strings.Count(c.edit, "in:") == 1 {
				require.Equal(t, strings.Replace(editedCode, c.was, c.is, 1), text)
			}
		})
	}
}
