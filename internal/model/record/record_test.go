package record_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/model/explore"
	. "github.com/mvccmap/mvccmap/internal/model/record"
)

var scenarios = []Scenario{
	{Tx: "v", Readers: 2},
	{Tx: "bb", Readers: 2},
	{Tx: "bb", Readers: 1, Rivals: 2},
	{Tx: "vv", Readers: 1, Rivals: 1},
	{Tx: "bbb", Readers: 1, Rivals: 1},
}

var large = []Scenario{
	{Tx: "vbv", Readers: 1, Rivals: 1},
	{Tx: "v", Readers: 2, Rivals: 1},
	{Tx: "bb", Readers: 2, Rivals: 1},
	{Tx: "vv", Readers: 2},
	{Tx: "vb", Readers: 1, Rivals: 2},
	{Tx: "vvv", Readers: 1, Rivals: 1},
	{Tx: "vv", Readers: 1, Rivals: 2},
}

// alone is within how many steps of its own everybody finishes, whatever the others do.
const alone = 60

func TestProtocol(t *testing.T) {
	if explore.Race {
		t.Skip("one goroutine only")
	}
	all := scenarios
	if os.Getenv("MODEL") == "large" {
		all = append(all, large...)
	}
	for _, sc := range all {
		r := Run(sc, explore.Options{Solo: alone, Limit: 50_000_000})
		t.Logf("%+v: %v", sc, r)
		require.Nil(t, r.Violation, "%v", r.Violation)
		require.True(t, r.Complete)
		require.Positive(t, r.Finals)
	}
}

// TestFaultsAreFound shows the shortest schedule for each fault (go test -v).
func TestFaultsAreFound(t *testing.T) {
	for _, f := range Faults {
		t.Run(string(f), func(t *testing.T) {
			for _, sc := range scenarios {
				sc.Fault = f
				r := Run(sc, explore.Options{Shortest: true})
				if r.Violation != nil {
					t.Logf("%+v: %s\n%v", sc, r, r.Violation)
					return
				}
			}
			t.Fatal("not found")
		})
	}
}
