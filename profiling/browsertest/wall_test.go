package browsertest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
)

// One flame graph, two clicks from the dashboard, has a box for each fault that is planted.
func TestOnePictureOfFiveFaults(t *testing.T) {
	b := open(t)
	srv := start(t, profiling.Config{})
	planted.Slow(t, func(time.Duration) {}, 0, 5*time.Millisecond)
	planted.Leak(t, 3)
	planted.Allocate(t)
	planted.Collect(t)
	planted.Sync(t)
	require.Equal(t, http.StatusOK, b.visit(srv.URL()))
	require.Equal(t, http.StatusOK, b.click(`#profiles a[href*="type=wall"]`))
	require.Contains(t, b.address(), "/ui/1/flamegraph")
	b.await(flame)
	b.screen(1280, "light")
	b.shoot("wall")
	page := b.address()
	for _, function := range []string{
		"TakeLock", "Leaked", "Garbage", "gcBgMarkWorker", "SyncFile",
	} {
		b.visit(page + "?f=" + function) // so that its box has room for its name
		b.await(flame)
		require.True(t, eval[bool](b, hasBox(function)), function)
	}
	b.visit(page)
	b.screen(390, "dark")
	b.shoot("wall-narrow")
	require.Equal(t, http.StatusOK, b.click(`a[href*="ti="]`))
	b.await(flame)
	require.False(t, eval[bool](b, hasBox("[chan receive]")))
	b.clean()
}
