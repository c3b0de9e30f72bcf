package slow_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"runtime/debug"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/machine"
	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// watchdog bounds loops that end by themselves unless something is wrong.
const watchdog = time.Minute

// explain traces an operation and the plant that slows it, until the report is as wanted: on a busy
// machine a plant may come too late, or the operation be held up by something else. As the clocks
// of trace and operation are read at different moments, a part of it may not be known: that must
// not be most.
func explain(
	t *testing.T,
	plant func() (op func(), done func()),
	wanted func(*slow.Report) bool,
) *slow.Report {
	t.Helper()
	var r *slow.Report
	for deadline := time.Now().Add(watchdog); ; {
		r = explainOnce(t, plant)
		if r.Unknown < r.Seen/2 && wanted(r) {
			return r
		}
		if time.Now().After(deadline) {
			text, _ := json.MarshalIndent(r, "", " ")
			require.FailNow(t, "the report never names the plant", "%s", text)
		}
	}
}

// traced returns a trace of f, as the flight recorder has it.
func traced(t *testing.T, f func()) *bytes.Buffer {
	t.Helper()
	buf := new(bytes.Buffer)
	cfg := rtrace.FlightRecorderConfig{MinAge: 2 * watchdog, MaxBytes: 64 << 20}
	rec := rtrace.NewFlightRecorder(cfg)
	require.NoError(t, rec.Start())
	defer rec.Stop()
	f()
	_, err := rec.WriteTo(buf)
	require.NoError(t, err)
	return buf
}

// explainOnce traces one operation and reports on it.
func explainOnce(t *testing.T, plant func() (op func(), done func())) *slow.Report {
	t.Helper()
	var took time.Duration
	buf := traced(t, func() {
		op, done := plant()
		var wg sync.WaitGroup
		wg.Go(func() {
			start := time.Now()
			op()
			took = time.Since(start)
			slow.Mark(7, "op", took, time.Now())
		})
		wg.Wait()
		done()
	})
	r, tails, _, err := slow.FromTrace(buf, 7, took, machine.Usage{}, slow.Others{})
	require.NoError(t, err)
	require.Len(t, tails, 1)
	require.Equal(t, took, total(tails[0]))
	if off, _ := r.Off(); off-r.Assist > took/2 { // the sums know the collector's part of it
		require.Equal(t, slow.Off, tails[0].Parts[0].Kind)
	}
	require.Equal(t, r.Seen, r.Running+r.Assist+r.Runnable+r.Waiting+r.Syscall+r.Unknown)
	for _, d := range []time.Duration{r.Running, r.Assist, r.Runnable, r.Waiting,
		r.Syscall, r.Unknown} {
		require.GreaterOrEqual(t, d, time.Duration(0))
	}
	require.True(t, r.Complete())
	require.Equal(t, took, r.Took)
	t.Log(r.Verdict)
	require.NotEmpty(t, r.Verdict)
	return r
}

const plantedTime = 30 * time.Millisecond

//go:noinline
func plantedHolder(mu *sync.Mutex, held chan<- struct{}) {
	mu.Lock()
	close(held)
	time.Sleep(plantedTime)
	mu.Unlock()
}

func isTop(r *slow.Report, kind contention.Kind, function string) bool {
	return len(r.Waits) > 0 && r.Waits[0].Kind == kind &&
		strings.HasSuffix(r.Waits[0].Site.Func, function) &&
		r.Waits[0].Total > r.Seen/2
}

// isRoot says whether those did that in the end for which the longest wait was.
func isRoot(r *slow.Report, kind contention.Kind, function string) bool {
	if len(r.Waits) == 0 {
		return false
	}
	root := r.Waits[0].Root()
	return root.Kind == kind && strings.HasSuffix(root.Site.Func, function)
}

//go:noinline
func plantedReceive(c <-chan int) { <-c }

//go:noinline
func plantedSend(c chan<- int) { c <- 1 }

//go:noinline
func plantedSleep() { time.Sleep(plantedTime) }

func TestSleep(t *testing.T) {
	r := explain(t, func() (op, done func()) { return plantedSleep, func() {} },
		func(r *slow.Report) bool { return isTop(r, contention.Sleep, ".plantedSleep") })
	require.Contains(t, r.Verdict, "sleeping at slow_test.go:")
	require.EqualValues(t, -1, r.Waits[0].Waker.Goroutine, "a timer is no goroutine")
}

