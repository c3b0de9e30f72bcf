package explore

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Large is whether models are searched in the sizes that take minutes and gigabytes.
var Large = os.Getenv("MODEL") == "large"

// RequireHolds requires that run, a search of a model, visits all that can be reached and
// finds nothing wrong.
func RequireHolds(t *testing.T, name string, run func(Options) Result, o Options) {
	t.Helper()
	if stage.Race {
		t.Skip("one goroutine only: there is nothing to detect, and it would take ten times as long")
	}
	r := run(o)
	t.Logf("%s: %v", name, r)
	require.Nil(t, r.Violation, "%v", r.Violation)
	require.Positive(t, r.Finals)
}

// RequireFound requires that one of the scenarios, run with a fault, shows it, and logs
// the shortest schedule that does.
func RequireFound[S any](t *testing.T, scenarios []S, run func(S, Options) Result) {
	t.Helper()
	for _, sc := range scenarios {
		if r := run(sc, Options{Shortest: true}); r.Violation != nil {
			t.Logf("%+v: %s\n%v", sc, r, r.Violation)
			return
		}
	}
	t.Fatal("not found")
}
