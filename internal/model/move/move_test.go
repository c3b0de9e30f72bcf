package move_test

import (
	"fmt"
	"testing"

	"github.com/mvccmap/mvccmap/internal/model/explore"
	. "github.com/mvccmap/mvccmap/internal/model/move"
)

func grows(keys string, calls ...string) Scenario { return Scenario{Keys: keys, Calls: calls} }
func shrinks(keys string, calls ...string) Scenario {
	return Scenario{Shrinks: true, Keys: keys, Calls: calls}
}

// No key is both taken out and put in beside a scan: it may be met twice.
var scenarios = []Scenario{
	grows("ab", "Pa", "La"),
	grows("ab", "Pa", "Pa", "Sa"),
	grows("a", "Pb", "Pb", "Lb"),
	grows("a", "Pb", "Pb", "Pb"),
	grows("a", "Pb", "Lb", "Sa"),
	grows("ab", "Rb", "Pb", "Lb"),
	grows("b", "Rb", "Pb", "Lb", "Lb"),
	grows("ab", "Ra", "Pa", "Pb"),
	grows("ab", "Ra", "Pa", "Pc"),
	grows("ab", "Ra", "Pc", "Sa"),
	grows("abc", "Rb", "Rb", "La"),
	shrinks("abc", "Pa", "Sa"),
	shrinks("ab", "Pc", "Sa"),
	shrinks("ab", "Pc", "Lb", "Rb"),
	shrinks("a", "Pb", "Pb"),
}

var large = []Scenario{
	grows("ab", "Rb", "Pb", "Lb", "Lb"),
	grows("ab", "Rb", "Pb", "Lb", "Pb"),
	grows("ab", "Ra", "Pa", "Pc", "La"),
	grows("abc", "Pa", "Rb", "Sa", "Lc"),
	shrinks("abc", "Pa", "Rb", "Sa"),
	shrinks("ab", "Pc", "Rc", "Pb", "Lc"),
}

func TestMove(t *testing.T) {
	all := scenarios
	if explore.Large {
		all = append(all, large...)
	}
	for _, sc := range all {
		run := func(o explore.Options) explore.Result { return Run(sc, o) }
		explore.RequireHolds(t, fmt.Sprintf("%+v", sc), run, explore.Options{})
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
