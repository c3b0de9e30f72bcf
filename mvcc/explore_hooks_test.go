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
)

// Random schedules of small random programs, one access of one actor at a time.
// One run is one seed.

var (
	schedules = flag.Int("schedules", 0,
		"how many random schedules to explore; 0: as many as fit the suite")
	scheduleSeed = flag.Uint64("schedule-seed", 1, "seed of the first random schedule")
)

// randomOperation makes up the text of an operation.
func randomOperation(r *rand.Rand) string {
	key := func() string { return programKeys[r.IntN(len(programKeys))] }
	some := func(atLeast int, act func() string) (words string) {
		n := len(programKeys)
		for _, i := range r.Perm(n)[:atLeast+r.IntN(n+1-atLeast)] {
			words += " " + act() + programKeys[i]
		}
		return words
	}
	read := func() string { return "r" }
	switch r.IntN(15) {
	case 0:
		return "load " + key()
	case 1:
		return "swap " + key()
	case 2:
		return "store " + key()
	case 3:
		return "loadAndDelete " + key()
	case 4:
		return "loadOrStore " + key()
	case 5:
		i := r.IntN(len(programKeys))
		return fmt.Sprintf("cas %s=%d", programKeys[i], i+1)
	case 6:
		return "prune"
	case 7, 8:
		if r.IntN(3) == 0 {
			return "view scan"
		}
		return "view" + some(1, read)
	default:
		kind := []string{"update", "update", "snapshot", "watched", "retry"}[r.IntN(5)]
		reads := some(0, read)
		if r.IntN(6) == 0 {
			reads = " scan"
		}
		return kind + reads + some(1, func() string { return "wwwd"[r.IntN(4):][:1] })
	}
}

// randomScenario makes up two to four programs of one or two operations each.
func randomScenario(r *rand.Rand) *scenario {
	initial := []string{"patience=20"}
	var programs []string
	for _, key := range programKeys {
		initial = append(initial, []string{"", key + "-", key, key + "+"}[r.IntN(4)])
	}
	switch r.IntN(8) {
	case 0:
		initial = append(initial, "eager")
	case 1:
		initial = append(initial, "busy")
	}
	for range 2 + r.IntN(3) {
		program := randomOperation(r)
		if r.IntN(2) == 0 {
			program += "; " + randomOperation(r)
		}
		programs = append(programs, program)
	}
	sc, err := parseScenario(strings.Join(initial, " ") + "|" + strings.Join(programs, "|"))
	if err != nil {
		panic(err)
	}
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
		n = sizes(5000, 500)
	}
	start, steps := time.Now(), 0
	for i := range n {
		seed := *scheduleSeed + uint64(i)
		r := rand.New(rand.NewPCG(seed, 7))
		sc := randomScenario(r)
		x := execute(sc, randomly(r, 1-0.5*r.Float64()*r.Float64()))
		if err := x.verdict(); err != nil {
			require.FailNow(t, err.Error(), "-schedule-seed %d\n%s", seed, x.report())
		}
		steps += len(x.events)
	}
	t.Logf("%d schedules, %d steps in %v", n, steps, time.Since(start))
}
