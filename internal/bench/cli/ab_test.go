package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// Each side of a combination is the first of a pair as often as the other, by lot and by the seed.
func TestLotIsFair(t *testing.T) {
	steps := twoSteps(t)
	orders := func(seed uint64) (first []int) {
		l := newSideOrder(seed)
		for range 40 {
			for _, step := range steps {
				order := l.nextPair(step)
				require.Equal(t, 1, order[0]+order[1])
				first = append(first, order[0])
			}
		}
		return first
	}
	first := orders(1)
	var began [2]int // of every two pairs: the side that was the first of the first
	for i := 0; i < len(first); i += 4 {
		for k := range steps {
			require.Equal(t, 1, first[i+k]+first[i+k+2], "each once")
			began[first[i+k]]++
		}
	}
	require.Greater(t, min(began[0], began[1]), 5, "by lot")
	require.Equal(t, first, orders(1))
	require.NotEqual(t, first, orders(2))
}

// A side is told all that its own defaults might have otherwise.
func TestArgumentsOfASide(t *testing.T) {
	e := &Env{Program: mvccbench(), args: strings.Fields("ab old new --workload=read-heavy --threads=2 " +
		"--theta=0.5,0.9 --rate=1000 --arrival=poisson --retries=3 --latency-sample=5 --seed=7")}
	ctx, err := e.parse()
	require.NoError(t, err)
	cmd := ctx.Selected().Target.Addr().Interface().(*abCmd)
	a := &ab{cmd: cmd, env: e, temp: "temp"}
	cmd.Profile = true
	a.sweep, err = cmd.sweep(e)
	require.NoError(t, err)
	steps, _ := a.sweep.Steps()
	require.Len(t, steps, 20)
	require.Equal(t, strings.Fields("run --workload=read-heavy --keys=4 --read-pct=90 --theta=0.9 "+
		"--value-size=8 --rate=1000 --arrival=poisson --retries=3 --isolation=serializable "+
		"--engine=mvcc --threads=2 --seed=8 --count=1 --warmup=50ms --duration=200ms "+
		"--latency-sample=5 --profile --http=off --quiet --output=temp/sample.json"),
		a.arguments(steps[3]))

	e.args = a.arguments(steps[3])
	ctx, err = e.parse()
	require.NoError(t, err)
	run := ctx.Selected().Target.Addr().Interface().(*runCmd)
	sweep, err := run.sweep(e)
	require.NoError(t, err)
	again, _ := sweep.Steps()
	require.Len(t, again, 1)
	got, want := again[0].Config, steps[3].Config
	got.Sample, got.Seed, got.Swept = want.Sample, want.Seed, want.Swept
	require.Equal(t, want.Name(), got.Name())
}

// profileOf returns a profile in which functions, called by others and main, took so much
// themselves.
func profileOf(t *testing.T, took map[string]int64) profiling.Profiles {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"},
		{Type: "cpu", Unit: "nanoseconds"}}}
	at := func(name string) *profile.Location {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: name + ".go"}
		l := &profile.Location{ID: uint64(len(p.Location) + 1), Address: uint64(len(p.Location) + 1),
			Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return l
	}
	root := at("main")
	for name, ns := range took {
		s := &profile.Sample{Value: []int64{ns / 10, ns}}
		for _, name := range strings.Fields(name) {
			s.Location = append(s.Location, at(name))
		}
		s.Location = append(s.Location, root)
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return profiling.Profiles{"cpu": b.Bytes()}
}

// Differences are of as many operations; those that may be chance are marked; the time of code
// that interrupts a goroutine, and of loops that differ, is the caller's, also in the flame graph.
func TestProfilesAreComparedForEachOperation(t *testing.T) {
	side := func(name string, ops uint64, took map[string]int64) *abSide {
		return &abSide{side: name, label: name, profile: combinations{"x": {of: "X/threads=1", ops: ops,
			Profiles: profileOf(t, took), samples: 2}}}
	}
	a := &ab{cmd: &abCmd{Profile: true}, sides: [2]*abSide{
		side("old", 2000, map[string]int64{"store x.(*worker).runSampled": 20_000,
			"load": 10_000, "rare": 100}),
		side("new", 1000, map[string]int64{"store x.(*worker).runTimed": 15_000,
			"load": 5_000, "spin": 600, "rare": 90, "runtime.asyncPreempt2 spin": 400}),
	}}
	changes, err := a.profiles()
	require.NoError(t, err)
	require.Len(t, changes, 1)
	var text strings.Builder
	writeChanges(&text, changes)
	require.Equal(t, "\nfunctions that take more or less, ns of each operation; ? may be chance:\n"+
		"  X/threads=1: store: +5.0 (10.0 to 15.0)\n  X/threads=1: spin: +1.0 (0.0 to 1.0)\n"+
		"  X/threads=1: rare: +0.0? (0.1 to 0.1)\n", text.String())
	sides := map[string]string{}
	for _, b := range changes[0].Boxes {
		sides[b.Name] = fmt.Sprint(b.Side(), " in row ", b.Row)
	}
	require.Equal(t, map[string]string{"all": "more in row 0", "main": "more in row 1",
		"store": "more in row 2", "load": " in row 2", "spin": "more in row 2", "rare": " in row 2",
	}, sides)
	for _, side := range a.sides {
		require.Contains(t, side.run.Profiles, "x.cpu.pb.gz")
	}
}

func TestWrongArgumentsOfAB(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	plain := writeFile(t, "plain", func(b *bytes.Buffer) error { return nil })
	for _, c := range []struct {
		args string
		want []string
	}{
		{program, []string{"<new>"}},
		{program + " no-such-revision", []string{"no-such-revision", "a revision of git"}},
		{program + " " + plain, []string{"plain", "cannot be executed", "an executable file of mvccbench"}},
		{program + " " + t.TempDir(), []string{"it is a folder"}},
		{program + " " + program + " --profile", []string{"--profile", "--samples", "--report"}},
		{program + " " + program + " --engine=no", []string{"--engine", "mvcc, mvcc-direct"}},
		{program + " " + program + " --gate-pct=5", []string{"--gate-pct", "--gate"}},
		{program + " " + program + " --alpha=2", []string{"--alpha", "0.05"}},
		{program + " " + program + " --report=" + program, []string{"--report"}},
		{program + " " + program + " --samples=" + program, []string{"--samples", "folder"}},
	} {
		refused(t, append([]string{"ab"}, strings.Fields(c.args)...), c.want...)
	}
}
