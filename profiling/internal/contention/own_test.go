package contention_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// Who waits for work is marked: surely, or if nobody else waits so, for as long as the window. A
// wait is the profiler's own if, going outwards, one of its functions comes before any of the
// program's.
func TestWhoWaitsForWork(t *testing.T) {
	const conn, own = "net/http.(*conn).serve", "github.com/mvccmap/mvccmap/"
	const prof = own + "profiling"
	const mutex, hour = contention.Mutex, time.Hour
	for _, c := range []struct {
		work  bool
		total time.Duration
		kind  contention.Kind
		stack []string
	}{
		{true, hour, contention.Network, []string{"net.(*conn).Read", conn}},
		{false, 1, contention.Network, []string{"net.(*conn).Read", "shop.stock", conn}},
		{false, 1, mutex, []string{"net.(*conn).Read", conn}},
		{true, hour, contention.Network, []string{"net.(*netFD).accept", "main.run", "main.main",
			"runtime.main"}},
		{true, 1, contention.WaitGroup, []string{"main.run", "main.main", "runtime.main"}},
		{false, 1, contention.Network, []string{"main.get", "main.main", "runtime.main"}},
		{true, hour, contention.Cond, []string{own + "gc.(*Reclaimer[...]).run",
			own + "internal/debug/goid.(*Set).Run"}},
		{true, hour, contention.Coroutine, []string{"runtime.coroswitch", "iter.Pull[...].func1.1",
			own + "durable.(*coroutine).Await", "iter.Pull[...].func1", "runtime.corostart"}},
		{false, 1, contention.Sleep, []string{"main.expired", own + "mvcc.(*DB).sweep"}},
		{true, time.Second, contention.Select, []string{"main.tick", "sync.(*WaitGroup).Go.func1"}},
		{false, 2 * time.Second, contention.ChanReceive, []string{"main.leak"}},
		{false, 1, contention.ChanReceive, []string{"main.wait", "main.work"}},
		{false, 1, contention.Network, []string{"main.query"}},
		{false, 1, contention.Select, []string{"net/http.f", "[truncated]"}},
		{false, 1, contention.Select, nil},
		{false, 1, mutex, []string{"main.(*shop).order", prof + ".(*wrapped).ServeHTTP",
			"net/http.serverHandler.ServeHTTP"}},
		{false, 1, mutex, []string{"net/http.(*body).Read", "shop/stock.Add",
			prof + ".(*wrapped).ServeHTTP"}},
		{false, 1, mutex, []string{"syscall.fsync", "os.(*File).Sync",
			"example.org/shop.(*journal).add",
			"net/http.HandlerFunc.ServeHTTP", prof + ".(*wrapped).ServeHTTP"}},
		{false, 1, mutex, []string{"net/http/httputil.(*ReverseProxy).ServeHTTP",
			prof + ".(*wrapped).ServeHTTP"}},
		{false, 1, mutex, []string{"internal/poll.runtime_pollWait", "net.(*conn).Write",
			prof + ".(*answer).Write",
			"main.show", prof + ".(*wrapped).ServeHTTP"}},
		{false, 1, mutex, []string{"main.stats", prof + "/internal/charts.(*Sampler).run"}},
		{false, 1, mutex, []string{"main.healthy", prof + ".(*health).serve",
			"net/http.(*conn).serve"}},
		{false, 1, mutex, []string{"github.com/google/pprof/profile.Merge", "main.profile"}},
		{false, 1, mutex, []string{"net/http.(*conn).serve"}},
		{false, 1, mutex, []string{prof + "_test.wait"}},
		{false, 1, mutex, []string{"C_function", "main.call"}},
		{false, 1, mutex, []string{"main.f[go.shape.struct { " + prof + ".Op }]"}},
		{false, 1, mutex, nil},
		{true, hour, mutex, []string{prof + ".(*wrapped).op", prof + ".(*wrapped).ServeHTTP",
			"main.main"}},
		{true, hour, mutex, []string{prof + "/internal/flight.(*flight).offer", prof + ".(*Op).Done",
			"main.order", prof + ".(*wrapped).ServeHTTP"}},
		{true, hour, mutex, []string{"time.Sleep", prof + "/internal/charts.(*Sampler).run"}},
		{true, hour, mutex, []string{"github.com/google/pprof/driver.PProf",
			prof + "/internal/pprofui.Show"}},
		{true, hour, mutex, []string{prof + "/prom.(*exporter).read",
			"net/http.(*ServeMux).ServeHTTP"}},
		{true, hour, mutex, []string{"github.com/mvccmap/mvccmap/internal/bench/machine.(*Hiccups).Run"}},
		{true, hour, mutex, []string{"runtime.traceReaderWait", "runtime/trace.Start.func1"}},
		{true, hour, mutex, []string{"runtime/trace.Stop", "main.main"}},
	} {
		crew := contention.NewCrew(time.Second)
		var frames []contention.Frame
		for _, f := range c.stack {
			frames = append(frames, contention.Frame{Func: f})
		}
		crew.Add(c.kind, frames, c.total)
		require.Equal(t, c.work, crew.WaitsForWork(c.kind, frames), "%s: %q", c.kind, c.stack)
	}
}

// A trace counts the waits of which it does not have the place, and those of the runtime's
// goroutines are for work.
func TestTraceCountsWhatItLeavesOut(t *testing.T) {
	early := make(chan int)
	done := make(chan struct{})
	go func() { defer close(done); waitReceive(early) }()
	testload.Await(t, 1, "waitReceive", "chan receive")
	r := traced(t, func() {
		waitSleep()
		close(early) // in the first part of the trace, which does not say where it waited
		<-done
		collect()
	})
	require.GreaterOrEqual(t, r.Nowhere, 20*time.Millisecond)
	require.True(t, slices.ContainsFunc(r.Waits, func(s contention.Site) bool {
		return s.Work && strings.HasPrefix(s.Func, "runtime.")
	}))
	_, ok := find(r.Waits, contention.ChanReceive, ".waitReceive")
	require.False(t, ok)
}
