package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A record is a line of the file of results: of a test on the clean tree, or of a mutant.
type record struct {
	Test    string   `json:",omitempty"`
	Tags    string   `json:",omitempty"`
	Passed  bool     `json:",omitempty"`
	Seconds float64  `json:",omitempty"`
	Reaches []string `json:",omitempty"` // functions, as FOLDER.NAME
	Mutant  string   `json:",omitempty"`
	Digest  uint64   `json:",omitempty"` // of its text: the result is void if that has changed
	Killers []string `json:",omitempty"` // tests that have noticed it
	Tried   []string `json:",omitempty"` // tests, the killers among them
	Problem string   `json:",omitempty"` // it could not be tried
}

// enoughKillers is how many tests have to notice a mutant until no other ones are tried.
const enoughKillers = 2

// A matrix is which tests of a package notice which mutants.
//
// First each test runs alone, which tells the functions that it reaches. Then each mutant whose
// test is in the package meets that test, and the others that reach an edited function, shortened
// and the quickest first, until enough of them have noticed it. Each result is appended to a file
// at once, so that an interrupted run goes on.
type matrix struct {
	*runner
	folder  string
	mutants []*mutant
	edited  map[string]bool // folders
	mu      sync.Mutex
	file    *os.File
	failed  error                         // of a write to the file
	tests   map[string]map[string]*record // by tags and name
	results map[string]*record            // by mutant
}

// newMatrix returns a matrix of the tests in folder with the results that are in a file.
func newMatrix(r *runner, folder string, mutants []*mutant, results string) (*matrix, error) {
	m := &matrix{
		runner: r, folder: folder, edited: map[string]bool{},
		tests: map[string]map[string]*record{}, results: map[string]*record{},
	}
	for _, one := range mutants {
		if in, err := r.tree.folder(one.test.pkg); err != nil || in != folder {
			continue
		}
		m.mutants = append(m.mutants, one)
		m.tests[one.test.tags] = map[string]*record{}
		for i := range one.edits {
			pkg, _ := one.edits[i].split()
			if in, err := r.tree.folder(pkg); err == nil {
				m.edited[in] = true
			}
		}
	}
	text, err := os.ReadFile(results)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		one := new(record)
		if json.Unmarshal(line, one) == nil { // else the run was interrupted amid it
			m.keepRecord(one)
		}
	}
	m.file, err = os.OpenFile(results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return m, err
}

// keepRecord notes r.
func (m *matrix) keepRecord(r *record) {
	if byName := m.tests[r.Tags]; r.Test != "" && byName != nil {
		byName[r.Test] = r
	}
	for _, one := range m.mutants {
		if one.name == r.Mutant && one.digest() == r.Digest {
			m.results[r.Mutant] = r
		}
	}
}

// digest tells whether a mutant is still the same.
func (m *mutant) digest() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.test.text, m.edits)
	return h.Sum64()
}

// addRecord notes r, appends it to the file, and tells progress of it.
func (m *matrix) addRecord(r *record, progress io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keepRecord(r)
	if r.Mutant != "" {
		fmt.Fprintf(progress, "%s: %v of %d tests %s (%.1fs)\n",
			r.Mutant, r.Killers, len(r.Tried), r.Problem, r.Seconds)
	} else {
		fmt.Fprintf(progress, "%s: passed %v, reaches %d (%.1fs)\n",
			r.Test, r.Passed, len(r.Reaches), r.Seconds)
	}
	line, _ := json.Marshal(r)
	if _, err := fmt.Fprintf(m.file, "\n%s\n", line); err != nil { // below a line that broke off
		m.failed = err
	}
}

// runAlone runs one test, shortened.
func (m *matrix) runAlone(
	ctx context.Context, b binary, file, test string, limit time.Duration, flags ...string,
) (result, error) {
	return m.tree.runTest(ctx, b, file, "^"+test+"$", append(flags, "-test.short"), limit)
}

// cover runs each test alone for which there is no result yet.
func (m *matrix) cover(
	ctx context.Context, tags string, start time.Time, progress io.Writer,
) error {
	var packages []string
	for folder := range m.edited {
		from, err := filepath.Rel(m.folder, folder)
		if err != nil {
			return err
		}
		packages = append(packages, "./"+filepath.ToSlash(from))
	}
	slices.Sort(packages)
	b := binary{folder: m.folder, tags: tags, cover: strings.Join(packages, ",")}
	file, err := m.cleanBinary(ctx, b)
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, file, "-test.list=^(Test|Fuzz|Example)")
	list.Dir = filepath.Join(m.tree.root, m.folder)
	all, err := list.Output()
	if err != nil {
		return fmt.Errorf("the list of tests: %w%s", err, stderrOf(err))
	}
	profile := filepath.Join(m.scratch, "coverage")
	for _, test := range strings.Fields(string(all)) {
		if m.tests[tags][test] != nil || m.budget > 0 && time.Since(start) > m.budget {
			continue
		}
		began := time.Now()
		res, err := m.runAlone(ctx, b, file, test, m.timeout, "-test.coverprofile="+profile)
		if err != nil {
			return err
		}
		r := &record{Test: test, Tags: tags, Seconds: time.Since(began).Seconds()}
		if r.Passed = res.outcome == passed && res.passed > 0; r.Passed {
			if r.Reaches, err = m.reached(profile, tags); err != nil {
				return err
			}
		}
		m.addRecord(r, progress)
	}
	return nil
}

// ranBlock is a line of a coverage profile whose statements have run.
var ranBlock = regexp.MustCompile(`(?m)^(.*):(\d+)\.\d+,\d+\.\d+ \d+ [1-9]`)

