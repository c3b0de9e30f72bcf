package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A mutant is one deliberate fault, and the test that must notice it.
type mutant struct {
	name  string // AREA-FAULT, unique
	title string // the fault, in a few words
	why   string // its harm to a user
	test  testCommand
	edits []edit
	place string // file and line of its heading
}

// An edit puts new code in the place of old code of one function.
type edit struct {
	target   string // PACKAGE.FUNCTION or PACKAGE.TYPE.METHOD
	old, new string
}

// readMutants reads every *.txt file of dir. One bad line fails the whole call: a mutant that
// cannot be read must not go unnoticed.
func readMutants(dir string) (all []*mutant, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	places := map[string]string{}
	errs := []error{err}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parseMutants(filepath.Base(file), text)
		errs = append(errs, err)
		for _, m := range some {
			if first, twice := places[m.name]; twice {
				errs = append(errs, fmt.Errorf("%s: %s is at %s too", m.place, m.name, first))
			}
			places[m.name] = m.place
		}
		all = append(all, some...)
	}
	return all, errors.Join(errs...)
}

var heading = regexp.MustCompile(`^# ([a-z0-9]+(?:-[a-z0-9]+)+): (\S.*)$`)

// parseMutants reads the mutants of one file, whose format the package comment describes.
func parseMutants(file string, text []byte) (all []*mutant, err error) {
	var errs []error
	p := &fileParser{}
	for line := range bytes.Lines(text) {
		p.number++
		if err := p.addLine(file, strings.TrimRight(string(line), " \t\r\n")); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, p.number, err))
		}
	}
	for _, m := range p.all {
		if err := m.complete(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", m.place, m.name, err))
		}
	}
	return p.all, errors.Join(errs...)
}

// A fileParser has read a part of a file.
type fileParser struct {
	number int
	all    []*mutant
	field  *string // the field that an indented line continues; nil within an edit
}

// addLine reads one line.
func (p *fileParser) addLine(file, line string) error {
	if line == "" || strings.HasPrefix(line, "//") {
		return nil
	}
	if line[0] == '#' {
		words := heading.FindStringSubmatch(line)
		if words == nil {
			return errors.New("a heading is: # AREA-NAME: TITLE")
		}
		m := &mutant{name: words[1], title: words[2], place: fmt.Sprintf("%s:%d", file, p.number)}
		p.all, p.field = append(p.all, m), &m.title
		return nil
	}
	if len(p.all) == 0 {
		return errors.New("this line is above the first heading")
	}
	m := p.all[len(p.all)-1]
	mark, text := line[0], strings.TrimSpace(line[1:])
	if strings.IndexByte(" \t-+", mark) < 0 {
		return p.setField(m, line)
	}
	if p.field != nil && mark != '-' && mark != '+' {
		*p.field += " " + text
		return nil
	}
	if len(m.edits) == 0 {
		return errors.New("an edit begins with: in: PACKAGE.FUNCTION")
	}
	e := &m.edits[len(m.edits)-1]
	if mark != '+' {
		e.old += text + "\n"
	}
	if mark != '-' {
		e.new += text + "\n"
	}
	return nil
}

// setField reads a line KEY: VALUE.
func (p *fileParser) setField(m *mutant, line string) error {
	key, value, _ := strings.Cut(line, ":")
	p.field = nil
	switch key {
	case "why":
		p.field = &m.why
	case "test":
		p.field = &m.test.text
	case "in":
		m.edits = append(m.edits, edit{target: strings.TrimSpace(value)})
		return nil
	default:
		return fmt.Errorf("unknown field %q, want why, test or in", key)
	}
	*p.field = strings.TrimSpace(value)
	return nil
}

// complete checks that nothing is missing, and reads the test command.
func (m *mutant) complete() error {
	if m.why == "" || m.test.text == "" || len(m.edits) == 0 {
		return errors.New("it lacks one of the fields why, test and in")
	}
	for _, e := range m.edits {
		if e.old == "" {
			return fmt.Errorf("the edit of %s has no old code", e.target)
		}
	}
	return m.test.parse()
}

// A testCommand is one go test command: PACKAGE PATTERN, and flags of go test.
type testCommand struct {
	text    string
	pkg     string // as written
	pattern string // for -test.run
	tags    string
	flags   []string      // of the test binary, and arguments behind -args
	limit   time.Duration // a test that runs for longer has noticed the fault; 0: it has not
}

// plainPattern is a pattern of names alone: each stands for that test only.
var plainPattern = regexp.MustCompile(`^[\w|/]+$`)

// parse reads c.text.
func (c *testCommand) parse() (err error) {
	words := splitWords(c.text)
	if len(words) < 2 || strings.HasPrefix(words[0], "-") || strings.HasPrefix(words[1], "-") {
		return fmt.Errorf("test %q is not PACKAGE PATTERN FLAGS", c.text)
	}
	c.pkg, c.pattern = words[0], words[1]
	if plainPattern.MatchString(c.pattern) {
		c.pattern = "^(" + strings.ReplaceAll(c.pattern, "/", ")$/^(") + ")$"
	}
	for i, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "-args":
			c.flags = append(c.flags, words[2+i+1:]...)
			return nil
		case "-tags":
			c.tags = value
		case "-timeout":
			if c.limit, err = time.ParseDuration(value); err != nil {
				return err
			}
		case "-short", "-count":
			c.flags = append(c.flags, "-test."+word[1:])
		default:
			return fmt.Errorf("test %q: flag %s is none of -tags=, -timeout=, -short, -count= and -args",
				c.text, name)
		}
	}
	return nil
}

var wordOrQuoted = regexp.MustCompile(`'[^']*'|\S+`)

// splitWords splits text at spaces that are not within single quotes.
func splitWords(text string) []string {
	words := wordOrQuoted.FindAllString(text, -1)
	for i, word := range words {
		words[i] = strings.Trim(word, "'")
	}
	return words
}
