package results

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rowsOf are the rows that the gate looks at: of each pair of samples one.
func rowsOf(higherIsBetter bool, pairs ...[2][]float64) *Comparison {
	t := Table{Unit: "sec/op", Better: "lower"}
	if higherIsBetter {
		t.Unit, t.Better = "ops/s", "higher"
	}
	for i, p := range pairs {
		r := Row{Name: strconv.Itoa(i), Old: Side{N: len(p[0])}, New: Side{N: len(p[1])}}
		r.setShift(pair{before: p[0], after: p[1]}, higherIsBetter)
		t.Rows = append(t.Rows, r)
	}
	return &Comparison{Alpha: 0.05, Tables: []Table{t}}
}

// noisySamples returns times of an operation that is slower by a percentage, with normal noise.
func noisySamples(rnd *rand.Rand, n int, slower, noise float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = max(0, (1+slower/100)*(1+noise/100*rnd.NormFloat64()))
	}
	return list
}

// outcomes counts how the gate judges.
type outcomes map[string]int

// percent returns how many of a hundred had an outcome.
func (o outcomes) percent(outcome string) int {
	return int(math.Round(100 * float64(o[outcome]) / float64(o[Passed]+o[GateFailed]+o[CannotTell])))
}

// characteristic judges trials of comparisons with rows of synthetic noise, one of which is slower.
func characteristic(trials, rows, samples int, slower, noise float64) outcomes {
	rnd := rand.New(rand.NewPCG(1, uint64(samples)))
	o := outcomes{}
	for range trials {
		var pairs [][2][]float64
		for row := range rows {
			by := slower
			if row > 0 {
				by = 0
			}
			pairs = append(pairs, [2][]float64{noisySamples(rnd, samples, 0, noise),
				noisySamples(rnd, samples, by, noise)})
		}
		o[rowsOf(false, pairs...).Judge(10, false).Outcome]++
	}
	return o
}

// Of 20 changes that make an operation 30 % slower the gate finds 19, and of 20 that change nothing
// it passes 19, at 10 % of noise. More samples make it no worse.
func TestGateFindsAndPasses(t *testing.T) {
	for _, rows := range []int{1, 12} {
		for _, samples := range []int{10, 20, 50} {
			same := characteristic(200, rows, samples, 0, 10)
			slower := characteristic(200, rows, samples, 30, 10)
			least := 95
			if rows > 1 && samples == 10 { // of twelve benchmarks ten samples cannot always tell
				least = 66
			}
			require.GreaterOrEqual(t, same.percent(Passed), least, "%d rows of %d", rows, samples)
			require.GreaterOrEqual(t, slower.percent(GateFailed), least, "%d rows of %d", rows, samples)
			require.Zero(t, same[GateFailed])
			require.Zero(t, slower[Passed])
		}
	}
}

// docs/gate.md has in a table the verdicts of the gate on slowdowns: how many of a hundred fail,
// cannot be told and pass.
func TestGateCharacteristic(t *testing.T) {
	page, err := os.ReadFile("../../../docs/gate.md")
	require.NoError(t, err)
	text := regexp.MustCompile(` +`).ReplaceAllString(string(page), " ")
	for _, noise := range []float64{3, 10} {
		for _, samples := range []int{10, 20, 50} {
			row := fmt.Sprintf("| %v %% | %d |", noise, samples)
			for _, slower := range []float64{0, 5, 10, 20, 30} {
				o := characteristic(200, 1, samples, slower, noise)
				row += fmt.Sprintf(" %d / %d / %d |", o.percent(GateFailed), o.percent(CannotTell),
					o.percent(Passed))
			}
			require.Contains(t, text, row)
		}
	}
}

// A handful of noisy samples says nothing: neither that it is slower nor that it is not.
func TestGateOfFewNoisySamples(t *testing.T) {
	old, now := []float64{100, 160, 80, 130}, []float64{110, 150, 90, 140}
	require.Equal(t, CannotTell, rowsOf(true, [2][]float64{old, now}).Judge(10, false).Outcome)
}

