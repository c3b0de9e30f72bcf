package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/proof/history"
	"github.com/mvccmap/mvccmap/internal/proof/soak"
)

// verify runs "mvccbench verify" on a target within the test's process.
func verify(
	t *testing.T, ctx context.Context, target soak.Target, args ...string,
) (code int, stdout, stderr string) {
	t.Helper()
	var out, err lines
	code = run(&Env{Program: mvccbench(), ctx: ctx, stdout: &out, stderr: &err, target: target,
		args: append([]string{"verify", "--http=off"}, args...)})
	return code, out.String(), err.String()
}

// faulty is a map of which a load returned a value that nobody stored.
var faulty = soak.Target{Record: func(ctx context.Context, c history.Config) (*history.History,
	error) {
	h, err := history.Record(ctx, c)
	if err == nil {
		h.Txs[0].Ops = append(h.Txs[0].Ops, history.Op{Kind: history.OpRead, Key: c.Keys,
			Value: -5, Present: true})
	}
	return h, err
}}

var errBroken = errors.New("broken on purpose")

func TestVerify(t *testing.T) {
	top := filepath.Join(t.TempDir(), "new")
	dir := filepath.Join(top, "violations")
	code, stdout, stderr := verify(t, t.Context(), soak.Target{}, "--duration=300ms", "--workers=3",
		"--keys=2", "--seed=5", "--out="+dir)
	require.Equal(t, ExitOK, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { // in so short a time
		return strings.HasPrefix(line, "nothing was checked by ")
	})
	require.Len(t, lines, 3+len(soak.Kinds()))
	require.Equal(t, []string{"check", "rounds", "transactions", "ops", "aborted", "dependencies",
		"violated", "time"}, strings.Fields(lines[0]))
	for i, k := range soak.Kinds() {
		require.Equal(t, string(k), strings.Fields(lines[i+1])[0])
	}
	require.Regexp(t, `^total +[1-9]\d* +\d`, lines[len(lines)-2])
	require.Regexp(t, `^\d+ rounds? in [\d.]+ m?s from seed 5: nothing was violated$`,
		lines[len(lines)-1])
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
	}
	require.Contains(t, stderr, "seed 5\n")
	require.Regexp(t, `\[[\dms]+/300ms\] 0 transactions checked; `+
		`round 1 \(seed \d+\): \w+, 3 workers, 2 keys, GOMAXPROCS \d+\n`, stderr)
	require.NoDirExists(t, top, "nothing was violated, nothing was created")

	code, stdout, stderr = verify(t, t.Context(), soak.Target{}, "--duration=1ms", "--kind=onekey",
		"--quiet", "--out="+t.TempDir())
	require.Equal(t, ExitOK, code)
	require.Empty(t, stderr)
	require.NotContains(t, stdout, "total", "there is only one")
}

// A violation ends the run with 3; the records are saved, and judged alike when it is
// read again.
func TestVerifyFaultyMap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "violations")
	args := []string{"--duration=1h", "--kind=onekey", "--workers=2", "--keys=1",
		"--isolation=serializable", "--out=" + dir}
	code, stdout, stderr := verify(t, t.Context(), faulty, args...)
	require.Equal(t, ExitViolated, code, stderr)
	require.Contains(t, stderr, "VIOLATED: not linearizable: ")
	require.Contains(t, stdout, ": VIOLATED: onekey (seed ")
	said := regexp.MustCompile(`(?m)^mvccbench: verification violated: (.*)$`).FindStringSubmatch(stderr)
	require.NotNil(t, said, stderr)
	saved := regexp.MustCompile(`(?m)^saved in: (.*)$`).FindStringSubmatch(stderr)
	require.NotNil(t, saved, stderr)
	for _, name := range []string{soak.ReportFile, soak.HistoryFile} {
		require.FileExists(t, filepath.Join(saved[1], name))
	}
	require.Regexp(t, `(?m)^repeat it: mvccbench verify --seed \d+ --repeat --workers 2 --keys 1 --isolation serializable$`, stderr)

	code, stdout, stderr = call(t, "verify", "--check="+filepath.Join(saved[1], soak.HistoryFile))
	require.Equal(t, ExitViolated, code)
	require.Regexp(t, `(?m)^onekey +1 +\d+ `, stdout)
	anomaly := said[1][strings.Index(said[1], ": ")+2:]
	require.Contains(t, stderr, "VIOLATED: "+anomaly)
	require.Contains(t, stdout, anomaly)

	right := filepath.Join(t.TempDir(), "right.jsonl")
	f, err := os.Create(right)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, (&history.History{Kind: history.KindOneKey, Txs: []history.Tx{{ID: 1,
		Level: history.LevelOneKey, Status: history.StatusCommitted, Begin: 1, End: 2,
		Ops: []history.Op{{Kind: history.OpWrite, Value: 1}}}}}).Write(f))
	stdout, _ = succeed(t, "verify", "--check="+right)
	require.Contains(t, stdout, "nothing was violated")
}

