package main

import (
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"strings"
)

// A tok is a token of Go source.
type tok struct {
	kind     token.Token
	text     string
	pos, end int  // offsets
	dotted   bool // a name behind a dot
}

// tokenize returns the tokens of src without those that depend on its layout: comments, semicolons,
// and a comma before a closing bracket.
func tokenize(src string) (list []tok, err error) {
	var errs scanner.ErrorList
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, []byte(src), errs.Add, 0)
	for {
		at, kind, text := s.Scan()
		pos, n := file.Offset(at), len(list)
		switch kind {
		case token.EOF:
			return list, errs.Err()
		case token.SEMICOLON:
			continue
		case token.RPAREN, token.RBRACE, token.RBRACK:
			if n > 0 && list[n-1].kind == token.COMMA {
				list = list[:n-1]
			}
		}
		if kind.IsOperator() {
			text = kind.String()
		}
		dotted := len(list) > 0 && list[len(list)-1].kind == token.PERIOD
		list = append(list, tok{
			kind: kind, text: text, pos: pos, end: pos + len(text), dotted: dotted,
		})
	}
}

// nameKey is the text of t, which tells a field or method from another name.
func (t *tok) nameKey() string {
	if t.dotted {
		return "." + t.text
	}
	return t.text
}

// addNames adds the keys of all names in toks to set.
func addNames(set map[string]bool, toks []tok) {
	for i := range toks {
		if toks[i].kind == token.IDENT {
			set[toks[i].nameKey()] = true
		}
	}
}

// names maps each name of old code to that of the source for which it stands.
type names map[string]string

// A found is a place of old code in a function: the offsets of its beginning and end.
type found struct {
	from, to int
	names    names
}

// matches returns the places of old in f. If renamed is set a name that f has no more may stand for
// another one of f, always for the same one; a field or method only if the package has it no more.
func (f *function) matches(old []tok, renamed bool) (all []found) {
	here := map[string]bool{}
	addNames(here, f.toks)
	for start := range len(f.toks) - len(old) + 1 {
		with, ok := names{}, true
		for i := 0; ok && i < len(old); i++ {
			was, is := old[i], &f.toks[start+i]
			if i == 0 { // the dot may be left out
				was.dotted = is.dotted
			}
			ok = was.kind == is.kind && (was.text == is.text || renamed && was.kind == token.IDENT)
			if !ok || was.kind != token.IDENT {
				continue
			}
			if was.text != is.text {
				gone := is.dotted && !f.of.names[was.nameKey()]
				ok = gone || !is.dotted && !here[was.text] && types.Universe.Lookup(is.text) == nil
			}
			ok = ok && with.bindName(was.nameKey(), is.nameKey())
		}
		if ok {
			all = append(all, found{f.toks[start].pos, f.toks[start+len(old)-1].end, with})
		}
	}
	return all
}

// bindName notes that the name called was stands for the one called is. It reports false if the
// first stands for another name already, or another name for the second.
func (n names) bindName(was, is string) bool {
	if now, known := n[was]; known {
		return now == is
	}
	for taken := range maps.Values(n) {
		if taken == is {
			return false
		}
	}
	n[was] = is
	return true
}

// rename returns text with the names of the source for those of the old code.
func (n names) rename(text string) string {
	toks, _ := tokenize(text)
	for i := len(toks) - 1; i >= 0; i-- {
		t := &toks[i]
		if is, known := n[t.nameKey()]; known && t.kind == token.IDENT {
			text = text[:t.pos] + strings.TrimPrefix(is, ".") + text[t.end:]
		}
	}
	return text
}
