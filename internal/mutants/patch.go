package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one deliberate fault: a patch and the test that must notice it.
type mutant struct {
	name      string // file name without ".patch"
	title     string // what the fault is, in a few words
	why       string // what the fault would do to a user
	test      string // a command for a shell: fails on the mutated tree, passes on the clean one
	timeoutOK bool   // a test that hangs has noticed the fault too
	patch     []byte // the whole file; git apply skips the header
}

// testCommand is what the test of a mutant looks like: only a named test can kill one.
var testCommand = regexp.MustCompile(`^(?:\w+=\S* )*go test .*-run[ =](?:'([^']*)'|(\S+)).*? (\.\S*)(?: |$)`)

// named returns the name of the test, as a pattern, and its package.
func (m *mutant) named() (test, pkg string) {
	words := testCommand.FindStringSubmatch(m.test)
	if in := nested.FindStringSubmatch(m.test); in != nil {
		return words[1] + words[2], "./" + in[1]
	}
	return words[1] + words[2], words[3]
}

// nested is what the command for a test of a module within this one has: go wants it first.
var nested = regexp.MustCompile(`go test -C (\S+)`)

// oneTest are the arguments of a test command that fit the one test only.
var oneTest = regexp.MustCompile(` -(?:run|timeout|skip)[ =](?:'[^']*'|\S+)`)

// wholePackage returns the command for all tests of the package, as .ci/run shortens them. Examples
// witness what docs say.
func (m *mutant) wholePackage() string {
	all := oneTest.ReplaceAllString(m.test, "")
	return goTest.ReplaceAllString(all, "$0 -short -run '^(Test|Fuzz)'")
}

var goTest = regexp.MustCompile(`go test(?: -C \S+)?`)

// readMutants reads every *.patch file of dir, sorted by name. One bad header
// fails the whole call: a mutant that cannot be read must not go unnoticed.
func readMutants(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parseMutant(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
			continue
		}
		m.name = strings.TrimSuffix(filepath.Base(file), ".patch")
		all = append(all, m)
	}
	return all, errors.Join(errs...)
}

// parseMutant reads the header of a patch: the lines at its top that start
// with '#'. A line "# key: value" sets a field, a line indented by two or more
// spaces after the '#' continues the field above it.
func parseMutant(text []byte) (mutant, error) {
	fields := map[string]string{}
	last := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "#")
		if !ok {
			break
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if last != "" && strings.HasPrefix(line, "  ") {
			fields[last] += " " + strings.TrimSpace(line)
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !slices.Contains([]string{"title", "why", "test", "timeout-ok"}, key) {
			return mutant{}, fmt.Errorf("unknown header field %q", key)
		}
		if _, twice := fields[key]; twice {
			return mutant{}, fmt.Errorf("header field %q is given twice", key)
		}
		last = key
		fields[key] = strings.TrimSpace(value)
	}
	for _, key := range []string{"title", "why", "test"} {
		if fields[key] == "" {
			return mutant{}, fmt.Errorf("header field %q is missing", key)
		}
	}
	if test := fields["test"]; !testCommand.MatchString(test) || strings.Contains(test, " -json") {
		return mutant{}, fmt.Errorf("test command %q is not go test with -run, a package, and no -json",
			test)
	}
	_, timeoutOK := fields["timeout-ok"]
	return mutant{
		title: fields["title"], why: fields["why"], test: fields["test"],
		timeoutOK: timeoutOK, patch: text,
	}, lines.Err()
}
