package profiling_test

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
)

//go:noinline
func allocateMuch() (kept [][]byte) {
	for range 64 {
		kept = append(kept, make([]byte, 1<<20))
	}
	return kept
}

func read(t *testing.T, data []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	return p
}

// A stretch has the samples of its own time and none from before; stretches are summed up.
func TestRecorder(t *testing.T) {
	testload.Allocate(t)
	r, err := profiling.NewRecorder("the test")
	require.NoError(t, err)
	defer r.Close()
	runtime.KeepAlive(allocateMuch()) // before
	waitLong(t)
	var sum profiling.Profiles
	var allocated int64
	seen := func() bool {
		return sum["cpu"] != nil && value(read(t, sum["cpu"]), ".Garbage") > 0
	}
	for i := 0; i < 2 || !seen(); i++ {
		stop, err := r.Start()
		require.NoError(t, err)
		if i == 1 {
			runtime.KeepAlive(allocateMuch())
		}
		waitLong(t)
		list, err := stop()
		require.NoError(t, err)
		require.Contains(t, list.Kinds(), "block")
		require.Positive(t, value(read(t, list["block"]), ".waitForChannel"))
		var here int64
		if list["allocs"] != nil {
			p := read(t, list["allocs"])
			require.Equal(t, "alloc_space", p.DefaultSampleType)
			here = valueOf(p, "alloc_space", ".allocateMuch")
		}
		if i == 1 {
			require.Greater(t, here, int64(32<<20))
			allocated = here
		} else {
			require.Zero(t, here, "what was allocated before is not in it")
		}
		if sum, err = sum.Merge(list); err != nil {
			t.Fatal(err)
		}
	}
	require.Equal(t, allocated, valueOf(read(t, sum["allocs"]), "alloc_space", ".allocateMuch"))
	require.Equal(t, "cpu", sum.Kinds()[0])
	said, err := sum.Comment("two stretches")
	require.NoError(t, err)
	for _, kind := range said.Kinds() {
		require.Contains(t, read(t, said[kind]).Comments, "two stretches")
	}
}

// As long as a recorder is open, the CPU profiler is its own, and everybody is told
// so; other profiles can be had.
func TestRecorderKeepsTheCPUProfiler(t *testing.T) {
	srv := start(t, profiling.Config{})
	r, err := profiling.NewRecorder("the test")
	require.NoError(t, err)
	_, err = profiling.NewRecorder("another")
	require.ErrorContains(t, err, "the test takes CPU profiles itself")
	for _, at := range []string{"profile?seconds=1", "ui/new?type=cpu&seconds=1"} {
		a := get(t, srv.URL()+"/debug/pprof/"+at)
		require.Equal(t, http.StatusConflict, a.status)
		require.Contains(t, a.body, "busy: the test takes CPU profiles itself, and the process has one "+
			"CPU profiler")
	}
	require.Contains(t, get(t, srv.URL()+"/debug/pprof/").body,
		"Being captured: the test takes CPU profiles itself")
	require.Equal(t, http.StatusOK, get(t, srv.URL()+"/debug/pprof/allocs?seconds=0.01").status)
	r.Close()
	r.Close()
	require.Equal(t, http.StatusOK, get(t, srv.URL()+"/debug/pprof/profile?seconds=0.01").status)
	require.NotContains(t, get(t, srv.URL()+"/debug/pprof/").body, "Being captured")
}
