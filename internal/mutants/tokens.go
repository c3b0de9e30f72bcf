package main

import (
	"go/scanner"
	"go/token"
)

// A tok is a token of Go source.
type tok struct {
	kind     token.Token
	text     string
	pos, end int  // offsets
	dotted   bool // a name behind a dot
	ends     bool // a semicolon follows, written or not
}

// tokenize returns the tokens of src without those that depend on its layout: comments, semicolons,
// and a comma before a closing bracket.
func tokenize(src []byte) (list []tok, err error) {
	var errs scanner.ErrorList
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, errs.Add, 0)
	for {
		at, kind, text := s.Scan()
		pos, n := file.Offset(at), len(list)
		switch kind {
		case token.EOF:
			return list, errs.Err()
		case token.SEMICOLON:
			if n > 0 {
				list[n-1].ends = true
			}
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

// namesOf returns the keys of all names in toks.
func namesOf(toks []tok) map[string]bool {
	set := map[string]bool{}
	for i := range toks {
		if toks[i].kind == token.IDENT {
			set[toks[i].nameKey()] = true
		}
	}
	return set
}
