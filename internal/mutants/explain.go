package main

import (
	"fmt"
	"strings"
)

// A misfit says why an edit does not fit, and shows the code that is there.
type misfit struct {
	reason string
	in     *declaration
	near   int // token of it
}

// Error returns the reason with the lines of the declaration around the token.
func (e *misfit) Error() string {
	f, toks := e.in.file, e.in.toks
	lines := strings.Split(string(f.text), "\n")
	first, last := f.lineOf(toks[0].pos), f.lineOf(toks[len(toks)-1].pos)
	at := f.lineOf(toks[e.near].pos)
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s; at %s:%d is", e.reason, e.in.name, f.path, at)
	for i := max(first, at-excerptLines); i <= min(last, at+excerptLines); i++ {
		fmt.Fprintf(&b, "\n%6d  %s", i, lines[i-1])
	}
	return b.String()
}

// excerptLines is how many lines of code an error shows above and below a place.
const excerptLines = 6

// maxPlaces is how many places an error names.
const maxPlaces = 5

// nearest returns the token of src from which most tokens of p in a row are the same.
func (p pattern) nearest(src []tok) (at int) {
	most := 0
	for _, group := range p {
		for k := range group {
			for i := range src {
				n := 0
				for k+n < len(group) && i+n < len(src) && group[k+n].text == src[i+n].text {
					n++
				}
				if n > most {
					most, at = n, i
				}
			}
		}
	}
	return at
}

// missing returns the error for a declaration that p has not, with the places where it may be now:
// under that name in another package, or with that code in p.
func (t *workTree) missing(p *goPackage, name string, old pattern) error {
	var places []string
	for _, file := range p.files {
		for i := range file.decls {
			if d := &file.decls[i]; len(d.matches(p, old, false)) == 1 {
				places = append(places, fmt.Sprintf("%s.%s has the old code", p.folder, d.name))
			}
		}
	}
	for _, folder := range t.folders {
		other, err := t.loadPackage(folder, p.tags)
		if err != nil {
			continue
		}
		for _, d := range other.findDecls(name) {
			places = append(places, fmt.Sprintf("%s has %s", folder, d.name))
		}
	}
	if len(places) == 0 {
		return fmt.Errorf("%s has no %s", p.folder, name)
	}
	some := strings.Join(places[:min(len(places), maxPlaces)], ", ")
	return fmt.Errorf("%s has no %s, but %s", p.folder, name, some)
}
