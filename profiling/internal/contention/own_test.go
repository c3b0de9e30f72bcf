package contention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// A wait is the profiler's own if, going outwards, one of its functions comes before any of the
// program's. What is left out is counted, with its longest site.
func TestWhoseWaitsAre(t *testing.T) {
	const own = "github.com/mvccmap/mvccmap/profiling"
	for _, c := range []struct {
		whose string // "" if it is the program's
		stack []string
	}{
		{"", []string{"main.(*shop).order", own + ".(*wrapped).ServeHTTP", "net/http.serverHandler.ServeHTTP"}},
		{"", []string{"net/http.(*body).Read", "shop/stock.Add", own + ".(*wrapped).ServeHTTP"}},
		{"", []string{"syscall.fsync", "os.(*File).Sync", "example.org/shop.(*journal).add",
			"net/http.HandlerFunc.ServeHTTP", own + ".(*wrapped).ServeHTTP"}},
		{"", []string{"net/http/httputil.(*ReverseProxy).ServeHTTP", own + ".(*wrapped).ServeHTTP"}},
		{"", []string{"internal/poll.runtime_pollWait", "net.(*conn).Write", own + ".(*answer).Write",
			"main.show", own + ".(*wrapped).ServeHTTP"}},
		{"", []string{"main.stats", own + "/internal/charts.(*Sampler).run"}}, // a callback
		{"", []string{"main.healthy", own + ".(*health).serve", "net/http.(*conn).serve"}},
		{"", []string{"github.com/google/pprof/profile.Merge", "main.profile"}},
		{"", []string{"net/http.(*conn).serve"}},
		{"", []string{own + "_test.wait"}},
		{"", []string{"C_function", "main.call"}},
		{"", []string{"main.f[go.shape.struct { " + own + ".Op }]"}},
		{"", nil},
		{"the profiler itself", []string{own + ".(*wrapped).op", own + ".(*wrapped).ServeHTTP", "main.main"}},
		{"the profiler itself", []string{own + "/internal/flight.(*flight).offer", own + ".(*Op).Done",
			"main.order", own + ".(*wrapped).ServeHTTP"}},
		{"the profiler itself", []string{"time.Sleep", own + "/internal/charts.(*Sampler).run"}},
		{"the profiler itself", []string{"github.com/google/pprof/driver.PProf", own + "/internal/pprofui.Show"}},
		{"the profiler itself", []string{own + "/prom.(*exporter).read", "net/http.(*ServeMux).ServeHTTP"}},
		{"the profiler itself", []string{"github.com/mvccmap/mvccmap/internal/machine.(*Hiccups).Run"}},
		{"the profiler itself", []string{"runtime.traceReaderWait", "runtime/trace.Start.func1"}},
		{"the profiler itself", []string{"runtime/trace.Stop", "main.main"}},
	} {
		p := contention.NewProfile(time.Time{}, 0)
		var frames []contention.Frame
		for i, f := range append([]string{"sync.(*Mutex).Lock"}, c.stack...) {
			frames = append(frames, contention.Frame{Func: f, File: "f.go", Line: i + 1})
		}
		p.Add(contention.Mutex, frames, 3, time.Second)
		r := contention.FromProfiles(p.Profile, nil)
		if c.whose == "" {
			require.Len(t, r.Waits, 1, "%q", c.stack)
			require.Empty(t, r.LeftOut)
			require.Empty(t, r.Profile().Comments)
			continue
		}
		require.Empty(t, r.Waits, "%q", c.stack)
		require.Empty(t, r.Profile().Sample)
		require.Len(t, r.LeftOut, 1)
		l := r.LeftOut[0]
		require.Equal(t, c.whose, l.Whose)
		require.EqualValues(t, 3, l.Count)
		require.Equal(t, time.Second, l.Total)
		require.NotNil(t, l.Longest)
		require.NotEmpty(t, l.Longest.Func)
		require.Equal(t, []string{"Left out, " + l.String()}, r.Profile().Comments)
	}
	r := contention.FromProfiles(nil, nil)
	require.NotNil(t, r.LeftOut, "[] in JSON")
}

// A trace counts the waits that it leaves out too: of the runtime's goroutines, and those of which
// it does not have the place.
func TestTraceCountsWhatItLeavesOut(t *testing.T) {
	early := make(chan int)
	done := make(chan struct{})
	go func() { defer close(done); waitReceive(early) }()
	planted.Await(t, 1, "waitReceive", "chan receive")
	r := traced(t, func() {
		waitSleep()
		close(early) // in the first part of the trace, which does not say where it waited
		<-done
		collect()
	})
	whose := map[string]contention.LeftOut{}
	for _, l := range r.LeftOut {
		whose[l.Whose] = l
	}
	nowhere := whose["at places that the trace does not have"]
	require.Positive(t, nowhere.Count)
	require.GreaterOrEqual(t, nowhere.Total, 20*time.Millisecond)
	require.Nil(t, nowhere.Longest)
	require.NotEmpty(t, whose["goroutines of the runtime"])
	_, ok := find(r.Waits, contention.ChanReceive, ".waitReceive")
	require.False(t, ok)
}
