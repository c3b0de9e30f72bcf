package results

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func plainNumber(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// Limits are read with and without the unit of the figure, whose value says it.
func TestLimits(t *testing.T) {
	for text, want := range map[string]Limit{
		"response-p99<1ms":        {"response-p99-ns", "<", 1e6},
		"response-p99-ns <= 1500": {"response-p99-ns", "<=", 1500},
		"p99.9>2us":               {"p99.9-ns", ">", 2000},
		"achieved>=99":            {"achieved-%", ">=", 99},
		"achieved-%>=99.5%":       {"achieved-%", ">=", 99.5},
		"ops/s>1e6":               {"ops/s", ">", 1e6},
		"B/op<16B":                {"B/op", "<", 16},
		"heap-peak<=1e9":          {"heap-peak-B", "<=", 1e9},
		"aborts/op<0.1":           {"aborts/op", "<", 0.1},
		"gc-pause<1":              {"gc-pause-%", "<", 1},
		"response-max < 2s":       {"response-max-ns", "<", 2e9},
	} {
		l, err := ParseLimit(text, plainNumber)
		require.NoError(t, err, text)
		require.Equal(t, want, l, text)
	}
	for _, text := range []string{"", "p99", "p99<", "p99<-1", "p99<NaN", "ops/s<1ms", "<1", "p98<1ms"} {
		_, err := ParseLimit(text, plainNumber)
		require.Error(t, err, text)
	}
	require.Equal(t, "response-p99-ns < 1.00 ms", Limit{"response-p99-ns", "<", 1e6}.String())
	for op, want := range map[string][3]bool{
		"<": {true, false, false}, "<=": {true, true, false},
		">": {false, false, true}, ">=": {false, true, true},
	} {
		for i, v := range []float64{9, 10, 11} {
			require.Equal(t, want[i], Limit{"ops/s", op, 10}.Holds(v), "%v %s 10", v, op)
		}
	}
}

// The median of the samples is checked. A figure that a sample lacks is not known.
func TestChecksOfACell(t *testing.T) {
	cell := new(Cell)
	for i := range 3 {
		cell.Samples = append(cell.Samples, &Sample{Title: "X", Engine: "mvcc", Threads: 2,
			Metrics: map[string]float64{"ops/s": float64(100 + i), "p99-ns": 2e6}})
	}
	delete(cell.Samples[1].Metrics, "p99-ns")
	checks := cell.Check([]Limit{{"ops/s", ">=", 101}, {"ops/s", ">", 101}, {"p99-ns", "<", 1e9}})
	require.True(t, checks[0].Kept && checks[0].Known)
	require.Equal(t, "ops/s >= 101: kept by X/engine=mvcc/threads=2: 101", checks[0].String())
	require.True(t, !checks[1].Kept && checks[1].Known)
	require.Equal(t, "ops/s > 101: missed by X/engine=mvcc/threads=2: 101", checks[1].String())
	require.False(t, checks[2].Known || checks[2].Kept)
	require.Contains(t, checks[2].String(), "cannot tell of X/")
	_, err := ParseLimit("p99<1", func(string) (float64, error) { return 0, errors.New("no") })
	require.ErrorIs(t, err, ErrLimit)
}
