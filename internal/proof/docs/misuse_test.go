package docs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
)

var writeMisuse = flag.Bool("write-misuse", false, "write docs/misuse.md anew")

// A misuse is a row of docs/misuse.md: a mistake, and the program that makes it. Its answer
// is the end of the program: the table cannot say anything else.
type misuse struct {
	what string
	do   func(t *testing.T) error
	why  string // a sentence after the answer, may be empty
}

// misuses are a part of the page.
type misuses struct {
	title string
	rows  []misuse
}

// named are the errors that a row names, the more special ones first.
var named = []struct {
	name string
	err  error
}{
	{"mvcc.ErrConflict", mvcc.ErrConflict},
	{"mvcc.ErrTxDone", mvcc.ErrTxDone},
	{"mvcc.ErrTxTooOld", mvcc.ErrTxTooOld},
	{"mvcc.ErrEpochGone", mvcc.ErrEpochGone},
	{"mvcc.ErrBadKey", mvcc.ErrBadKey},
	{"mvcc.ErrGap", mvcc.ErrGap},
	{"durable.ErrClosed", durable.ErrClosed},
	{"context.Canceled", context.Canceled},
}

// answer makes the mistake, and describes the end of the program.
func (m misuse) answer(t *testing.T) (text string) {
	done := make(chan string)
	go func() {
		text := "ends the goroutine, as everywhere in Go"
		defer func() { done <- text }()
		func() {
			defer func() {
				switch p := recover().(type) {
				case nil:
				case runtime.Error:
					text = "panics, in Go's words: " + quote(p.Error())
				case error:
					text = "panics with " + name(p) + quote(p.Error())
				default:
					text = "panics: " + quote(fmt.Sprint(p))
				}
			}()
			err := m.do(t)
			var failure failure
			switch {
			case err == nil:
				text = "harmless"
			case errors.As(err, &failure):
				text = "fails the test: " + quote(string(failure))
			default:
				text = "returns " + name(err) + quote(err.Error())
			}
		}()
	}()
	text = <-done
	switch {
	case m.why == "":
		return text
	case text == "harmless":
		return text + ": " + m.why
	}
	return text + "; " + m.why
}

func name(err error) string {
	for _, n := range named {
		if errors.Is(err, n.err) {
			return "`" + n.name + "`: "
		}
	}
	var unique *mvcc.UniqueError
	var damage *durable.DamageError
	var schema *durable.SchemaError
	var version *durable.VersionError
	var migration *durable.MigrationError
	switch {
	case errors.As(err, &version):
		return "a `*durable.VersionError`: "
	case errors.As(err, &migration):
		return "a `*durable.MigrationError`: "
	case errors.As(err, &schema):
		return "a `*durable.SchemaError`: "
	case errors.As(err, &unique):
		return "a `*mvcc.UniqueError`: "
	case errors.As(err, &damage):
		return "a `*durable.DamageError`: "
	}
	return "an error: "
}

// Parts that differ from run to run, or from system to system.
var (
	epochs  = regexp.MustCompile(`(epoch|offset|after|before) \d+`)
	folders = regexp.MustCompile(`[^ ]*TestMisusePage[^ :]*`)
	systems = regexp.MustCompile(`(in use by another journal): .*`)
	callers = regexp.MustCompile(`(it was stored by) \S+ \(.*?\)`)
)

func quote(text string) string {
	text = epochs.ReplaceAllString(text, "$1 N")
	text = folders.ReplaceAllString(text, "PATH")
	text = callers.ReplaceAllString(text, "$1 FUNC (PATH)")
	return "`" + systems.ReplaceAllString(text, "$1") + "`"
}

// TestMisusePage makes docs/misuse.md of the behaviour of the code, and compares it with the page.
func TestMisusePage(t *testing.T) {
	var page strings.Builder
	page.WriteString(misuseHead)
	for _, part := range slices.Concat(misusedHandles, misusedCalls, misusedFiles,
		misusedStrictly, misusedOnTrial) {
		fmt.Fprintf(&page, "\n## %s\n\n| misuse | answer |\n|---|---|\n", part.title)
		for _, m := range part.rows {
			fmt.Fprintf(&page, "| %s | %s |\n", m.what, m.answer(t))
		}
	}
	path := filepath.Join(root, "docs/misuse.md")
	if *writeMisuse {
		require.NoError(t, os.WriteFile(path, []byte(page.String()), 0o644))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(text), page.String()),
		"docs/misuse.md is not what the code does; go test ./internal/proof/docs -run Misuse -write-misuse "+
			"writes it anew")
}

const misuseHead = `# Misuse

The answers of the library to wrong use. Each row is a program in
[internal/proof/docs](../internal/proof/docs), and a test compares its answer with this page. A mistake in a
program is a panic; an error can happen to a correct program. In the rows ` + "`m`" + ` is a map, ` + "`s`" + ` a
snapshot, ` + "`tx`" + ` a transaction and ` + "`users`" + ` a table; N, FUNC and PATH differ from run to run.

Not noticed are a transaction in two goroutines that do not meet within a method, and two maps that
are not tables of one database, used as if they had one order of commits. Noticed only with
` + "`Options.Strict`" + `, which is [for tests](#with-optionsstrict-for-tests), are:

- a value that is changed after it was stored;
- use of the map beside the transaction, unless in another goroutine;
- a function that must return the same for the same arguments, and does not: ` + "`compare`" + `, ` + "`Expire`" + `,
  ` + "`Merge`" + `, the function of an index;
- a function of ` + "`Update`" + ` that does not reset its results;
- an error that is not looked at.

[Package ` + "`mvcctest`" + `](#with-package-mvcctest) fails the test for these, and for what is left open.
See also [what is not promised](guarantees.md#what-is-not-promised).
`
