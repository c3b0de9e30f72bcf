package results

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However many intervals a sample has, its record has few, and all operations; the times of two
// that became one are the longer ones.
func TestIntervalsAreBounded(t *testing.T) {
	var list Intervals
	for i := range 1001 {
		list = list.Add(Interval{End: time.Duration(i+1) * time.Second, Ops: 10, Aborts: 1, Errors: 2,
			P50: int64(i), P99: 5, Max: int64(1000 - i)})
		require.LessOrEqual(t, len(list), MaxIntervals)
		require.True(t, list.inOrder())
	}
	require.Greater(t, len(list), MaxIntervals/2)
	var sum Interval
	for _, i := range list {
		sum = sum.and(i)
	}
	require.Equal(t, Interval{End: 1001 * time.Second, Ops: 10010, Aborts: 1001, Errors: 2002,
		P50: 1000, P99: 5, Max: 1000}, sum)
	require.Equal(t, int64(1000), list[0].Max)
	require.Equal(t, int64(list[0].End/time.Second-1), list[0].P50)
}

// The rest of a sample is no interval of its own: its rate would be that of a moment.
func TestTheLastInterval(t *testing.T) {
	second := func(s float64) Interval { return Interval{End: time.Duration(s * 1e9), Ops: 1} }
	whole := Intervals{second(1), second(2), second(3)}
	require.Equal(t, whole, whole.End())
	require.Len(t, append(whole, second(3.6)).End(), 4)
	end := append(whole, second(3.4)).End()
	require.Equal(t, Intervals{second(1), second(2), {End: 3400 * time.Millisecond, Ops: 2}}, end)
	require.Equal(t, Intervals{second(1), second(1.1)}, Intervals{second(1), second(1.1)}.End())
	require.Empty(t, Intervals(nil).End())
	require.False(t, Intervals{second(1), second(1)}.inOrder())
}
