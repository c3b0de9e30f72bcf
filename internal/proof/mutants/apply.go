package main

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A mutated is the work tree with one fault in it.
type mutated struct {
	files  map[string]string // those that differ, by path
	places []*function       // those that are edited
}

// A splice is one change of the text of a file.
type splice struct {
	from, to int
	text     string
}

// apply returns the tree with m in it. The error says how m may be mended.
func (t *workTree) apply(m *mutant) (*mutated, error) {
	result := &mutated{files: map[string]string{}}
	splices := map[*sourceFile][]splice{}
	for i := range m.edits {
		f, s, err := t.fitEdit(&m.edits[i], m.test.tags)
		if err != nil {
			return nil, err
		}
		result.places = append(result.places, f)
		splices[f.file] = append(splices[f.file], s)
	}
	for file, list := range splices {
		slices.SortFunc(list, func(a, b splice) int { return cmp.Compare(b.from, a.from) })
		text, end := file.text, len(file.text)
		for _, s := range list {
			if s.to > end {
				return nil, fmt.Errorf("two edits of %s overlap", file.path)
			}
			text, end = text[:s.from]+s.text+text[s.to:], s.from
		}
		result.files[file.path] = file.blankImports(text)
	}
	return result, nil
}

// fitEdit returns the function that e edits, and the change of its file.
func (t *workTree) fitEdit(e *edit, tags string) (*function, splice, error) {
	pkg, name := e.split()
	folder, err := t.folder(pkg)
	if err != nil {
		return nil, splice{}, err
	}
	p, err := t.loadPackage(folder, tags)
	if err != nil {
		return nil, splice{}, err
	}
	old, err := tokenize(e.old)
	if err != nil || len(old) == 0 {
		return nil, splice{}, fmt.Errorf("the old code of %s has no tokens: %v", e.target, err)
	}
	functions := p.findFunctions(name)
	if len(functions) == 0 {
		return nil, splice{}, fmt.Errorf("%s has no function %s", folder, name)
	}
	for _, renamed := range []bool{false, true} {
		var in []*function
		var all []found
		for _, f := range functions {
			for _, place := range f.matches(old, renamed) {
				in, all = append(in, f), append(all, place)
			}
		}
		if len(all) == 1 {
			from, text := in[0].from, strings.TrimSuffix(all[0].names.rename(e.new), "\n")
			return in[0], splice{from + all[0].from, from + all[0].to, text}, nil
		}
		if len(all) > 1 || renamed {
			f := functions[0]
			return nil, splice{}, fmt.Errorf("%d times such code; %s:%d is\n%s",
				len(all), f.file.path, f.firstLine, f.file.text[f.from:f.to])
		}
	}
	panic("not reached")
}

// blankImports makes the imports of f that text does not use any more blank ones.
func (f *sourceFile) blankImports(text string) string {
	for _, spec := range slices.Backward(f.tree.Imports) {
		name := path.Base(strings.Trim(spec.Path.Value, `"`))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		used := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\.\w`)
		if used.MatchString(f.text) && !used.MatchString(text) {
			from, to := int(spec.Pos()-f.tree.FileStart), int(spec.Path.Pos()-f.tree.FileStart)
			text = text[:from] + "_ " + text[to:]
		}
	}
	return text
}
