package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

var quickRavendb = []string{"table", "ravendb", "--count=2", "--duration=5ms", "--warmup=1ms",
	"--threads=2", "--keys=50"}

func TestTables(t *testing.T) {
	freeBatch := "^objects_per_worker,objects_per_tx,workers,cleanup workers,time elapsed s,cpu s," +
		"put back s,put back cpu s\n"
	for _, names := range []string{"20,1,0", "20,1,2", "20,2,0", "20,2,2", "100,1,0", "100,1,2",
		"100,2,0", "100,2,2"} {
		freeBatch += "200," + names + `(,\d+\.\d{3},(\d+\.\d{3}|-)){2}\n`
	}
	goroutines := "^,throughput ops/s,achieved,average ms,99.9 % ms,99.99 % ms,99.999 % ms,max ms," +
		"errors/s,aborts/op,context switches/s\n"
	for _, engine := range []string{"mutex", "rwmutex", "mvcc", "mvcc-direct"} {
		// some thousand operations cannot tell the last percentile
		goroutines += engine + `,[1-9][\d.]*,[\d.]+ %,[\d.]+(,([\d.]+|-)){2},-,` +
			`[\d.]+,0\.0,[\d.]+,(\d+|-)\n`
	}
	const requests = `(,("[\d,]+"|[1-9]\d*)){3}\n`
	for _, c := range []struct{ args, want string }{
		{"ravendb --count=2 --warmup=1ms --threads=2 --keys=50 --duration=",
			"^,Reads,Writes,2/3 Reads & 1/3 Writes\nBefore \\(rwmutex\\)" + requests +
				"After \\(mvcc\\)" + requests + `Change(,[+-][\d.]+ %){3}\n$`},
		{"free-batch --count=1 --objects=200 --txn-size=20,100 --workers=1,2 --cleanup=0,2 " +
			"--gc-interval=", freeBatch + "$"},
		{"goroutines --count=1 --goroutines=300 --rate=20000 --warmup=0s --keys=10 --duration=",
			goroutines + "$"},
	} {
		// A busy machine may leave no time for any operation: then a longer sample is taken.
		for d := 5 * time.Millisecond; ; d *= 4 {
			code, stdout, stderr := call(t, append(strings.Fields("table "+c.args+d.String()),
				"--format=csv")...)
			require.Equal(t, ExitOK, code, stderr)
			require.Contains(t, stderr, "1/")
			if regexp.MustCompile(c.want).MatchString(stdout) {
				break
			}
			require.Less(t, d, 10*time.Second, "%s\n%s", c.want, stdout)
		}
	}
	code, stdout, stderr := call(t, append(quickRavendb, "--quiet", "--before=mutex",
		"--after=mvcc-direct")...)
	require.Equal(t, ExitOK, code, stderr)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "2/3 Reads & 1/3 Writes")
	require.Contains(t, stdout, "Before is the engine mutex: ",
		"it says what before and after stand for")
	require.Contains(t, stdout, "After is the engine mvcc-direct: ")
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
	var stdout, stderr lines
	require.Equal(t, ExitInterrupted, Run(ctx, quickRavendb, &stdout, &stderr), stderr.String())
	require.NotContains(t, stdout.String(), "Before (")
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

func TestTableFigures(t *testing.T) {
	require.Equal(t, "0", Count(0))
	require.Equal(t, "999", Count(999))
	require.Equal(t, "1,000", Count(1_000))
	require.Equal(t, "12,345,678", Count(12_345_678))
}
