package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpOf returns what was asked for when args begin with "help": --help of a command.
func helpOf(args []string, commands *kong.Node) ([]string, error) {
	if len(args) == 0 || args[0] != "help" {
		return args, nil
	}
	return append(args[1:len(args):len(args)], "--help"), unexpected(nil, args[1:], commands)
}

// child returns the command of that name; nil if there is none.
func child(n *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return n.Children[i]
}

// unexpected returns an error that says what would have been right in place of the first argument
// that names no command; err if there is none.
func unexpected(err error, args []string, at *kong.Node) error {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") || len(at.Children) == 0 {
			return err
		}
		next := child(at, arg)
		if next == nil {
			names := namesOf(at.Children, func(c *kong.Node) string { return c.Name })
			return usagef("unexpected argument %s%s; expected one of %s, and flags", arg, hint(arg, names),
				strings.Join(names, ", "))
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

// hint says which of the known names was meant, if that can be guessed.
func hint(name string, known []string) string {
	if near := closest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// closest returns the known name that somebody may have meant, who has made up to two mistakes, or
// not come to its end.
func closest(name string, known []string) (best string) {
	least := 3
	for _, k := range known {
		n := distance(strings.ToLower(name), strings.ToLower(k))
		if len(name) > 2 && strings.HasPrefix(k, name) {
			n = min(n, 1)
		}
		if n < least {
			best, least = k, n
		}
	}
	return best
}

// distance returns how many letters must be put in, taken out or exchanged to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // from what there is of a to each part of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0]++
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(before+1, row[j]+1, change)
		}
	}
	return row[len(b)]
}