// reached returns the functions that have run according to a profile.
func (m *matrix) reached(profile, tags string) ([]string, error) {
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for _, words := range ranBlock.FindAllStringSubmatch(string(text), -1) {
		var line int
		fmt.Sscan(words[2], &line)
		for folder := range m.edited {
			p, err := m.tree.loadPackage(folder, tags)
			if err != nil {
				return nil, err
			}
			var in *function
			for _, f := range p.functions {
				if strings.HasSuffix(words[1], "/"+f.file.path) && f.firstLine <= line {
					in = f
				}
			}
			if in != nil {
				set[folder+"."+in.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set)), nil
}

// tryMutant runs tests against a mutant until enough have noticed it.
func (m *matrix) tryMutant(ctx context.Context, of *mutant) *record {
	began := time.Now()
	r := &record{Mutant: of.name, Digest: of.digest()}
	defer func() { r.Seconds = time.Since(began).Seconds() }()
	b := binary{folder: m.folder, tags: of.test.tags}
	file, err := m.build(ctx, of, b)
	defer os.Remove(file)
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	named := strings.Trim(of.test.pattern, "^()$")
	r.Tried = []string{named}
	if v, _ := m.judge(ctx, of, b, file); v == killed {
		r.Killers = []string{named}
	}
	for _, test := range m.reaching(of) {
		if len(r.Killers) >= enoughKillers || ctx.Err() != nil {
			break
		}
		if test.Test == named {
			continue
		}
		r.Tried = append(r.Tried, test.Test)
		if m.notices(ctx, b, file, test) {
			r.Killers = append(r.Killers, test.Test)
		}
	}
	return r
}

// reaching returns the tests that reach a mutant that applies, the quickest first.
func (m *matrix) reaching(of *mutant) (list []*record) {
	result, _ := m.tree.apply(of)
	for _, test := range m.tests[of.test.tags] {
		if test.Passed && slices.ContainsFunc(result.places, func(f *function) bool {
			return slices.Contains(test.Reaches, f.of.folder+"."+f.name)
		}) {
			list = append(list, test)
		}
	}
	slices.SortFunc(list, func(a, b *record) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return list
}

// notices reports whether a test does not pass in a mutated binary, and passes once more in the
// clean one.
func (m *matrix) notices(ctx context.Context, b binary, file string, test *record) bool {
	limit := 10*time.Second + time.Duration(20*test.Seconds*float64(time.Second))
	passes := func(file string) bool {
		res, err := m.runAlone(ctx, b, file, test.Test, limit)
		return err == nil && res.outcome == passed
	}
	clean, err := m.cleanBinary(ctx, b)
	return err == nil && !passes(file) && passes(clean)
}

// fill tries the tests and mutants that have no result yet.
func (m *matrix) fill(ctx context.Context, progress io.Writer) error {
	start := time.Now()
	for tags := range m.tests {
		if err := m.cover(ctx, tags, start, progress); err != nil {
			return err
		}
	}
	if m.budget > 0 {
		m.budget = max(1, m.budget-time.Since(start))
	}
	remaining := slices.DeleteFunc(slices.Clone(m.mutants), func(one *mutant) bool {
		return m.results[one.name] != nil
	})
	m.run(ctx, remaining, func(one *mutant, hasTime bool) {
		if !hasTime {
			return
		}
		if r := m.tryMutant(ctx, one); ctx.Err() == nil {
			m.addRecord(r, progress)
		}
	})
	return cmp.Or(ctx.Err(), m.failed)
}

// print prints the mutants that no test has noticed, and for each test how many it has noticed of
// those that it met, with the names of those that no other one has noticed.
func (m *matrix) print(w io.Writer) {
	killed, tried, alone := map[string]int{}, map[string]int{}, map[string]string{}
	for _, one := range m.mutants {
		r := m.results[one.name]
		if r == nil {
			continue
		}
		for _, test := range r.Tried {
			tried[test]++
		}
		for _, test := range r.Killers {
			killed[test]++
		}
		switch len(r.Killers) {
		case 0:
			fmt.Fprintf(w, "no test notices %s, of %d %s\n", one.name, len(r.Tried), r.Problem)
		case 1:
			alone[r.Killers[0]] += " " + one.name
		}
	}
	passes := map[string]bool{}
	for _, byName := range m.tests {
		for name, test := range byName {
			passes[name] = passes[name] || test.Passed
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(passes), func(a, b string) int {
		return cmp.Or(cmp.Compare(killed[b], killed[a]), cmp.Compare(a, b))
	}) {
		switch {
		case alone[name] != "":
			fmt.Fprintf(w, "%s notices %d of %d, alone%s\n", name, killed[name], tried[name], alone[name])
		case killed[name] == 0 && !passes[name]:
			fmt.Fprintf(w, "%s fails or is skipped on the clean tree, alone and shortened\n", name)
		default:
			fmt.Fprintf(w, "%s notices %d of %d\n", name, killed[name], tried[name])
		}
	}
	fmt.Fprintf(w, "%s: %d mutants, %d of them tried\n", m.folder, len(m.mutants), len(m.results))
}

// runMatrix fills the matrix of a package, and prints it.
func (r *runner) runMatrix(
	ctx context.Context, o *options, mutants []*mutant, stdout, progress io.Writer,
) error {
	folder, err := r.tree.folder(o.matrix)
	if err != nil {
		return err
	}
	m, err := newMatrix(r, folder, mutants, o.results)
	if err != nil {
		return err
	}
	defer m.file.Close()
	err = m.fill(ctx, progress)
	m.print(stdout)
	return err
}
