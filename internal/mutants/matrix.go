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
	"path"
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
	Reaches []string `json:",omitempty"` // functions, as FOLDER.NAME, and folders
	Mutant  string   `json:",omitempty"`
	Digest  uint64   `json:",omitempty"` // of its text: the result is void if that has changed
	Killers []string `json:",omitempty"` // tests that have noticed it
	Tried   []string `json:",omitempty"` // tests, the killers among them
	Problem string   `json:",omitempty"` // it could not be tried
}

// A matrix is which tests of a package notice which mutants.
//
// First each test runs alone, which tells the functions that it reaches. Then each mutant whose
// test is in the package meets that test, and the others that reach an edited function, shortened
// and the quickest first, until enough of them have noticed it. Each result is appended to a file
// at once, so that an interrupted run goes on.
type matrix struct {
	*runner
	folder  string
	killers int // enough for a mutant
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
	if err == nil && len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		_, err = m.file.WriteString("\n")
	}
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
	fmt.Fprint(h, m.test.text, m.hangs, m.edits)
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
	if _, err := m.file.Write(append(line, '\n')); err != nil {
		m.failed = err
	}
}

// alone is the command for one test, shortened.
func alone(test string, flags ...string) *testCommand {
	return &testCommand{pattern: "^" + test + "$", flags: append(flags, "-test.short")}
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
	file, err := m.cleanBinary(ctx, binary{
		folder: m.folder, tags: tags, cover: strings.Join(packages, ","),
	})
	if err != nil {
		return err
	}
	dir := filepath.Join(m.scratch, "cover")
	if err := copyTree(m.tree.root, dir, m.files, nil); err != nil {
		return err
	}
	list := exec.CommandContext(ctx, file, "-test.list=^(Test|Fuzz|Example)")
	list.Dir = filepath.Join(dir, m.folder)
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("the list of tests: %w%s", err, stderrOf(err))
	}
	profile := filepath.Join(m.scratch, "coverage")
	for _, test := range strings.Fields(string(names)) {
		if m.tests[tags][test] != nil || m.budget > 0 && time.Since(start) > m.budget {
			continue
		}
		began := time.Now()
		res, err := runTest(ctx, file, list.Dir, alone(test, "-test.coverprofile="+profile), m.timeout)
		if err != nil {
			return err
		}
		r := &record{Test: test, Tags: tags, Seconds: time.Since(began).Seconds()}
		if r.Passed = res.outcome == passed && len(res.passed) > 0; r.Passed {
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

// reached returns the functions that have run according to a profile, and their folders.
func (m *matrix) reached(profile, tags string) (list []string, err error) {
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	for _, words := range ranBlock.FindAllStringSubmatch(string(text), -1) {
		for folder := range m.edited {
			p, err := m.tree.loadPackage(folder, tags)
			if err != nil {
				return nil, err
			}
			var line int
			fmt.Sscan(words[2], &line)
			for _, f := range p.files {
				if strings.HasSuffix(words[1], "/"+f.path) {
					list = append(list, folder, folder+"."+f.funcAt(line))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// funcAt returns the name of the function that a line is in.
func (f *sourceFile) funcAt(line int) (name string) {
	for i := range f.decls {
		if d := &f.decls[i]; d.isFunc() && f.lineOf(d.toks[0].pos) <= line {
			name = d.name
		}
	}
	return name
}

// tryMutant runs tests against a mutant until enough have noticed it.
func (m *matrix) tryMutant(ctx context.Context, w worker, of *mutant) *record {
	began := time.Now()
	r := &record{Mutant: of.name, Digest: of.digest()}
	defer func() { r.Seconds = time.Since(began).Seconds() }()
	result, err := m.tree.apply(of)
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	b := binary{folder: m.folder, tags: of.test.tags, race: of.test.race}
	file := w.dir + ".test"
	if err := m.tree.buildTest(ctx, b, result.files, w.dir+"-overlay", file); err != nil {
		r.Problem = err.Error()
		return r
	}
	named := strings.Trim(of.test.pattern, "^()$")
	r.Tried = []string{named}
	if v, _ := w.judge(ctx, of, b, file, result.files); v == killed {
		r.Killers = []string{named}
	}
	for _, test := range m.reaching(of, result) {
		if len(r.Killers) >= m.killers || ctx.Err() != nil {
			break
		}
		if test.Test == named {
			continue
		}
		r.Tried = append(r.Tried, test.Test)
		if m.notices(ctx, w, b, file, test) {
			r.Killers = append(r.Killers, test.Test)
		}
	}
	return r
}

// reaching returns the tests that reach the mutant, the quickest first.
func (m *matrix) reaching(of *mutant, result *mutated) (list []*record) {
	places := map[string]bool{}
	for _, d := range result.places {
		folder := path.Dir(d.file.path)
		places[folder+"."+d.name] = true
		if !d.isFunc() {
			places[folder] = true
		}
	}
	if len(result.places) == 0 { // it adds a file
		places[result.folders()[0]] = true
	}
	for _, test := range m.tests[of.test.tags] {
		if test.Passed && slices.ContainsFunc(test.Reaches, func(s string) bool { return places[s] }) {
			list = append(list, test)
		}
	}
	slices.SortFunc(list, func(a, b *record) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return list
}

// notices reports whether a test does not pass in a mutated binary, and passes once more in the
// clean one.
func (m *matrix) notices(ctx context.Context, w worker, b binary, file string, test *record) bool {
	limit := 10*time.Second + time.Duration(20*test.Seconds*float64(time.Second))
	clean, err := m.cleanBinary(ctx, b)
	if err != nil {
		return false
	}
	passes := func(file string) bool {
		res, err := runTest(ctx, file, filepath.Join(w.dir, m.folder), alone(test.Test), limit)
		return err == nil && res.outcome == passed
	}
	return !passes(file) && passes(clean)
}

// run fills the matrix: it tries the tests and mutants that have no result yet.
func (m *matrix) run(ctx context.Context, progress io.Writer) error {
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
	m.eachMutant(ctx, remaining, func(w worker, one *mutant, hasTime bool) {
		if !hasTime {
			return
		}
		if r := m.tryMutant(ctx, w, one); ctx.Err() == nil {
			m.addRecord(r, progress)
		}
	})
	return cmp.Or(ctx.Err(), m.failed)
}

// print prints the mutants that no test has noticed, and for each test how many it has noticed of
// those that it met: those that were alone in noticing one first, with its name.
func (m *matrix) print(w io.Writer) {
	killed, tried, alone := map[string]int{}, map[string]int{}, map[string][]string{}
	byKillers := map[int]int{}
	var survivors []string
	for _, one := range m.mutants {
		r := m.results[one.name]
		if r == nil {
			continue
		}
		byKillers[len(r.Killers)]++
		for _, test := range r.Tried {
			tried[test]++
		}
		for _, test := range r.Killers {
			killed[test]++
		}
		switch len(r.Killers) {
		case 0:
			survivors = append(survivors, fmt.Sprintf("%s, of %d %s", one.name, len(r.Tried), r.Problem))
		case 1:
			alone[r.Killers[0]] = append(alone[r.Killers[0]], one.name)
		}
	}
	passes := map[string]bool{}
	for _, byName := range m.tests {
		for name, test := range byName {
			passes[name] = passes[name] || test.Passed
		}
	}
	var sole, some, none, bad []string
	for _, name := range slices.Sorted(maps.Keys(passes)) {
		entry := fmt.Sprintf("%s %d/%d", name, killed[name], tried[name])
		switch {
		case alone[name] != nil:
			sole = append(sole, entry+": "+strings.Join(alone[name], " "))
		case killed[name] > 0:
			some = append(some, entry)
		case passes[name]:
			none = append(none, entry)
		default:
			bad = append(bad, name)
		}
	}
	printList(w, "no test notices", survivors)
	printList(w, "the only one to notice (noticed/met)", sole)
	printList(w, "never the only one", some)
	printList(w, "notices nothing", none)
	printList(w, "fails or is skipped on the clean tree, alone and shortened", bad)
	fmt.Fprintf(w, "%s: %d mutants, %d of them tried, by number of killers: %v\n",
		m.folder, len(m.mutants), len(m.results), byKillers)
}

func printList(w io.Writer, title string, list []string) {
	fmt.Fprintf(w, "%s: %d\n", title, len(list))
	for _, one := range list {
		fmt.Fprintf(w, "  %s\n", one)
	}
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
	m.killers = o.killers
	err = m.run(ctx, progress)
	m.print(stdout)
	return err
}
