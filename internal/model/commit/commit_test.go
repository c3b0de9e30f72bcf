package commit_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/mvccmap/mvccmap/internal/model/commit"
	"github.com/mvccmap/mvccmap/internal/model/explore"
)

// large asks for everything, which takes minutes and gigabytes.
var large = os.Getenv("MODEL") == "large"

func TestProtocol(t *testing.T) {
	if race {
		t.Skip("one goroutine only")
	}
	for _, sc := range Scenarios {
		if sc.Large && !large {
			continue
		}
		t.Run(sc.Name, func(t *testing.T) {
			r := Run(sc, explore.Options{Limit: 30_000_000})
			t.Log(r)
			require.Nil(t, r.Violation, "%v", r.Violation)
			require.True(t, r.Complete)
			require.Positive(t, r.Finals)
		})
	}
}

// TestRandomPrograms looks at programs that nobody has thought of, each up to a
// limit.
func TestRandomPrograms(t *testing.T) {
	if race {
		t.Skip("one goroutine only")
	}
	programs, limit := uint64(20), 10_000
	if large {
		programs, limit = 400, 300_000
	}
	states, complete := 0, 0
	for seed := range programs {
		sc := Random(seed)
		r := Run(sc, explore.Options{Limit: limit})
		require.Nil(t, r.Violation, "%+v\n%v", sc, r.Violation)
		states += r.States
		if r.Complete {
			complete++
		}
	}
	t.Logf("%d programs, %d of them completely, %d states", programs, complete, states)
}

// TestFaultsAreFound shows for each mistake a schedule that makes it visible
// (go test -v; with MODEL=large the shortest one).
func TestFaultsAreFound(t *testing.T) {
	if race {
		t.Skip("one goroutine only")
	}
	missing := map[Fault]bool{}
	for _, f := range Faults() {
		missing[f] = true
	}
	for _, mu := range Mutations {
		delete(missing, mu.Fault)
		if mu.Large && !large {
			continue
		}
		t.Run(mu.Fault.String(), func(t *testing.T) {
			sc, ok := Find(mu.Scenario)
			require.True(t, ok)
			// Where somebody watches a schedule need not be long to be endless:
			// depth first, it runs out of epochs to show.
			r := Run(sc.With(mu.Fault), explore.Options{Shortest: large || mu.Fault >= WatchIgnored})
			require.NotNil(t, r.Violation, r.String())
			t.Logf("%s: %s\n%v", sc.Name, r, r.Violation)
		})
	}
	require.Empty(t, missing, "faults that no scenario tries")
}

func TestTooLarge(t *testing.T) {
	_, err := New(Scenario{Procs: [][]Op{{Load(X), Load(X), Load(X), Load(X), Load(X), Load(X), Load(X), Load(X), Load(X)}}})
	require.Error(t, err)
	_, err = New(Scenario{Procs: make([][]Op, 5)})
	require.Error(t, err)
}
