package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one deliberate fault: a patch and the test that must notice it.
type mutant struct {
	name      string  // file name without ".patch"
	title     string  // what the fault is, in a few words
	why       string  // what the fault would do to a user
	test      command // fails on the mutated tree, passes on the clean one
	timeoutOK bool    // a test that hangs has noticed the fault too
	patch     []byte  // the whole file; git apply skips the header
}

// A command is a go test invocation, split into words.
type command struct {
	env  []string // leading NAME=value words
	args []string // what follows "go test"
}

// String returns the command as it would be typed, but for the quotes.
func (c command) String() string {
	words := append(slices.Clone(c.env), "go", "test")
	return strings.Join(append(words, c.args...), " ")
}

// hasFlag reports whether the command sets the named flag, with one dash or
// two, alone or as -name=value.
func (c command) hasFlag(name string) bool {
	return slices.ContainsFunc(c.args, func(arg string) bool {
		arg, _, _ = strings.Cut(arg, "=")
		return arg == "-"+name || arg == "--"+name
	})
}

// readMutants reads every *.patch file of dir, sorted by name. One bad header
// fails the whole call: a mutant that cannot be read must not go unnoticed.
func readMutants(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
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
	if err := lines.Err(); err != nil {
		return mutant{}, err
	}
	for _, key := range []string{"title", "why", "test"} {
		if fields[key] == "" {
			return mutant{}, fmt.Errorf("header field %q is missing", key)
		}
	}
	test, err := parseCommand(fields["test"])
	if err != nil {
		return mutant{}, err
	}
	_, timeoutOK := fields["timeout-ok"]
	return mutant{
		title:     fields["title"],
		why:       fields["why"],
		test:      test,
		timeoutOK: timeoutOK,
		patch:     text,
	}, nil
}

// parseCommand splits a "NAME=value go test ..." line. Only a named test can
// kill a mutant, so the line must have -run, and -json belongs to the runner.
func parseCommand(line string) (command, error) {
	words, err := splitWords(line)
	if err != nil {
		return command{}, err
	}
	var c command
	for len(words) > 0 && isAssignment(words[0]) {
		c.env, words = append(c.env, words[0]), words[1:]
	}
	if len(words) < 3 || words[0] != "go" || words[1] != "test" {
		return command{}, fmt.Errorf("test command %q does not start with go test", line)
	}
	c.args = words[2:]
	if !c.hasFlag("run") {
		return command{}, fmt.Errorf("test command %q names no test: -run is missing", line)
	}
	if c.hasFlag("json") {
		return command{}, fmt.Errorf("test command %q must not set -json", line)
	}
	return c, nil
}

// isAssignment reports whether word looks like NAME=value.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-./")
}

// splitWords splits at spaces, with 'single' and "double" quotes and without
// any expansion, so that a -run pattern may contain $ and |.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			inWord, quote = true, r
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("unclosed %c in %q", quote, line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
