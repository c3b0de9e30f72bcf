//go:build mvcccheck

package mvcc

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// All schedules of small programs. To look at one that failed:
//
//	go test -tags mvcccheck -run TestSchedules ./mvcc -args -scenario 'a|update ra wa|store a' -schedule a21b20a9
//
// Without -schedule all schedules of the scenario are explored.
var (
	scenarioFlag = flag.String("scenario", "", "the only scenario to explore")
	boundFlag    = flag.Int("preemptions", -1, "explore -scenario with at most so many preemptions")
	scheduleFlag = flag.String("schedule", "", "the only schedule of it to execute")
	shareFlag    = flag.String("share", "", "a folder: explore what nobody has claimed there")
)

// A campaign explores scenarios one after the other, and counts.
type campaign struct {
	testing.TB
	share           string // a folder in which processes claim scenarios, or ""
	met             int    // scenarios so far, those of other processes included
	runs, scenarios int
	unbounded       int // scenarios explored wholly
}

func TestSchedules(t *testing.T) {
	c := &campaign{TB: t, share: *shareFlag}
	if c.share == "" && *scenarioFlag == "" && testing.CoverMode() == "" {
		c.share = t.TempDir()
		defer c.spread(t)()
	}
	oneProcessor(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // many small maps
	start := time.Now()
	switch {
	case *scheduleFlag != "":
		x := replay(t, *scenarioFlag, *scheduleFlag)
		t.Log(x.report())
		require.NoError(t, x.verdict())
		return
	case *scenarioFlag != "":
		c.explore(*scenarioFlag, *boundFlag)
	case stage.Race: // one actor moves at a time: the race detector is only slow
		for i, initial := range initials {
			c.pairs(initial+" patience=0", 216, 72*i)
		}
		for _, texts := range [][]string{longer, reused, overTables, inOrder} {
			c.explore(texts[0], 1)
		}
	case testing.Short():
		for i, initial := range initials {
			c.pairs(initial+" patience=0", 24, 8*i)
		}
		for _, text := range slices.Concat(longer[:4], reused[:2], overTables[:2], inOrder[:3]) {
			c.explore(text, -1)
		}
		for _, text := range slices.Concat(withIndex, followed, expiring, besideMoves, anomalies, three[:4]) {
			c.explore(text, 1)
		}
	default:
		for i, initial := range initials {
			c.pairs(initial+" patience=0", 3, i)
		}
		for _, text := range slices.Concat(longer, reused, overTables, inOrder) {
			c.explore(text, -1)
		}
		for _, text := range slices.Concat(reusedMore, overTablesMore) {
			c.explore(text, 3)
		}
		for _, text := range slices.Concat(withIndex, followed, expiring, besideMoves, anomalies, three) {
			c.explore(text, 2)
		}
	}
	t.Logf("%d interleavings of %d scenarios, %d of these explored wholly, in %v",
		c.runs, c.scenarios, c.unbounded, time.Since(start))
}

// spread has other processes explore some of the scenarios, one for each further processor, and
// returns a function that waits for them: a process has one scheduler, whose actors take turns.
func (c *campaign) spread(t *testing.T) (wait func()) {
	args := []string{"-test.run=^TestSchedules$", "-share=" + c.share,
		fmt.Sprint("-test.short=", testing.Short()), fmt.Sprint("-test.v=", testing.Verbose())}
	if end, ok := t.Deadline(); ok {
		args = append(args, fmt.Sprint("-test.timeout=", time.Until(end)))
	}
	var others []*exec.Cmd
	for range min(runtime.GOMAXPROCS(0), runtime.NumCPU()) - 1 {
		other := exec.CommandContext(t.Context(), os.Args[0], args...)
		other.Stdout = new(bytes.Buffer)
		other.Stderr = other.Stdout
		if err := other.Start(); err != nil { // the program of an emulated machine
			t.Log("all in one process: ", err)
			break
		}
		others = append(others, other)
	}
	return func() {
		for _, other := range others {
			if t.Failed() {
				_ = other.Process.Kill()
			}
			if err := other.Wait(); err != nil {
				t.Error(err)
			}
			t.Logf("another process:\n%s", other.Stdout)
		}
	}
}

// pairs explores the pair number first and every stride-th after it.
func (c *campaign) pairs(initial string, stride, first int) {
	n := 0
	for i, a := range pairwise {
		for _, b := range pairwise[i:] {
			if n%stride == first {
				c.explore(initial+"|"+a+"|"+b, -1)
			}
			n++
		}
	}
}

// explore explores one scenario, with at most bound preemptions if bound is not negative.
func (c *campaign) explore(text string, bound int) {
	c.Helper()
	if c.met++; c.share != "" {
		claim, err := os.OpenFile(filepath.Join(c.share, fmt.Sprint(c.met)), os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return // another process explores it
		}
		require.NoError(c, err)
		require.NoError(c, claim.Close())
	}
	sc, err := parseScenario(text)
	require.NoError(c, err)
	x := &explorer{scenario: sc, bound: bound, check: (*execution).verdict}
	bad, err := x.run()
	c.runs += x.runs
	c.scenarios++
	if err != nil {
		again := replay(c, text, bad.schedule())
		require.FailNow(c, err.Error(),
			"interleaving %d of this scenario, %d in all; when replayed: %v\n%s",
			x.runs, c.runs, again.verdict(), again.report())
	}
	if bound < 0 {
		c.unbounded++
	}
	c.Logf("%-60s %7d interleavings of up to %d steps, bound %d", text, x.runs, x.deepest, bound)
}

// replay executes one schedule, noting where accesses are made.
func replay(t testing.TB, text, schedule string) *execution {
	t.Helper()
	sc, err := parseScenario(text)
	require.NoError(t, err)
	next, err := follow(schedule)
	require.NoError(t, err)
	return execute(sc, true, func(_ *execution, ready []int) int { return next(ready) })
}

// outcome describes the result of an execution: the values returned, those in the end, and which
// operation had ended before which started.
func outcome(x *execution) string {
	var b strings.Builder
	for i, o := range x.ops {
		fmt.Fprint(&b, o.saw, o.aborted, o.swapped)
		for j, other := range x.ops {
			if o.ended < other.started {
				fmt.Fprint(&b, " ", i, "<", j)
			}
		}
		fmt.Fprintln(&b)
	}
	return fmt.Sprint(&b, x.end.saw)
}

// The reduction misses nothing: it finds all outcomes of plain enumeration up to a number of
// preemptions; and the two kinds of bounds agree.
func TestReductionMissesNothing(t *testing.T) {
	oneProcessor(t)
	for _, c := range []struct {
		text string
		most int // preemptions
	}{
		{"a|load a|store a", 3},
		{"|loadOrStore a|delete a", 2},
		{"a b|update wa wb|view ra rb", 2},
		{"a b|update ra wb|load b", 2},
		{"a|store a|load a|load a", 2},
	} {
		if testing.Short() || stage.Race {
			c.most = 1
		}
		sc, err := parseScenario(c.text)
		require.NoError(t, err)
		found := func(x explorer) map[string]string {
			all := map[string]string{}
			x.scenario = sc
			x.check = func(e *execution) error {
				if e.end != nil {
					o := outcome(e)
					all[o] = cmp.Or(all[o], e.schedule())
				}
				return e.verdict()
			}
			_, err := x.run()
			require.NoError(t, err)
			t.Logf("%s: bound %d, plain %v: %d interleavings, %d outcomes", c.text, x.bound, x.plain,
				x.runs, len(all))
			return all
		}
		reduced := found(explorer{bound: -1})
		bounded := found(explorer{bound: c.most})
		for o, schedule := range found(explorer{bound: c.most, plain: true}) {
			require.Contains(t, reduced, o, "%s: %s", c.text, schedule)
			require.Contains(t, bounded, o, "%s: %s", c.text, schedule)
		}
	}
}
