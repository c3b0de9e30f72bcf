package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// runTable runs "mvccbench table" with args.
func runTable(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(ctx, append([]string{"table"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// csvTable returns the rows of a table, by the names of the columns.
func csvTable(t *testing.T, text string) []map[string]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	var list []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		list = append(list, m)
	}
	return list
}

func positive(t *testing.T, text string) {
	t.Helper()
	x, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	require.NoError(t, err)
	require.Positive(t, x)
}

var quickRavendb = []string{"ravendb", "--count=2", "--duration=5ms", "--warmup=1ms",
	"--threads=2", "--keys=50"}

func TestRavendbTable(t *testing.T) {
	code, stdout, stderr := runTable(t.Context(), append(quickRavendb, "--format=csv")...)
	require.Equal(t, ExitOK, code, stderr)
	rows := csvTable(t, stdout)
	require.Len(t, rows, 3)
	require.Equal(t, "Before (rwmutex)", rows[0][""])
	require.Equal(t, "After (mvcc)", rows[1][""])
	require.Equal(t, "Change", rows[2][""])
	for _, name := range []string{"Reads", "Writes", "2/3 Reads & 1/3 Writes"} {
		positive(t, rows[0][name])
		positive(t, rows[1][name])
		require.Regexp(t, `^[+-][\d.]+ %$`, rows[2][name])
	}
	require.Contains(t, stderr, "[ 1/12")

	code, stdout, stderr = runTable(t.Context(), append(quickRavendb, "--quiet", "--before=mutex",
		"--after=mvcc-direct")...)
	require.Equal(t, ExitOK, code, stderr)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "2/3 Reads & 1/3 Writes")
	require.Contains(t, stdout, "Before is the engine mutex: ",
		"it says what before and after stand for")
	require.Contains(t, stdout, "After is the engine mvcc-direct: ")
}

func TestFreeBatchTable(t *testing.T) {
	code, stdout, stderr := runTable(t.Context(), "free-batch", "--count=1", "--objects=200",
		"--txn-size=20,100", "--workers=1,2", "--cleanup=0,2", "--format=csv")
	require.Equal(t, ExitOK, code, stderr)
	rows := csvTable(t, stdout)
	require.Len(t, rows, 2*2*2)
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprint(row["objects_per_worker"], ";", row["objects_per_tx"], ";",
			row["workers"], ";", row["cleanup workers"]))
		require.Regexp(t, `^\d+\.\d{3}$`, row["time elapsed s"])
		require.Regexp(t, `^(\d+\.\d{3}|-)$`, row["cpu s"])
		require.Regexp(t, `^\d+\.\d{3}$`, row["put back s"])
	}
	require.Equal(t, []string{
		"200;20;1;0", "200;20;1;2", "200;20;2;0", "200;20;2;2",
		"200;100;1;0", "200;100;1;2", "200;100;2;0", "200;100;2;2",
	}, got)
}

func TestGoroutinesTable(t *testing.T) {
	var rows []map[string]string
	idle := func(row map[string]string) bool { return row["throughput ops/s"] == "0.0" }
	// A busy machine may leave no time for any operation: then a longer sample is taken.
	for d := 50 * time.Millisecond; rows == nil || slices.ContainsFunc(rows, idle); d *= 2 {
		require.Less(t, d, watchdog, "nothing is ever done")
		code, stdout, stderr := runTable(t.Context(), "goroutines", "--count=1", "--goroutines=300",
			"--rate=20000", fmt.Sprint("--duration=", d), "--warmup=0s", "--keys=10", "--format=csv")
		require.Equal(t, ExitOK, code, stderr)
		rows = csvTable(t, stdout)
		require.Len(t, rows, 4)
	}
	for i, engine := range []string{"mutex", "rwmutex", "mvcc", "mvcc-direct"} {
		require.Equal(t, engine, rows[i][""])
		positive(t, rows[i]["throughput ops/s"])
		positive(t, rows[i]["average ms"])
		positive(t, rows[i]["max ms"])
		require.Equal(t, "-", rows[i]["99.999 % ms"], "some thousand operations cannot tell")
		require.Equal(t, "0.0", rows[i]["errors/s"])
		require.Regexp(t, `^(\d+|-)$`, rows[i]["context switches/s"])
	}
}