// sameRuns returns runs of one program between which nothing was changed, as they were measured:
// by benchmark, the samples of each.
func sameRuns(t *testing.T) []map[string][]float64 {
	t.Helper()
	f, err := os.Open("testdata/same.txt")
	require.NoError(t, err)
	defer f.Close()
	var runs []map[string][]float64
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Fields(lines.Text())
		n, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		if n == len(runs) {
			runs = append(runs, map[string][]float64{})
		}
		for _, text := range fields[2:] {
			v, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			runs[n][fields[1]] = append(runs[n][fields[1]], v)
		}
	}
	require.NoError(t, lines.Err())
	require.Len(t, runs, 60)
	return runs
}

// On a machine that is not the same from one run to the next the sides take turns, of which each
// run gives a sample. Then the gate hardly ever says of the same that it is worse, nor of a third
// of the throughput that it passes.
func TestGateOfRunsThatTakeTurns(t *testing.T) {
	runs := sameRuns(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	same, slower := outcomes{}, outcomes{}
	for range 100 {
		samples := map[string]*[2][]float64{}
		for i := 0; i+1 < len(runs); i += 2 {
			first := rnd.IntN(2)
			for name, values := range runs[i] {
				if samples[name] == nil {
					samples[name] = new([2][]float64)
				}
				s := samples[name]
				s[first] = append(s[first], values[rnd.IntN(len(values))])
				others := runs[i+1][name]
				s[1-first] = append(s[1-first], others[rnd.IntN(len(others))])
			}
		}
		var pairs, third [][2][]float64
		for name, s := range samples {
			pairs = append(pairs, *s)
			if strings.HasPrefix(name, "Transfer") {
				less := slices.Clone(s[1])
				for i := range less {
					less[i] /= 3
				}
				s[1] = less
			}
			third = append(third, *s)
		}
		same[rowsOf(true, pairs...).Judge(10, false).Outcome]++
		slower[rowsOf(true, third...).Judge(10, false).Outcome]++
	}
	t.Logf("the same %v, slower %v", same, slower)
	require.LessOrEqual(t, same[GateFailed], 5)
	require.GreaterOrEqual(t, slower[GateFailed], 95)
}

// 0.01 is significant as one of four at 5 %, 0.02 not as one of three, and then nothing is that
// comes after it.
func TestHolm(t *testing.T) {
	require.Equal(t, []bool{false, true, false, false}, holm([]float64{0.03, 0.01, 0.02, 0.02}, 0.05))
	require.Equal(t, []bool{true, true}, holm([]float64{0.05, 0.025}, 0.05))
	require.Empty(t, holm(nil, 0.05))
}

// Each benchmark is judged by the first headline unit that it has, and by all that it has if it has
// none: one that has not the unit of the others does not pass unseen.
func TestGateJudgesEveryBenchmark(t *testing.T) {
	text := func(y, z float64) string {
		var b strings.Builder
		b.WriteString("pkg: p\nUnit ops/s better=higher\n")
		for i := range 10 {
			noise := 1 + 0.002*float64(i%5)
			fmt.Fprintf(&b, "BenchmarkX 1 %f ns/op %f ops/s\n", 100*noise, 1000/noise)
			fmt.Fprintf(&b, "BenchmarkY 1 %f ns/op\nBenchmarkZ 1 %f B/op\n", y*noise, z)
		}
		return b.String() + "PASS\nok  \tp\t1s\n"
	}
	judge := func(y, z float64) *Judgement {
		var sides [2]*Source
		for i, text := range []string{text(100, 8), text(y, z)} {
			in, err := Parse("x", strings.NewReader(text))
			require.NoError(t, err)
			sides[i], err = in.Source()
			require.NoError(t, err)
		}
		c, err := Compare(sides[0], sides[1], Options{Alpha: 0.05})
		require.NoError(t, err)
		return c.Judge(10, false)
	}
	same := judge(100, 8)
	require.Equal(t, Passed, same.Outcome, same)
	require.Equal(t, []string{"ops/s", "sec/op", "B/op"}, same.Units)
	require.Equal(t, 3, same.Rows, "X by ops/s alone")
	for name, j := range map[string]*Judgement{"Y": judge(300, 8), "Z": judge(100, 24)} {
		require.Equal(t, GateFailed, j.Outcome, name)
		require.Equal(t, name, j.Worse[0].Name)
	}
}
