package main

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench/bars"
)

// sleeper is a side whose operations take exactly so long, in virtual time.
type sleeper struct {
	op     time.Duration
	opened *[]string
	name   string
	fail   error
}

func (s sleeper) side() bars.Side {
	return bars.Side{Name: s.name, Open: func() (bars.Runner, error) {
		*s.opened = append(*s.opened, s.name)
		return s, nil
	}}
}

func (s sleeper) Run(_ context.Context, n int) (time.Duration, error) {
	d := time.Duration(n) * s.op
	time.Sleep(d)
	return d, s.fail
}

func (s sleeper) Close() error { return nil }

// scale is a side that weighs so much.
type scale float64

func (s scale) Run(context.Context, int) (time.Duration, error) { return 0, nil }
func (s scale) Close() error                                    { return nil }
func (s scale) Bytes() float64                                  { return float64(s) }
func (s scale) side(name string) bars.Side {
	return bars.Side{Name: name, Open: func() (bars.Runner, error) { return s, nil }}
}

func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened []string
		side := func(name string, op time.Duration) bars.Side {
			return sleeper{op: op, opened: &opened, name: name}.side()
		}
		p := plan{count: 3, each: time.Millisecond, memoryKeys: 7, scanKeys: 7}
		rows := []bars.Row{
			{Group: "fast", Ours: side("a", 100*time.Nanosecond), Base: side("b", 100*time.Nanosecond), Bar: 2, Aim: 1.5, MaxAllocs: -1},
			{Group: "fair", Case: "goroutines=2", Ours: side("a", 180*time.Nanosecond), Base: side("b", 100*time.Nanosecond), Bar: 2, Aim: 1.5, MaxAllocs: -1},
			{Group: "slow", Ours: side("a", 300*time.Nanosecond), Base: side("b", 100*time.Nanosecond), Bar: 2, Aim: 1.5, MaxAllocs: -1},
			{Group: "speed", Kind: bars.Speed, Ours: side("a", 100*time.Nanosecond), Base: side("b", 1200*time.Nanosecond), Bar: 10, Aim: 100, MaxAllocs: -1},
			{Group: "heavy", Kind: bars.Memory, Ours: scale(250).side("a"), Base: scale(100).side("b"), Bar: 2.4, Aim: 2, MaxAllocs: -1},
		}
		var out, log strings.Builder
		require.NoError(t, p.report(rows, &out, &log))
		text := out.String()
		require.Regexp(t, `(?m)^fast +a +100 ns +b +100 ns +1\.00 x +1\.00-1\.00 +- +≤ 2 +≤ 1\.5 +met, aim too$`, text)
		require.Regexp(t, `(?m)^fair/goroutines=2 +a +180 ns .* 1\.80 x .* met$`, text)
		require.Regexp(t, `(?m)^slow +.* 3\.00 x .* missed$`, text)
		require.Regexp(t, `(?m)^speed +a +100 ns +b +1200 ns +12\.00 x .*≥ 10 +≥ 100 +met$`, text)
		require.Regexp(t, `(?m)^heavy +a +250 B +b +100 B +2\.50 x .* missed$`, text)
		require.Contains(t, text, "5 rows: 3 bars met, 2 missed.")
		require.Contains(t, text, "with 7 keys")
		require.Equal(t, []string{"a", "b", "b", "a", "a", "b"}, opened[:6], "the sides take turns")

		out.Reset()
		p.run = regexp.MustCompile("^s")
		require.NoError(t, p.report(rows, &out, &log))
		require.Contains(t, out.String(), "2 rows: 1 bars met, 1 missed.")

		broken := errors.New("broken")
		rows[0].Base = sleeper{op: 1, opened: &opened, name: "b", fail: broken}.side()
		p.run = nil
		require.ErrorIs(t, p.report(rows, &out, &log), broken)
	})
}

func TestAllocationsCount(t *testing.T) {
	o := outcome{row: bars.Row{Bar: 2, Aim: 1.5, MaxAllocs: 1}, ratio: 1, allocs: 1.01}
	require.Equal(t, "met, aim too", o.verdict())
	o.allocs = 2
	require.Equal(t, "missed (allocs)", o.verdict())
	o.row.MaxAllocs = -1
	require.Equal(t, "met, aim too", o.verdict())
	o.row.MaxAllocs, o.allocs = 0, 1
	require.Equal(t, "missed (allocs)", o.verdict())
}