// A record that cannot be saved is shown in full.
func TestVerifyCannotSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "violations")
	target := soak.Target{Record: func(context.Context, history.Config) (*history.History, error) {
		return nil, errors.Join(errBroken, os.WriteFile(dir, nil, 0o600)) // in the place of the folder
	}}
	code, _, stderr := verify(t, t.Context(), target, "--duration=1h", "--kind=onekey", "--out="+dir)
	require.Equal(t, ExitViolated, code)
	require.Contains(t, stderr, "could not be saved: ")
	require.NotContains(t, stderr, "saved in")

	var out lines
	v := &soak.Violation{Detail: strings.Repeat("line\n", 100), Folder: "folder"}
	describeViolation(&out, v, true)
	require.Contains(t, out.String(), "... and 76 more lines\n")
	v.Folder, v.SaveErr = "", errFull
	describeViolation(&out, v, true)
	require.Equal(t, 124, strings.Count(out.String(), "line\n"))
}

func TestVerifyWrongArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--duration=0s", []string{"--duration", "above 0"}},
		{"--duration=5", []string{"--duration", "duration", "5"}},
		{"--kind=nonsense", []string{"--kind", "nonsense", "append, onekey"}},
		{"--kind=append,append", []string{"--kind", "twice"}},
		{"--kind=", []string{"--kind", "expected"}},
		{"--workers=0", []string{"--workers", "from 1 to"}},
		{"--workers=100000", []string{"--workers", "from 1 to"}},
		{"--keys=-1", []string{"--keys", "from 1 to"}},
		{"--isolation=dirty", []string{"--isolation", "serializable", "mixed"}},
		{"--seed=-1", []string{"--seed", "uint"}},
		{"--out=", []string{"--out", "nothing given"}},
		{"--http=0.0.0.0:0", []string{"--http", "loopback"}},
		{"--check=" + file, []string{"--check", file, "history"}},
		{"--check=" + filepath.Join(file, "below"), []string{"--check", "a file"}},
		{"extra", []string{"extra"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := []string{"verify", c.args}
			if !strings.HasPrefix(c.args, "--out") {
				args = append(args, "--out="+t.TempDir())
			}
			refused(t, args, c.want...)
		})
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
}

// Where nothing was checked nothing is verified.
func TestVerifyOfNothing(t *testing.T) {
	nothing := &soak.Report{Rounds: 1, Kinds: []soak.KindTotals{{Kind: soak.OneKey,
		Totals: soak.Totals{Undecided: 2}}, {Kind: soak.Append}}}
	require.Contains(t, roundsIn(nothing), "1 round in")
	require.Equal(t, ExitCannotTell, exitCode(verified(nothing)))
	nothing.Kinds[0].Transactions = 1
	require.NoError(t, verified(nothing))
	var out lines
	require.NoError(t, writeReport(&out, nothing, ""))
	require.Contains(t, out.String(), "\n2 keys of onekey could not be judged in time, and count "+
		"neither way\nnothing was checked by append\nnothing was violated\n")
}

// A workload of several operations has the figures of each, and the tables of its medians have them.
func TestOperations(t *testing.T) {
	args := []string{"--workload=ycsb-f", "--engine=mvcc", "--threads=1", "--count=1", "--ops=3000",
		"--warmup=0s", "--keys=70", "--latency-sample=1", "--http=off"}
	file := filepath.Join(t.TempDir(), "r.json")
	succeed(t, append(args, "-o", file)...)
	s := loadRun(t, file).Samples[0]
	require.InEpsilon(t, s.Metrics["ops/s"], s.Metrics["get:ops/s"]+s.Metrics["read_modify_write:ops/s"], 0.01)
	require.Positive(t, s.Metrics["get:p99-ns"])
	require.NotContains(t, s.Metrics, "get:response-p99-ns")
	_, table := succeed(t, append(args, "--rate=1e6")...)
	require.Regexp(t, `(?s)Operations, medians:\noperation .* resp p99.*\nget +YcsbF/keys=70/rate=1000000 +1  mvcc`, table)
	require.Contains(t, table, "\nread_modify_write ")

	// Compare shows them if they are asked for.
	out, _ := succeed(t, "compare", file, file)
	require.NotContains(t, out, "get:")
	out, _ = succeed(t, "compare", file, file, "--unit=get:p99-ns")
	require.Contains(t, out, "get:p99-sec")
}
