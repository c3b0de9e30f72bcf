package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// sideVariable has this test program be one side of a comparison: one that says that it is
// slow, or one that fails.
const sideVariable = "MVCCBENCH_TEST_SIDE"

// beSide is that side, and returns its exit code.
func beSide(how string) int {
	if code, ok := map[string]int{"fails": 7, "violates": 3}[how]; ok {
		os.Stderr.WriteString("it has its reasons\n")
		return code
	}
	cmd := exec.Command(how, os.Args[1:]...)
	cmd.Stderr = os.Stderr
	i := slices.IndexFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "--output=") })
	file := strings.TrimPrefix(os.Args[i], "--output=")
	err := cmd.Run()
	var in *results.Input
	if err == nil {
		in, err = results.Load(file)
	}
	var r *results.Run
	if err == nil {
		r, err = in.Run()
	}
	var slower bytes.Buffer
	if err == nil {
		r.Samples[0].Metrics["ops/s"] = 1 // slower than the command, however busy the machine is
		err = errors.Join(results.Write(&slower, r), os.WriteFile(file, slower.Bytes(), 0o666))
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

// runAB runs a comparison of two programs, by few short samples.
func runAB(t *testing.T, old, now string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stderr, code = runCommand(t, append([]string{"ab", old, now, "--workload=counter",
		"--threads=1,2",
		"--count=8", "--ops=50", "--warmup=0"}, more...)...)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary files")
	return stdout, stderr, code
}

// The same program on both sides, and one that is slower: the kept results of both.
func TestAB(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(sideVariable, binary)
	self, err := os.Executable()
	require.NoError(t, err)

	stdout, stderr, code := runAB(t, binary, self, "--format=json",
		"--samples="+filepath.Join(dir, "s"),
		"--report="+filepath.Join(dir, "ab.html"))
	require.Equal(t, 0, code, stderr)
	var c results.Comparison
	require.NoError(t, json.Unmarshal([]byte(stdout), &c))
	require.True(t, c.Turns)
	require.Equal(t, results.GotWorse, c.Verdict.Outcome)
	i := slices.IndexFunc(c.Tables, func(t results.Table) bool { return t.Unit == "ops/s" })
	require.Len(t, c.Tables[i].Rows, 2)
	for _, row := range c.Tables[i].Rows {
		require.Equal(t, 8, row.New.N)
		require.Equal(t, results.Worsened, row.Verdict)
	}
	for _, side := range []string{"old", "new"} {
		in, err := results.Load(filepath.Join(dir, "s", side+".json"))
		require.NoError(t, err)
		r, err := in.Run()
		require.NoError(t, err)
		require.Equal(t, results.Outcome{Kind: results.Complete, Done: 16, Of: 16}, r.Outcome)
		require.Contains(t, r.Header.Args, "ab")
	}
	page, err := os.ReadFile(filepath.Join(dir, "ab.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "verdict: WORSE: of 2 comparisons of ops/s 2 worse")

	stdout, stderr, code = runAB(t, binary, self, "--gate", "--quiet")
	require.Equal(t, 1, code, "the gate")
	require.Contains(t, stdout, "gate: FAILED: 2 of 2 comparisons of ops/s")
	require.Contains(t, stderr, "gate: something is worse")
	require.NotContains(t, stderr, "[1/")

	_, stderr, code = runAB(t, binary, binary, "--samples="+filepath.Join(dir, "s"))
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "old.json already")
}

// A side that fails is told, with its message; nothing is measured after it.
func TestABOfASideThatFails(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for how, want := range map[string]int{"fails": 1, "violates": 3} {
		t.Setenv(sideVariable, how)
		samples := filepath.Join(t.TempDir(), "samples")
		_, stderr, code := runAB(t, binary, self, "--samples="+samples)
		left, err := os.ReadDir(samples)
		require.NoError(t, err)
		require.Empty(t, left, "there is no pair")
		require.Equal(t, want, code)
		require.Contains(t, stderr, "new ("+self+") failed with exit code ")
		require.Contains(t, stderr, "--workload=counter")
		require.Contains(t, stderr, "it has its reasons")
	}
}

// Ctrl-C within a sample of either side: both stop, nothing is left behind, and the exit code says
// so.
func TestABInterrupted(t *testing.T) {
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, "ab", binary, binary, "--workload=counter",
		"--threads=1", "--duration=1h")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	lines := startCommand(t, cmd)
	waitFor(t, lines, "[ 1/20] counter, mvcc, 1 thread, sample 1, ")
	begun := time.Now()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	waitFor(t, lines, "interrupted after 0 of 10 pairs of samples")
	require.Equal(t, 130, exitCode(t, cmd.Wait()))
	require.Less(t, time.Since(begun), 30*time.Minute, "the sample was to take an hour")
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Nobody reads the output: nothing is left behind all the same.
func TestABIntoAClosedPipe(t *testing.T) {
	temp := t.TempDir()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := exec.CommandContext(t.Context(), binary, "ab", binary, binary, "--workload=counter",
		"--threads=1", "--count=1", "--ops=50", "--warmup=0", "--quiet")
	cmd.Stdout, cmd.Env = w, append(os.Environ(), "TMPDIR="+temp)
	require.Error(t, cmd.Run())
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// forwards is the source of a program that is the command under test.
const forwards = `package main

import (
	"os"
	"os/exec"
)

func main() {
	cmd := exec.Command(os.Getenv("MVCCBENCH_TEST_REAL"), os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if cmd.Run() != nil {
		os.Exit(1)
	}
}
`

// A repo is a repository of git, in a folder of its own.
type repo struct {
	*testing.T
	dir string
}

// newRepo makes one for programs that forward to the command under test.
func newRepo(t *testing.T) repo {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: no git here")
	}
	r := repo{t, filepath.Join(t.TempDir(), "repo")}
	require.NoError(t, os.Mkdir(r.dir, 0o777))
	r.runGit(r.dir, "init", "--quiet", "--initial-branch=main")
	t.Setenv("MVCCBENCH_TEST_REAL", binary)
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -mod=mod") // with those, more is built already
	return r
}

func (r repo) runGit(dir string, args ...string) string {
	cmd := exec.CommandContext(r.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a",
		"-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(r, err, string(out))
	return string(out)
}

func (r repo) write(name, text string) {
	file := filepath.Join(r.dir, filepath.FromSlash(name))
	require.NoError(r, os.MkdirAll(filepath.Dir(file), 0o777))
	require.NoError(r, os.WriteFile(file, []byte(text), 0o777))
}

// quick are few samples of a comparison.
var quick = []string{"--workload=counter", "--threads=1", "--count=1", "--ops=50", "--warmup=0"}

// runAB compares two revisions from within a folder of the repository. Nothing is left behind.
func (r repo) runAB(folder string, args ...string) (string, int) {
	temp := r.TempDir()
	cmd := exec.CommandContext(r.Context(), binary, slices.Concat([]string{"ab"}, quick, args)...)
	cmd.Dir, cmd.Env = filepath.Join(r.dir, folder), append(os.Environ(), "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	left, readErr := os.ReadDir(temp)
	require.NoError(r, readErr)
	require.Empty(r, left)
	require.Equal(r, 1, strings.Count(r.runGit(r.dir, "worktree", "list"), "\n"))
	return string(out), exitCode(r.T, err)
}

// Revisions are built in work trees that are gone afterwards, also if they cannot be built.
func TestABOfRevisions(t *testing.T) {
	r := newRepo(t)
	r.write("m/go.mod", "module example.com/m\n\ngo 1.24\n")
	r.write("m/cmd/mvccbench/main.go", "package main\n\nfunc main() { doesNotCompile() }\n")
	r.runGit(r.dir, "add", ".")
	r.runGit(r.dir, "commit", "--quiet", "-m", "broken")
	r.write("m/cmd/mvccbench/main.go", forwards)
	r.runGit(r.dir, "commit", "--quiet", "-am", "works")
	out, code := r.runAB("m", "HEAD", ".")
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "building old: HEAD (")
	require.Contains(t, out, "building new: the work tree in ")
	require.Contains(t, out, "of 1 comparison of ops/s")

	out, code = r.runAB("m", ".", "HEAD~1")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "doesNotCompile")
	require.Contains(t, out, "new (HEAD~1)")

	out, code = r.runAB("m", ".", "HEAD~7")
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "no such revision")

	// A workspace would have the revision built with the modules of the work tree.
	r.write("go.work", "go 1.24\n\nuse ./m\n")
	t.Setenv("GOFLAGS", strings.ReplaceAll(os.Getenv("GOFLAGS"), "-mod=mod", ""))
	out, code = r.runAB("m", "HEAD", ".")
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "expected GOWORK=off")
	t.Setenv("GOWORK", "off")
	out, code = r.runAB("m", "HEAD", ".")
	require.Equal(t, 0, code, out)
}

