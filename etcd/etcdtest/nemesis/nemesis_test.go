package nemesis

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	seed  = flag.Uint64("seed", 0, "of the rounds; 0 means another one each time")
	lasts = flag.Duration("round", 2*time.Second, "how long faults are made in each round")
)

func TestMain(m *testing.M) {
	Main()
	_ = flag.Set("test.parallel", "4") // rounds wait more than they work
	os.Exit(m.Run())
}

// Whatever fails, each alone and mixed, nothing is violated, no view waits, and commits go on.
func TestFaults(t *testing.T) {
	for _, f := range Faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			s := *seed
			if s == 0 {
				s = rand.Uint64N(1_000_000)
			}
			t.Logf("-seed %d", s)
			o, err := play(t.Context(), RoundConfig{Fault: f.Name, Seed: s, Duration: *lasts}, t.TempDir())
			require.NoError(t, err)
			require.Empty(t, o.Wrong, o.Detail)
			require.Positive(t, o.Transactions)
			t.Log(o)
		})
	}
}
