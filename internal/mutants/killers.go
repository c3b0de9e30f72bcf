package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// tests is what the tests of a package have noticed: by name, how many mutants, and of how many
// each was the only one to notice.
type tests struct {
	mutants     int
	kills, only map[string]int
}

// printKillers prints for each package the tests that have noticed no mutant, and says how many
// were the only ones to notice one. It knows only of tests that have ended: a mutant that crashes
// the process hides the tests after that.
func printKillers(w io.Writer, reports []report) {
	packages := map[string]*tests{}
	for _, r := range reports {
		if len(r.result.passed)+len(r.result.failed) == 0 {
			continue
		}
		_, pkg := r.mutant.named()
		p := packages[pkg]
		if p == nil {
			p = &tests{kills: map[string]int{}, only: map[string]int{}}
			packages[pkg] = p
		}
		p.mutants++
		for _, test := range r.result.passed {
			p.kills[test] += 0
		}
		for _, test := range r.result.failed {
			p.kills[test]++
			if len(r.result.failed) == 1 {
				p.only[test]++
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		p := packages[pkg]
		var none []string
		for _, test := range slices.Sorted(maps.Keys(p.kills)) {
			if p.kills[test] == 0 {
				none = append(none, test)
			}
		}
		fmt.Fprintf(w, "\n%s: %d tests, %d mutants; %d tests were alone in noticing one\n",
			pkg, len(p.kills), p.mutants, len(p.only))
		if len(none) > 0 {
			fmt.Fprintf(w, "  these %d notice none of them: %s\n", len(none), strings.Join(none, ", "))
		}
	}
}
