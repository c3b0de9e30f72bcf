package command

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/cli"
)

// The program of examples/workload measures its own workload unless told otherwise, lists it first,
// and builds itself to compare two builds.
func TestExample(t *testing.T) {
	program := filepath.Join(t.TempDir(), "seats")
	out, err := exec.Command("go", "build", "-o", program, "../../examples/workload").CombinedOutput()
	require.NoError(t, err, "%s", out)
	short := []string{"--threads=1", "--count=2", "--ops=200", "--warmup=0"}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"list"}, []string{"  booking ", "  tpcc "}},
		{append([]string{"run", "--http=off"}, short...), []string{"\nBenchmarkBooking/engine=mvcc/threads=1",
			"\nBenchmarkBooking/engine=rwmutex/threads=1", " book:ops/s"}},
		{append([]string{"run", "--http=off", "--workload=counter"}, short...), []string{"\nBenchmarkCounter/"}},
		{append([]string{"ab", ".", "."}, short...), []string{"Booking"}},
	} {
		if testing.Short() && c.args[0] == "ab" { // which builds the program twice
			continue
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program, c.args...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Run(), "%v: %s", c.args, &stderr)
		for _, says := range c.says {
			require.Contains(t, stdout.String(), says)
		}
	}
}

// A name that is taken is refused before anything is measured.
func TestNames(t *testing.T) {
	own := func(names ...string) (list []bench.Workload) {
		for _, name := range names {
			list = append(list, bench.Workload{Name: name})
		}
		return list
	}
	for says, list := range map[string][]bench.Workload{
		`workload 2 of Main, ""`:         own("a", ""),
		`workload 1 of Main, "transfer"`: own("transfer"),
		`workload 2 of Main, "a"`:        own("a", "a"),
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), list, []string{"list"}, &stdout, &stderr))
		require.Empty(t, stdout.String())
		require.Contains(t, stderr.String(), says)
	}
}
