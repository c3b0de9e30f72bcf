package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// An area is a package that mutants break: a mutant is named after one.
type area struct{ prefix, title string }

// areas are those that have a title and a place; others follow them, see areasOf.
var areas = []area{
	{"epoch-", "Package epoch: clock, slots, free list"},
	{"favour-", "Package favour: who goes first"},
	{"gc-", "Package gc: views, queue, ticker"},
	{"mvcc-", "Package mvcc: the map"},
	{"mvcctest-", "Package mvcctest: tests of programs, and its part of a map"},
	{"tree-", "Package tree: the index of keys in order"},
	{"journal-", "Package journal: commits on disk"},
	{"etcd-", "Package etcd: tables that several processes have"},
	{"codec-", "Package codec: records in bytes"},
	{"disk-", "Package disk: the frames of backups and journals, and lines"},
	{"dump-", "Package dump: the command mvccdump"},
	{"gobtext-", "Package gobtext: what gob has written, without the types"},
	{"profiling-", "Package profiling: reports on waits"},
	{"slow-", "Package slow of profiling: what slow operations waited for"},
	{"wall-", "Package wall of profiling: what all goroutines do"},
	{"pprofui-", "Package pprofui of profiling: pages of profiles"},
	{"flight-", "Package flight of profiling: the recording"},
	{"prom-", "Package prom of profiling: metrics"},
	{"push-", "Module push of profiling: figures and profiles sent elsewhere"},
	{"machine-", "Package machine: what else the machine does"},
	{"results-", "Package results: the gate, and runs that are not whole"},
	{"cli-", "Package cli: the command mvccbench"},
	{"bench-", "Package bench: workloads, and what is verified of them"},
	{"workfile-", "Package workfile: the files that describe workloads"},
}

// areasOf returns the areas, and behind them one for each other package that a mutant is named after.
func areasOf(mutants []mutant) []area {
	all := slices.Clip(areas)
	for _, m := range mutants {
		name, _, _ := strings.Cut(m.name, "-")
		if !slices.ContainsFunc(all, func(a area) bool { return a.prefix == name+"-" }) {
			all = append(all, area{name + "-", "Package " + name})
		}
	}
	return all
}

// printMarkdown prints which test finds which fault, as docs/mutants.md.
func printMarkdown(w io.Writer, mutants []mutant) {
	fmt.Fprintf(w, `# Mutants

%d deliberate faults, one for each race, invariant and promise, each of which a named test finds.
"make mutants" applies them one by one to a copy of the work tree and runs the test: it must pass on
the clean tree and fail on the faulty one, within three runs.
"go run ./internal/mutants -run NAME -v" tries one. This page is made by "make mutants-table" from
the headers of internal/mutants/*.patch; a test of internal/mutants fails when it is out of date.
`, len(mutants))
	for _, area := range areasOf(mutants) {
		header := false
		for _, m := range mutants {
			if !strings.HasPrefix(m.name, area.prefix) {
				continue
			}
			if !header {
				header = true
				fmt.Fprintf(w, "\n## %s\n\n| fault | what it would do | found by |\n|---|---|---|\n",
					area.title)
			}
			test, _ := m.named()
			test = strings.NewReplacer("$/^", "/", "/^", "/", "$", "", "^", "").Replace(test)
			fmt.Fprintf(w, "| [%s](../internal/mutants/%s.patch): %s | %s | `%s` |\n",
				m.name, m.name, cell(m.title), cell(m.why), cell(test))
		}
	}
}

// cell returns text fit for the cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
