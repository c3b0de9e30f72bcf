package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A mutated is the work tree with one fault in it.
type mutated struct {
	files   map[string][]byte // those that differ, by path
	places  []*declaration    // those that are edited
	renamed []string          // names of the tree for names of the mutant
}

// A splice is one change of the text of a file.
type splice struct {
	from, to int
	text     string
}

// apply returns the tree with m in it. The error says how m may be mended.
func (t *workTree) apply(m *mutant) (*mutated, error) {
	result := &mutated{files: map[string][]byte{}}
	splices := map[*sourceFile][]splice{}
	for i := range m.edits {
		e := &m.edits[i]
		pkg, name := e.split()
		folder, err := t.folder(pkg)
		if err != nil {
			return nil, err
		}
		p, err := t.loadPackage(folder, m.test.tags)
		if err != nil {
			return nil, err
		}
		if name == "" {
			if err := e.addFile(p, result); err != nil {
				return nil, err
			}
			continue
		}
		f, err := t.fitEdit(p, name, e)
		if err != nil {
			return nil, err
		}
		result.places = append(result.places, f.in)
		result.renamed = append(result.renamed, f.renamed()...)
		splices[f.in.file] = append(splices[f.in.file], f.splices(e)...)
	}
	for file, list := range splices {
		text, err := file.splice(list)
		if err != nil {
			return nil, err
		}
		result.files[file.path] = text
	}
	return result, nil
}

// addedName is the name of a file that a mutant adds.
const addedName = "mutant.go"

// addFile adds a file that has the lines of e to those of p.
func (e *edit) addFile(p *goPackage, to *mutated) error {
	text := []byte("package " + p.files[0].tree.Name.Name + "\n")
	for _, line := range e.lines {
		if line.mark != '+' {
			return fmt.Errorf("in: %s names no declaration, but has old code: %q", e.target, line.text)
		}
		text = append(text, line.text+"\n"...)
	}
	name := path.Join(p.folder, addedName)
	if to.files[name] != nil {
		return fmt.Errorf("in: %s stands twice, and adds one file", e.target)
	}
	_, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("the added file cannot be parsed: %w", err)
	}
	to.files[name] = text
	return nil
}

// A fitting is the place of an edit.
type fitting struct {
	found
	old pattern
	in  *declaration
}

// fitEdit returns the place of e in the declaration of p called name.
func (t *workTree) fitEdit(p *goPackage, name string, e *edit) (*fitting, error) {
	old, err := patternOf(e)
	if err != nil {
		return nil, err
	}
	decls := p.findDecls(name)
	if len(decls) == 0 {
		return nil, t.missing(p, name, old)
	}
	var all []*fitting
	for _, renamed := range []bool{false, true} {
		for _, d := range decls {
			for _, f := range d.matches(p, old, renamed) {
				all = append(all, &fitting{f, old, d})
			}
		}
		if len(all) > 0 {
			break
		}
	}
	switch len(all) {
	case 0:
		return nil, &misfit{"no such code", decls[0], old.nearest(decls[0].toks)}
	case 1:
		return all[0], nil
	}
	reason := fmt.Sprintf("%d times such code", len(all))
	if len(all[0].renamed()) > 0 {
		reason += ", with other names,"
	}
	return nil, &misfit{reason, all[1].in, all[1].at[0]}
}

// matches returns the places of old in d. If renamed is set, a name that d has no more may stand
// for a local one of d, and a name that p has no more for any other.
func (d *declaration) matches(p *goPackage, old pattern, renamed bool) []found {
	if !renamed {
		return old.matches(d.toks, func(_, _ *tok) bool { return false })
	}
	here := namesOf(d.toks)
	return old.matches(d.toks, func(was, is *tok) bool {
		if is.dotted || p.own[is.text] {
			return !p.names[was.nameKey()]
		}
		return !here[was.nameKey()] && types.Universe.Lookup(is.text) == nil
	})
}