// In a commit hook git's variables are of the commit that is being made: it stays as it is, and no
// hook runs within.
func TestABInAHook(t *testing.T) {
	for _, where := range []string{"clone", "linked work tree"} {
		for _, how := range []string{"commit", "commit -a"} {
			t.Run(where+", "+how, func(t *testing.T) {
				r := newRepo(t)
				const main = "cmd/mvccbench/main.go"
				r.write("go.mod", "module example.com/m\n\ngo 1.24\n")
				r.write(main, forwards)
				r.runGit(r.dir, "add", ".")
				r.runGit(r.dir, "commit", "--quiet", "-m", "one")
				top := filepath.Dir(r.dir)
				if where != "clone" {
					r.runGit(r.dir, "worktree", "add", "--quiet", "../linked", "-b", "topic")
				}
				r.write(".git/hooks/pre-commit", "#!/bin/sh\n"+binary+" ab HEAD . "+strings.Join(quick, " ")+
					" >"+top+"/said 2>&1\necho $? >"+top+"/code\n")
				r.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch "+top+"/checked-out\n")
				if where != "clone" {
					r.dir = filepath.Join(top, "linked")
				}
				r.write(main, forwards+"// two\n")
				r.write("new.txt", "new\n")
				r.runGit(r.dir, "add", "new.txt")
				if how == "commit" {
					r.runGit(r.dir, "add", ".")
				}
				r.runGit(r.dir, append(strings.Fields(how), "--quiet", "-m", "two")...)
				said, err := os.ReadFile(filepath.Join(top, "said"))
				require.NoError(t, err)
				code, err := os.ReadFile(filepath.Join(top, "code"))
				require.NoError(t, err)
				require.Equal(t, "0\n", string(code), string(said))
				require.Equal(t, main+"\nnew.txt\n",
					r.runGit(r.dir, "show", "--format=", "--name-only"))
				require.Contains(t, r.runGit(r.dir, "show", "HEAD:"+main), "// two")
				require.Empty(t, r.runGit(r.dir, "status", "--porcelain"))
				require.NoFileExists(t, filepath.Join(top, "checked-out"))
			})
		}
	}
}