// What is wrong with the arguments is said before anything is measured.
func TestTableUsage(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"ravendb --count=0", "--count"},
		{"ravendb --threads=0", "--threads"},
		{"ravendb --keys=0", "--keys"},
		{"ravendb --duration=0s", "--duration"},
		{"ravendb --warmup=-1s", "--warmup"},
		{"ravendb --before=nope", "--before"},
		{"ravendb --after=nope", "--after"},
		{"free-batch --objects=0", "--objects"},
		{"free-batch --txn-size=3", "--txn-size"},
		{"free-batch --txn-size=0", "--txn-size"},
		{"free-batch --workers=0", "--workers"},
		{"free-batch --workers=1,1", "--workers"},
		{"free-batch --cleanup=-1", "--cleanup"},
		{"free-batch --engine=xsync", "--engine"},
		{"free-batch --gc-threshold=64", "--gc-threshold"},
		{"goroutines --goroutines=0", "--goroutines"},
		{"goroutines --rate=0", "--rate"},
		{"goroutines --keys=0", "--keys"},
		{"goroutines --engine=mvcc,mvcc", "--engine"},
		{"goroutines --format=json", "--format"},
		{"goroutines --arrival=never", "--arrival"},
		{"nope", "nope"},
	} {
		refused(t, append([]string{"table"}, strings.Fields(c.args)...), c.says)
	}
}

// begin is a run of a form on an engine.
func begin(engine bench.EngineSpec) FormRun {
	w, _ := bench.WorkloadByName("begin")
	return FormRun{Config: bench.Config{Workload: w, Engine: engine, Threads: 1}, Ops: []uint64{10}}
}

// fill measures rows of one figure, two samples of each, and prints it as 7.
func fill(ctx context.Context, runs ...FormRun) (out, errs string, err error) {
	form := &Form{Head: []string{"row", "figure"}, Show: Shows{Format("%.0f")}}
	for i, run := range runs {
		form.Rows = append(form.Rows, &FormRow{
			Labels: []string{fmt.Sprint(i)}, Runs: []FormRun{run},
			Figures: func([]bench.Measurement) []float64 { return []float64{7} },
		})
	}
	var stdout, stderr lines
	err = (&Env{ctx: ctx, stdout: &stdout, stderr: &stderr}).Fill(
		Filling{Count: 2, Duration: 1, Format: "csv"}, []*Form{form})
	return stdout.String(), stderr.String(), err
}

// Ctrl-C: the rows that are finished are printed.
func TestFormInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mvcc, _ := bench.EngineByName("mvcc")
	first, second := begin(mvcc), begin(mvcc)
	second.Around = func() func() { cancel(); return func() {} }
	out, errs, err := fill(ctx, first, second, first)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ExitInterrupted, exitCode(err))
	require.Equal(t, "row,figure\n0,7\n", out)
	require.Contains(t, errs, "interrupted after 1 of 6 samples")

	// One that is over before it has begun.
	code, stdout, stderr := runTable(ctx, quickRavendb...)
	require.Equal(t, ExitInterrupted, code, stderr)
	require.NotContains(t, stdout, "Before (")
}

// A violation prints no table; a failure prints what there is.
func TestFormFails(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		out  string
	}{
		{&bench.Violation{Detail: "bad"}, ExitViolated, ""},
		{errors.New("boom"), ExitFailed, "row,figure\n"},
	} {
		spec, _ := bench.EngineByName("mvcc")
		spec.New = func(bench.Setup[uint64]) (bench.Engine[uint64], error) { return nil, c.err }
		out, _, err := fill(t.Context(), begin(spec))
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.code, exitCode(err))
		require.Equal(t, c.out, out)
	}
}

// What does not commit is no figure.
func TestFormOfNothing(t *testing.T) {
	require.Equal(t, []string{"x", "-", "1"}, (&FormRow{
		Labels: []string{"x"}, got: [][]float64{{1, NoFigure}, {1, 2, 0}},
	}).cells(Shows{Format("%.0f")}))
}

func TestTableFigures(t *testing.T) {
	require.Equal(t, "0", Count(0))
	require.Equal(t, "999", Count(999))
	require.Equal(t, "1,000", Count(1_000))
	require.Equal(t, "12,345,678", Count(12_345_678))
}
