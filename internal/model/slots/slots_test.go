package slots_test

import (
	"testing"

	"github.com/mvccmap/mvccmap/internal/model/explore"
	. "github.com/mvccmap/mvccmap/internal/model/slots"
)

// scenarios are small enough for an ordinary test run.
var scenarios = map[string]Scenario{
	"one slot, used twice":                 {Slots: 1, Tx: 2, Reads: 1, Commits: 3, Passes: 2},
	"one slot, used three times":           {Slots: 1, Tx: 3, Reads: 1, Commits: 2, Passes: 2},
	"one slot, a transaction ended twice":  {Slots: 1, Tx: 2, Reads: 2, Commits: 2, Passes: 2, Closer: true},
	"two slots, used three times":          {Slots: 2, Tx: 3, Reads: 1, Commits: 2, Passes: 1},
	"two slots, a transaction ended twice": {Slots: 2, Tx: 2, Reads: 1, Commits: 2, Passes: 1, Closer: true},
}

// largeScenarios take minutes and gigabytes.
var largeScenarios = map[string]Scenario{
	"one slot, used four times":     {Slots: 1, Tx: 4, Reads: 2, Commits: 4, Passes: 3, Closer: true},
	"two slots, three transactions": {Slots: 2, Tx: 3, Reads: 1, Commits: 3, Passes: 2, Closer: true},
}

func TestProtocol(t *testing.T) {
	check := func(name string, sc Scenario) {
		t.Run(name, func(t *testing.T) {
			run := func(o explore.Options) explore.Result { return Run(sc, o) }
			explore.RequireHolds(t, name, run, explore.Options{})
		})
	}
	for name, sc := range scenarios {
		check(name, sc)
		sc.Variant = GenerationFirst
		check(name+", generation loaded first", sc)
	}
	if explore.Large {
		for name, sc := range largeScenarios {
			check(name, sc)
		}
	}
}

// TestMistakesAreFound shows for each mistake the shortest schedule that makes
// it visible (go test -v).
func TestMistakesAreFound(t *testing.T) {
	for mistake, name := range map[Variant]string{
		NoBoundCheck:   "one slot, used twice",
		CheckFirst:     "one slot, used twice",
		ReloadClock:    "one slot, used twice",
		BoundAfterScan: "one slot, used twice",
		EndAdds:        "one slot, a transaction ended twice",
		NoRecheck:      "one slot, a transaction ended twice",
	} {
		t.Run(mistake.String(), func(t *testing.T) {
			sc := scenarios[name]
			sc.Variant = mistake
			explore.RequireFound(t, []Scenario{sc}, Run)
		})
	}
}
