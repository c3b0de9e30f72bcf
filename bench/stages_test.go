package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Stages count their operations, and say when each is due.
func TestStages(t *testing.T) {
	s := Stages{{2 * time.Second, 100, 100}, {10 * time.Second, 100, 300}, {time.Second, 0, 0}}
	require.Equal(t, "2s:100,10s:100-300,1s:0", s.String())
	require.Equal(t, 13*time.Second, s.Duration())
	require.InDelta(t, 2200, s.Ops(), 1e-9)
	require.InDelta(t, 2200.0/13, s.Rate(), 1e-9)

	var before time.Duration
	works := &clockwork{stages: s}
	for n := 0.0; n <= 2200; n++ {
		at := works.at(n)
		require.GreaterOrEqual(t, at, before)
		require.InDelta(t, n, s.due(at), 1e-4)
		before = at
	}
	require.InDelta(t, 2, (&clockwork{stages: s}).at(200).Seconds(), 1e-9)
	require.InDelta(t, 12, (&clockwork{stages: s}).at(2200).Seconds(), 1e-6)
	require.Equal(t, never, works.at(2201), "nothing comes any more")

	down := Stages{{10 * time.Second, 100, 0}, {time.Second, 0, 0}, {time.Second, 50, 50}}
	works = &clockwork{stages: down}
	require.InDelta(t, 10, works.at(500).Seconds(), 1e-6)
	require.InDelta(t, 11.02, works.at(501).Seconds(), 1e-6, "the stage in which nothing comes is waited for")
	require.InDelta(t, 13, works.at(600).Seconds(), 1e-6, "after the last stage its rate stays")
	require.InDelta(t, 600, down.due(13*time.Second), 1e-6)

	for _, bad := range []Stages{{{0, 1, 1}}, {{1, -1, 1}}, {{1, 1, 2 * MaxRate}}, {{time.Second, 0, 0}}} {
		require.Error(t, bad.validate())
	}
	require.NoError(t, Stages(nil).validate())
}

// The operations of all goroutines come as the stages say, and what is late is counted.
func TestStagesAreKept(t *testing.T) {
	stages := Stages{{2 * time.Second, 100, 100}, {4 * time.Second, 100, 500}}
	synctest.Test(t, func(t *testing.T) {
		c := Config{Threads: 3, Rate: stages.Rate(), Stages: stages}
		tr := paced(t, c, always(time.Microsecond))
		require.Contains(t, tr.config.Name(), "/stages=2s:100,4s:100-500/")
		_, err := tr.RunFor(t.Context(), time.Second, false)
		require.NoError(t, err)
		begin := clock()
		m, err := tr.RunFor(t.Context(), stages.Duration(), true)
		require.NoError(t, err)
		require.InDelta(t, stages.Ops(), m.Ops, 3)
		require.LessOrEqual(t, m.Backlog, uint64(1))
		var counts [6]int
		for _, w := range tr.workers {
			for _, at := range sleeperOf(w).begun {
				if second := int((at - begin).Seconds()); at >= begin && second < len(counts) {
					counts[second]++
				}
			}
		}
		for second, want := range []int{100, 100, 150, 250, 350, 450} {
			require.InDelta(t, want, counts[second], 4, "second %d", second)
		}
		require.NoError(t, tr.Verify())
		tr.Close()
	})
	synctest.Test(t, func(t *testing.T) { // one operation takes as long as all
		tr := paced(t, Config{Threads: 1, Rate: stages.Rate(), Stages: stages}, always(6*time.Second))
		m, err := tr.RunFor(t.Context(), stages.Duration()-time.Millisecond, true)
		require.NoError(t, err)
		require.InDelta(t, stages.Ops(), m.Backlog+m.Ops, 2)
		tr.Close()
	})
}

// At random the stages are kept on average.
func TestRandomStages(t *testing.T) {
	stages := Stages{{time.Second, 1000, 1000}, {time.Second, 5000, 5000}}
	synctest.Test(t, func(t *testing.T) {
		tr := paced(t, Config{Threads: 2, Rate: stages.Rate(), Stages: stages, Seed: 1,
			Arrival: PoissonArrivals}, always(0))
		begin := clock()
		_, err := tr.RunFor(t.Context(), stages.Duration(), true)
		require.NoError(t, err)
		var counts [2]float64
		for _, w := range tr.workers {
			for _, at := range sleeperOf(w).begun {
				if second := int((at - begin).Seconds()); second < 2 {
					counts[second]++
				}
			}
		}
		require.InDelta(t, 1000, counts[0], 150)
		require.InDelta(t, 5000, counts[1], 300)
		require.NotEqual(t, 1000.0, counts[0])
		tr.Close()
	})
}