// Three goroutines that never stop share the only processor with the operation.
func TestStarved(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := explain(t, func() (op, done func()) {
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { testload.Spin(&stop) })
		}
		return func() { runtime.Gosched(); runtime.Gosched() }, func() { stop.Store(true); wg.Wait() }
	}, func(r *slow.Report) bool {
		return len(r.Waits) > 0 && r.Waits[0].Kind == contention.Scheduler &&
			r.Waits[0].Total > r.Seen/2 &&
			len(r.Waits[0].Others) > 0 &&
			strings.HasSuffix(r.Waits[0].Others[0].Site.Func, ".Spin") &&
			r.Processors.Used > 0.5
	})
	require.Regexp(t, `runnable, without a processor: \d\.\d goroutines for 1 processor, `+
		`while there ran `, r.Verdict)
	require.Equal(t, 1, r.Processors.Of)
	require.Greater(t, r.Processors.Wanted, r.Processors.Used)
	require.Greater(t, r.Runnable, r.Running)
	burner := r.Waits[0].Others[0]
	require.True(t, strings.HasSuffix(burner.Site.Func, ".Spin"), burner)
	require.Positive(t, burner.Goroutines)
	require.NotEqual(t, r.Goroutine, burner.Goroutine)
}

// A goroutine on a processor is interrupted: no part of its time there is long.
func TestRunning(t *testing.T) {
	r := explain(t, func() (op, done func()) {
		return func() {
			var stop atomic.Bool
			timer := time.AfterFunc(200*time.Millisecond, func() { stop.Store(true) })
			defer timer.Stop()
			testload.Spin(&stop)
		}, func() {}
	}, func(r *slow.Report) bool {
		off, _ := r.Off()
		return off == 0 && r.Running > r.Seen/2
	})
	require.Contains(t, r.Verdict, "running, as far as Go's scheduler knows")
}

var sink [][]byte

// The collector marks, stops the world, and has who allocates help.
func TestAssist(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	defer func() { sink = nil }()
	r := explain(t, func() (op, done func()) {
		sink = nil
		return func() {
			for range 4000 {
				sink = append(sink, make([]byte, 8<<10))
			}
		}, func() {}
	}, func(r *slow.Report) bool { return r.Assist > 0 && r.Stopped > 0 })
	require.LessOrEqual(t, r.Assist, r.Seen)
	require.Positive(t, r.Marking)
	require.LessOrEqual(t, max(r.Marking, r.Stopped), r.Seen)
	require.NotEmpty(t, r.Stops)
}

// An operation that began before the trace.
func TestTraceTooShort(t *testing.T) {
	buf := traced(t, func() {
		plantedSleep()
		slow.Mark(3, "op", time.Hour, time.Now())
	})
	r, _, _, err := slow.FromTrace(buf, 3, time.Hour, machine.Usage{}, slow.Others{})
	require.NoError(t, err)
	require.False(t, r.Complete())
	require.Equal(t, time.Hour, r.Took)
	require.Equal(t, r.End, r.Seen, "all that the trace has")
	require.Contains(t, r.Verdict, "The trace does not reach back to the start of the operation: "+
		"it has only the last ")
	sleeps := func(w slow.Wait) bool { return w.Kind == contention.Sleep }
	require.True(t, slices.ContainsFunc(r.Waits, sleeps))
}

func TestNoMark(t *testing.T) {
	slow.Mark(8, "op", 0, time.Now()) // there is no trace
	buf := traced(t, func() { slow.Mark(1, "op", 0, time.Now()) })
	read := func(data []byte) error {
		_, _, _, err := slow.FromTrace(bytes.NewReader(data), 2, time.Second, machine.Usage{},
			slow.Others{})
		return err
	}
	require.ErrorIs(t, read(buf.Bytes()), slow.ErrNoMark)
	require.ErrorContains(t, read([]byte("nonsense")), "reading the execution trace")
	require.ErrorContains(t, read(buf.Bytes()[:buf.Len()/2]), "reading the execution trace")
}

// The time before the operation, and that between its end and its mark, is not part of it.
func TestLateMark(t *testing.T) {
	lateMark := func() *slow.Report {
		var took time.Duration
		buf := traced(t, func() {
			c := make(chan int)
			var wg sync.WaitGroup
			wg.Go(func() {
				time.Sleep(2 * plantedTime)
				plantedSend(c)
			})
			plantedSleep()
			start := time.Now()
			plantedReceive(c)
			end := time.Now()
			took = end.Sub(start)
			plantedSleep()
			slow.Mark(1, "op", took, end)
			wg.Wait()
		})
		others := slow.Others{Longest: time.Minute} // so that nothing is forgotten
		r, _, _, err := slow.FromTrace(buf, 1, took, machine.Usage{}, others)
		require.NoError(t, err)
		require.True(t, r.Complete())
		return r
	}
	// A goroutine that loses its processor while it marks does so too late.
	require.Eventually(t, func() bool {
		r := lateMark()
		late := slices.ContainsFunc(r.Waits, func(w slow.Wait) bool {
			return w.Kind == contention.Sleep && w.Total > plantedTime/2
		})
		return !late && isTop(r, contention.ChanReceive, ".plantedReceive")
	}, watchdog, time.Millisecond)
}
