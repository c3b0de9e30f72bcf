package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

const accountsFile = `{
	"name": "accounts", "isolation": "snapshot",
	"params": {"keys": 50},
	"tables": {"a": {"records": "keys", "number": 10}},
	"draws": {"k": {"table": "a"}},
	"operations": {
		"look": {"weight": 9, "steps": [{"get": "a", "key": "k"}]},
		"count": {"steps": [{"modify": "a", "key": "k", "value": "old + 1"}]}
	},
	"invariants": [{"count": "a", "equals": "keys"}]
}`

func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// A file and a trace are run as the other workloads are, with the flags of their parameters, and
// their results have each operation's.
func TestWorkloadFiles(t *testing.T) {
	file := fileOf(t, "accounts.json", accountsFile)
	trace := fileOf(t, "web.trace", "put a 20\nget a\nget b\n")
	stdout, _ := succeed(t, "--workload", file+","+trace+",ycsb-f", "--engine=mvcc,rwmutex,xsync", "--threads=1",
		"--count=1", "--ops=3000", "--warmup=0s", "--keys=70", "--latency-sample=1", "--http=off", "--format=json")
	var run results.Run
	require.NoError(t, json.Unmarshal([]byte(stdout), &run))
	require.Len(t, run.Samples, 2+3+3, "xsync has no tables")
	require.Len(t, run.Header.Skips, 1)
	require.Equal(t, []string{"snapshot", "serializable"}, run.Header.Isolation)
	s := run.Samples[0]
	require.Regexp(t, `^Accounts/keys=70/file=[0-9a-f]{8}/isolation=snapshot$`, s.Title)
	require.Equal(t, "snapshot", s.Level)
	require.Contains(t, s.Metrics, "audits/s")
	require.InEpsilon(t, s.Metrics["ops/s"], s.Metrics["look:ops/s"]+s.Metrics["count:ops/s"], 0.01)
	require.Positive(t, s.Metrics["look:p99-ns"])
	require.NotContains(t, s.Metrics, "look:response-p99-ns")

	file = fileOf(t, "r.json", stdout)
	table, _ := succeed(t, "--workload", "ycsb-f", "--engine=mvcc", "--threads=1", "--count=1", "--ops=3000",
		"--warmup=0s", "--keys=70", "--latency-sample=1", "--http=off", "--format=table", "--rate=1e6")
	require.Regexp(t, `(?s)Operations, medians:\noperation .* resp p99.*\nread +YcsbF/keys=70/txn-size=1/rate=1000000 +1  mvcc`, table)
	require.Contains(t, table, "\nread_modify_write ")

	// Compare shows them if they are asked for.
	out, _ := succeed(t, "compare", file, file)
	require.NotContains(t, out, "look:")
	out, _ = succeed(t, "compare", file, file, "--unit=look:p99-ns")
	require.Contains(t, out, "look:p99-sec")
}

// What is wrong with a file is told by its line, and nothing is run.
func TestMistakesInWorkloadFiles(t *testing.T) {
	bad := fileOf(t, "bad.json", strings.Replace(accountsFile, `"number"`, `"nubmer"`, 1))
	good := fileOf(t, "good.json", accountsFile)
	for _, c := range []struct{ args, want string }{
		{"--workload=" + bad, `--workload: ` + bad + `:4: table a: unknown field "nubmer"; expected some of key, records`},
		{"--workload=" + good + "," + good, `--workload: two workloads are called "accounts"; expected different names`},
		{"--workload=./none.json", "--workload: open ./none.json: no such file"},
		{"--workload=" + fileOf(t, "x.trace", "go a\n"), `x.trace:1: expected "get KEY"`},
		{"--workload=" + good + " --theta=1", "--theta: no parameter of " + good},
		{"--workload=" + good + " --engine=xsync", "none of xsync can run " + good + ": it has no transactions over tables"},
		{"--workload=ycsb-a --engine=xsync --txn-size=4", "none of xsync can run ycsb-a: it has no transactions over several keys"},
		{"serve --workload=" + bad, "bad.json:4: table a: unknown field"},
	} {
		var stdout, stderr lines
		code := Run(t.Context(), strings.Fields(c.args), &stdout, &stderr)
		require.Equal(t, ExitUsage, code, "%s: %s", c.args, stderr.String())
		require.Contains(t, stderr.String(), c.want)
		require.Empty(t, stdout.String())
	}
}
