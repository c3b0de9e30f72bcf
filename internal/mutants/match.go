package main

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// A pattern is the old code of an edit: the lines that stay or go, in groups between which anything
// may stand.
type pattern [][]patternTok

// A patternTok is a token of a line of the edit.
type patternTok struct {
	tok
	line int
}

// skipped is the line that stands for any code.
const skipped = "..."

// patternOf returns the pattern of e.
func patternOf(e *edit) (p pattern, err error) {
	first := 0
	for i := 0; i <= len(e.lines); i++ {
		if i < len(e.lines) && (e.lines[i].mark == '+' || e.lines[i].text != skipped) {
			continue
		}
		group, err := patternGroup(e.lines[first:i], first)
		if err != nil {
			return nil, err
		}
		if len(group) == 0 {
			return nil, fmt.Errorf("old code has to stand at both ends, and beside each %q", skipped)
		}
		p, first = append(p, group), i+1
	}
	return p, nil
}

// patternGroup returns the tokens of those lines that stay or go; first is the number of lines[0].
func patternGroup(lines []editLine, first int) (group []patternTok, err error) {
	var text strings.Builder
	var ends []int
	for _, line := range lines {
		if line.mark != '+' {
			text.WriteString(line.text + "\n")
		}
		ends = append(ends, text.Len())
	}
	toks, err := tokenize([]byte(text.String()))
	missing := map[int]bool{}
	for i, line := range lines {
		missing[i] = line.mark != '+'
	}
	for _, t := range toks {
		line, _ := slices.BinarySearch(ends, t.pos+1)
		group = append(group, patternTok{t, first + line})
		missing[line] = false
	}
	for i, line := range lines {
		if missing[i] {
			return nil, fmt.Errorf("no code in the line %q", line.text)
		}
	}
	return group, err
}

// names maps each name of a pattern to that of the source for which it stands.
type names map[string]string

// A found is a place of a pattern in a source.
type found struct {
	at    []int // for each token of the pattern, its index in the source
	names names
}

// renamed lists the names that differ, as NEW for OLD.
func (f *found) renamed() (list []string) {
	for _, was := range slices.Sorted(maps.Keys(f.names)) {
		if is := f.names[was]; was != is {
			list = append(list, strings.TrimPrefix(is, ".")+" for "+strings.TrimPrefix(was, "."))
		}
	}
	return list
}

// matches returns the places of p in src. A name stands for itself, and for others that may allows,
// but for one only.
func (p pattern) matches(src []tok, may func(was, is *tok) bool) (all []found) {
	for start := range src {
		if f, ok := p.matchAt(src, start, may); ok {
			all = append(all, f)
		}
	}
	return all
}

// matchAt matches p where its first token is src[start]; each other group is the nearest one.
func (p pattern) matchAt(src []tok, start int, may func(was, is *tok) bool) (f found, ok bool) {
	for i, group := range p {
		n, ok := f.names.match(group, src[start:], may)
		for ; !ok; n, ok = f.names.match(group, src[start:], may) {
			if start++; i == 0 || start >= len(src) {
				return f, false
			}
		}
		f.names = n
		for range group {
			f.at = append(f.at, start)
			start++
		}
	}
	return f, true
}

// match compares group with the beginning of src, and returns n with the names of the group added.
func (n names) match(
	group []patternTok, src []tok, may func(was, is *tok) bool,
) (with names, ok bool) {
	if len(src) < len(group) || src[0].kind != group[0].kind {
		return nil, false
	}
	with = maps.Clone(n)
	if with == nil {
		with = names{}
	}
	for i := range group {
		was, is := group[i].tok, &src[i]
		if i == 0 { // the dot may be left out
			was.dotted = is.dotted
		}
		if was.kind != is.kind {
			return nil, false
		}
		if was.kind != token.IDENT {
			if was.text != is.text {
				return nil, false
			}
			continue
		}
		if was.text != is.text && !may(&was, is) || !with.bindName(was.nameKey(), is.nameKey()) {
			return nil, false
		}
	}
	return with, true
}

// bindName notes that was stands for is. It reports false if was stands for another name, or
// another name for is.
func (n names) bindName(was, is string) bool {
	if now, known := n[was]; known {
		return now == is
	}
	for _, taken := range n {
		if taken == is {
			return false
		}
	}
	n[was] = is
	return true
}
