package cli

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
)

// negative is a number that the parser would take for a flag.
var negative = regexp.MustCompile(`^-[0-9.]`)

// helpOf returns what was asked for when args begin with "help": --help of a command.
func helpOf(args []string, commands *kong.Node) ([]string, error) {
	if len(args) == 0 || args[0] != "help" {
		return args, nil
	}
	at := commands
	for _, name := range args[1:] {
		next := child(at, name)
		if next == nil {
			return nil, usagef("help: there is no command %s%s", name, expected(name, at))
		}
		at = next
	}
	return append(args[1:len(args):len(args)], "--help"), nil
}

// child returns the command of that name; nil if there is none.
func child(n *kong.Node, name string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// joinNegative writes a negative number that follows a flag as its value.
func joinNegative(args []string) []string {
	var joined []string
	for _, arg := range args {
		if n := len(joined); n > 0 && negative.MatchString(arg) &&
			strings.HasPrefix(joined[n-1], "--") && !strings.Contains(joined[n-1], "=") {
			joined[n-1] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

// unexpected returns an error that says what would have been right in place of the first argument
// that names no command; err if there is none.
func unexpected(err error, args []string, commands *kong.Node) error {
	at := commands
	for _, arg := range args {
		next := child(at, arg)
		switch {
		case strings.HasPrefix(arg, "-"), len(at.Children) == 0:
			return err
		case next == nil:
			return usagef("unexpected argument %s%s, and flags", arg, expected(arg, at))
		}
		at = next
	}
	return err
}

// empty returns an error if a flag has nothing for its value.
func empty(path []*kong.Path) error {
	for _, p := range path {
		f := p.Flag
		switch {
		case f == nil:
		case f.IsSlice() && f.Target.Len() == 0:
			return usagef("--%s: nothing given; expected one value, or several with commas between them",
				f.Name)
		case f.Target.Kind() == reflect.String && f.Target.Len() == 0 && f.Name != "http":
			return usagef("--%s: nothing given; expected %s", f.Name, f.FormatPlaceHolder())
		}
	}
	return nil
}

// expected ends a message about an unknown command.
func expected(name string, parent *kong.Node) string {
	names := namesOf(parent.Children, func(c *kong.Node) string { return c.Name })
	return hint(name, names) + "; expected one of " + strings.Join(names, ", ")
}

// hint says which of the known names was meant, if that can be guessed.
func hint(name string, known []string) string {
	if near := closest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// closest returns the known name that somebody may have meant: the one that takes the fewest
// edits, if they are few for its length.
func closest(name string, known []string) string {
	best, least := "", 0
	for _, k := range known {
		n := edits(letters(name), letters(k))
		if len(letters(name)) > 2 && strings.HasPrefix(letters(k), letters(name)) {
			n = min(n, 1)
		}
		if n <= max(1, len(k)/3) && (best == "" || n < least) {
			best, least = k, n
		}
	}
	return best
}

// letters returns what counts of a name.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// edits returns how many characters must be put in, taken out, exchanged, or swapped with the
// next, to make b of a: the optimal string alignment distance.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := range rows[i] {
			switch {
			case i == 0:
				rows[i][j] = j
				continue
			case j == 0:
				continue
			}
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
