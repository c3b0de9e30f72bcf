package charts

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What is kept of a day is bounded, and the older it is the coarser.
func TestDayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticks := &Source[int]{Read: func() int { return 1 }}
		s := New([]Group{{Source: ticks, Charts: []Chart{{Series: []Series{
			ticks.Gauge("one", func(n int) float64 { return float64(n) })}}}}})
		defer s.Close()
		time.Sleep(Day + 2*Fine + time.Millisecond) // beyond what came first
		synctest.Wait()
		for span, want := range map[time.Duration]struct {
			rows int
			step float64
		}{Fine: {600, 1}, Coarse: {480, 15}, Day: {480, 180}} {
			a := s.Answer(0, "", span)
			require.Len(t, a.Times, want.rows, span)
			require.InDelta(t, want.step, a.Times[want.rows-1]-a.Times[want.rows-2], 1e-3)
			require.Equal(t, 1.0, a.Columns[0][want.rows-1])
		}
	})
}
