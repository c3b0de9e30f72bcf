//go:build mvcccheck

package mvcc

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// Random schedules of small random programs, one access of one actor at a time.
// One run is one seed.

var (
	schedules = flag.Int("schedules", 0,
		"how many random schedules to explore; 0: as many as fit the suite")
	scheduleSeed = flag.Uint64("schedule-seed", 1, "seed of the first random schedule")
)

// What random scenarios are made of.
var (
	codedInitial = []string{"", "%s-", "%s", "%s+"}
	codedMaps    = []string{"", "eager", "busy"}
	codedOneKey  = []string{"load %s", "store %s", "swap %s", "loadOrStore %s",
		"loadAndDelete %s", "cas %s=%d"}
	codedKinds = []string{"one-key", "prune", "refresh", "view", "view scan", "update",
		"update scan", "snapshot", "snapshot scan", "retry"}
)

// randomScenario makes up a scenario in which everybody has patience and some of the updates watch.
func randomScenario(t *testing.T, r *rand.Rand) *scenario {
	sc, err := parseScenario(randomProgram(r))
	require.NoError(t, err)
	text := "patience=20 "
	for i, part := range strings.Split(sc.String(), "update") {
		if i > 0 {
			text += []string{"update", "update", "alarmed"}[r.IntN(3)]
		}
		text += part
	}
	sc, err = parseScenario(text)
	require.NoError(t, err)
	return sc
}

// randomProgram makes up the text of a scenario.
func randomProgram(r *rand.Rand) string {
	var initial, programs []string
	for _, key := range programKeys {
		if word := codedInitial[r.IntN(len(codedInitial))]; word != "" {
			initial = append(initial, fmt.Sprintf(word, key))
		}
	}
	initial = append(initial, codedMaps[r.IntN(len(codedMaps))])
	for range 2 + r.IntN(3) {
		var program []string
		for range 1 + r.IntN(2) {
			program = append(program, randomOperation(r))
		}
		programs = append(programs, strings.Join(program, "; "))
	}
	return strings.Join(initial, " ") + "|" + strings.Join(programs, "|")
}

// randomOperation makes up the text of an operation.
func randomOperation(r *rand.Rand) string {
	kind := r.IntN(len(codedKinds) + len(codedOneKey) - 1)
	if kind < len(codedOneKey) {
		i := r.IntN(len(programKeys))
		if text := codedOneKey[kind]; strings.Contains(text, "=") {
			return fmt.Sprintf(text, programKeys[i], i+1)
		}
		return fmt.Sprintf(codedOneKey[kind], programKeys[i])
	}
	text := codedKinds[kind-len(codedOneKey)+1]
	switch text {
	case "prune", "refresh", "view scan":
		return text
	}
	if !strings.HasSuffix(text, "scan") {
		for i, set := 0, r.IntN(256); i < len(programKeys); i++ {
			if set>>i&1 == 1 {
				text += " r" + programKeys[i]
			}
		}
	}
	if text == "view" {
		return "view ra"
	}
	if strings.HasPrefix(text, "view") {
		return text
	}
	writes, set := "", r.IntN(256)
	for i := range programKeys {
		switch set >> (2 * i) & 3 {
		case 2:
			writes += " w" + programKeys[i]
		case 3:
			writes += " d" + programKeys[i]
		}
	}
	if writes == "" {
		writes = " wa"
	}
	return text + writes
}

// randomly returns a chooser that lets the same one go on with probability stay.
func randomly(r *rand.Rand, stay float64) func(ready []int) int {
	last := -1
	return func(ready []int) int {
		for _, i := range ready {
			if i == last && r.Float64() < stay {
				return i
			}
		}
		last = ready[r.IntN(len(ready))]
		return last
	}
}

func TestRandomSchedules(t *testing.T) {
	oneProcessor(t)
	n := *schedules
	if n == 0 {
		n = stage.Sizes(5000, 500)
	}
	start, steps := time.Now(), 0
	for i := range n {
		seed := *scheduleSeed + uint64(i)
		r := rand.New(rand.NewPCG(seed, 7))
		sc := randomScenario(t, r)
		x := execute(sc, randomly(r, 1-0.5*r.Float64()*r.Float64()))
		if err := x.verdict(); err != nil {
			require.FailNow(t, err.Error(), "-schedule-seed %d\n%s", seed, x.report())
		}
		steps += len(x.events)
	}
	t.Logf("%d schedules, %d steps in %v", n, steps, time.Since(start))
}