// splices returns the changes of the file that e makes at f.
func (f *fitting) splices(e *edit) (list []splice) {
	spans, toks := f.spans(e), f.in.toks
	for i := 0; i < len(e.lines); i++ {
		if e.lines[i].mark == ' ' {
			continue
		}
		var added []string
		gone := span{-1, -1}
		behind := i - 1
		for ; i < len(e.lines) && e.lines[i].mark != ' '; i++ {
			if e.lines[i].mark == '+' {
				added = append(added, e.lines[i].text)
				continue
			}
			if gone.first < 0 {
				gone.first = spans[i].first
			}
			gone.last = max(gone.last, spans[i].last)
		}
		text := f.names.rename(strings.Join(added, "\n"))
		switch {
		case gone.first >= 0:
			list = append(list, splice{toks[gone.first].pos, toks[gone.last].end, text})
		case behind >= 0 && e.lines[behind].text != skipped:
			list = append(list, insertBehind(toks, spans[behind].last, text))
		default:
			list = append(list, insertBefore(toks, spans[i].first, text))
		}
	}
	return list
}

// A span is some of the tokens of a declaration; -1 and -1 if it is empty.
type span struct{ first, last int }

// spans returns for each line of e the tokens for which it stands.
func (f *fitting) spans(e *edit) []span {
	spans := slices.Repeat([]span{{-1, -1}}, len(e.lines))
	k := 0
	for g, group := range f.old {
		if gap := group[0].line - 1; g > 0 && f.at[k-1]+1 < f.at[k] {
			for e.lines[gap].text != skipped {
				gap--
			}
			spans[gap] = span{f.at[k-1] + 1, f.at[k] - 1}
		}
		for _, t := range group {
			s := &spans[t.line]
			if s.first < 0 {
				s.first = f.at[k]
			}
			s.last = f.at[k]
			k++
		}
	}
	return spans
}

// insertBehind inserts text behind toks[last]: as a statement of its own where one ends.
func insertBehind(toks []tok, last int, text string) splice {
	behind := &toks[last]
	ends := behind.ends || last+1 == len(toks) || toks[last+1].kind == token.RBRACE
	switch {
	case ends && !continues(text):
		text = "\n" + text
	case behind.kind == token.LBRACE || behind.kind == token.COLON:
		text += "\n"
	}
	return splice{behind.end, behind.end, " " + text + " "}
}

// continues reports whether text begins amid an expression.
func continues(text string) bool {
	toks, _ := tokenize([]byte(text))
	if len(toks) == 0 {
		return false
	}
	switch kind := toks[0].kind; kind {
	case token.MUL, token.ARROW, token.LPAREN, token.LBRACE, token.LBRACK, token.RBRACE:
		return false
	default:
		return kind.IsOperator()
	}
}

// insertBefore inserts text before toks[first].
func insertBefore(toks []tok, first int, text string) splice {
	return splice{toks[first].pos, toks[first].pos, text + "\n"}
}

// rename returns text with the names of the source for those of the pattern.
func (n names) rename(text string) string {
	toks, _ := tokenize([]byte(text))
	for _, t := range slices.Backward(toks) {
		if is, known := n[t.nameKey()]; known && t.kind == token.IDENT {
			text = text[:t.pos] + strings.TrimPrefix(is, ".") + text[t.end:]
		}
	}
	return text
}

// splice returns the text of f with all changes made.
func (f *sourceFile) splice(list []splice) ([]byte, error) {
	slices.SortStableFunc(list, func(a, b splice) int { return cmp.Compare(a.from, b.from) })
	var b bytes.Buffer
	at := 0
	for _, s := range list {
		if s.from < at {
			return nil, fmt.Errorf("two edits of %s overlap", f.path)
		}
		b.Write(f.text[at:s.from])
		b.WriteString(s.text)
		at = s.to
	}
	b.Write(f.text[at:])
	return f.blankImports(b.Bytes())
}

// blankImports makes the imports of f that text does not use any more blank ones.
func (f *sourceFile) blankImports(text []byte) ([]byte, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), f.path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("the edited file cannot be parsed: %w", err)
	}
	before, now := qualifiers(f.tree), qualifiers(tree)
	for _, spec := range slices.Backward(tree.Imports) {
		quoted := strings.Trim(spec.Path.Value, "\"")
		name := path.Base(version.ReplaceAllString(quoted, ""))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if before[name] && !now[name] {
			from, to := int(spec.Pos()-tree.FileStart), int(spec.Path.Pos()-tree.FileStart)
			text = slices.Concat(text[:from], []byte("_ "), text[to:])
		}
	}
	return text, nil
}

// version is the end of an import path that is not the name of the package.
var version = regexp.MustCompile(`/v\d+$`)

// qualifiers returns the names before a dot, those of packages among them.
func qualifiers(file *ast.File) map[string]bool {
	set := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				set[id.Name] = true
			}
		}
		return true
	})
	return set
}
