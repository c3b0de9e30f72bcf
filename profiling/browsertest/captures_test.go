package browsertest

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
)

// The form takes what is chosen, and a click compares a capture with the one before it.
func TestCapturesAreCompared(t *testing.T) {
	t.Parallel()
	b := open(t)
	srv := start(t, profiling.Config{})
	at := srv.URL() + "/debug/pprof/"
	take := func() {
		b.visit(at)
		b.do(chromedp.SetValue(chromedp.CSS("#new select"), "goroutine"))
		require.Equal(t, http.StatusOK, b.click("#new button"))
		b.await(flame)
	}
	take()
	planted.Leak(t, 50)
	planted.Await(t, 50, "planted.Leaked(", "chan receive")
	take()
	b.visit(at)
	require.Equal(t, http.StatusOK, b.click(`#capture-2 a[href*="2-1"]`))
	require.Equal(t, at+"ui/2-1/flamegraph", b.address())
	b.await(hasBox("Leaked"))
	b.shoot("diff")
	b.clean()
}
