//go:build mvcccheck

package mvcc

import (
	"flag"
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

// randomScenario makes up a scenario as FuzzSchedule does, in which everybody has patience and
// some of the updates watch.
func randomScenario(t *testing.T, r *rand.Rand) *scenario {
	code := make([]byte, 64)
	for i := range code {
		code[i] = byte(r.Uint32())
	}
	sc, err := decodeScenario(&tape{code: code})
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
