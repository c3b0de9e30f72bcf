package record_test

import (
	"fmt"
	"testing"

	"github.com/mvccmap/mvccmap/internal/proof/model/explore"
	. "github.com/mvccmap/mvccmap/internal/proof/model/record"
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

// alone is within how many steps of its own each process finishes, whatever the others do.
const alone = 60

func TestProtocol(t *testing.T) {
	all := scenarios
	if explore.Large {
		all = append(all, large...)
	}
	for _, sc := range all {
		run := func(o explore.Options) explore.Result { return Run(sc, o) }
		explore.RequireHolds(t, fmt.Sprintf("%+v", sc), run, explore.Options{Solo: alone})
	}
}

// TestFaultsAreFound shows the shortest schedule for each fault (go test -v).
func TestFaultsAreFound(t *testing.T) {
	for _, f := range Faults {
		t.Run(string(f), func(t *testing.T) {
			explore.RequireFound(t, scenarios, func(sc Scenario, o explore.Options) explore.Result {
				sc.Fault = f
				return Run(sc, o)
			})
		})
	}
}
