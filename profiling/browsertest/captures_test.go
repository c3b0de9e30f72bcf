package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
)

// A capture counts down in the page, which goes on meanwhile, and can be ended: the server
// is free for the next at once, and keeps nothing. What ends meanwhile waits for a click, instead of
// ending that.
func TestCaptureCanBeCancelled(t *testing.T) {
	b := open(t)
	srv := start(t, profiling.Config{})
	b.visit(srv.URL() + "/debug/pprof/")
	b.do(chromedp.SetValue(chromedp.CSS("#new input[name=seconds]"), "100"))
	b.do(chromedp.Click(chromedp.CSS("#new button")))
	b.await(`/^\d+ s left$/.test(document.querySelector("#taking .what")?.textContent)`)
	b.await(`Number.parseInt(document.querySelector("#taking .what").textContent) < 99`)
	running := `fetch("").then(res => res.text()).then(text => text.includes("Being captured"))`
	b.await(`(async () => await ` + running + `)()`)

	// The processor has one profiler, which the page says.
	b.do(chromedp.Click(chromedp.CSS("#cpu-5")))
	b.await(`document.querySelector("#taking .failed")?.textContent.includes("busy: CPU profile")`)
	b.do(chromedp.Click(chromedp.CSS("#goroutine-now")))
	b.await(`document.querySelector("#taking a") !== null`)
	b.shoot("taking")

	b.do(chromedp.Click(chromedp.CSS("#taking button")))
	b.await(`document.querySelector("#taking .what").textContent === "Cancelled."`)
	b.await(`(async () => !await ` + running + `)()`)
	require.Equal(t, srv.URL()+"/debug/pprof/", b.address())
	require.Equal(t, http.StatusOK, b.click("#taking a"))
	require.Equal(t, srv.URL()+"/debug/pprof/ui/1/flamegraph", b.address())
	b.visit(srv.URL() + "/debug/pprof/")
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("[id^=capture-]").length`))
}

// The form takes what is chosen, a click compares a capture with the one before it, and a form any
// two.
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
	take()
	planted.Leak(t, 50)
	planted.Await(t, 50, "planted.Leaked(", "chan receive")
	take()
	b.visit(at)
	require.Equal(t, http.StatusOK, b.click(`#capture-3 a[href*="3-2"]`))
	require.Equal(t, at+"ui/3-2/flamegraph", b.address())
	b.visit(at)
	eval[bool](b, `(document.querySelector("#diff select[name=base]").value = "1", true)`)
	require.Equal(t, http.StatusOK, b.click("#diff button"))
	require.Equal(t, at+"ui/3-1/flamegraph", b.address())
	b.await(hasBox("Leaked"))
	b.shoot("diff")
	b.clean()
}

// The way of a user: from the page of profiles, by one click, to the flame graph of what runs. The
// navigation leads back to the page, which now lists the capture.
func TestFlameGraphOfRunningLoad(t *testing.T) {
	b := open(t)
	planted.Allocate(t)
	srv := start(t, profiling.Config{})
	srv.SetPhase("garbage")
	n := 0
	// On a machine that is busy enough a second may pass without a sample.
	require.Eventually(t, func() bool {
		require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/"))
		b.do(chromedp.Click(chromedp.CSS("#cpu-1")))
		n++
		at := fmt.Sprintf("/debug/pprof/ui/%d/flamegraph", n)
		var end string
		require.Eventually(t, func() bool { // an answer is lost when the page is replaced
			end, _ = chromedp.Run(b.ctx, chromedp.Evaluate[string](
				`document.querySelector("#taking .failed")?.textContent ?? location.pathname`))
			return end == at || strings.Contains(end, "Nothing was sampled")
		}, watchdog, 5*time.Millisecond)
		if end != at {
			return false
		}
		b.await(flame)
		return eval[bool](b, hasBox("Garbage"))
	}, watchdog, time.Millisecond)
	b.shoot("flame")
	require.Equal(t, http.StatusOK, b.click(`nav a[aria-current="page"]`))
	require.Equal(t, srv.URL()+"/debug/pprof/", b.address())
	row := eval[string](b, fmt.Sprintf(`document.querySelector("#capture-%d").innerText`, n))
	require.Contains(t, row, "garbage")
	b.clean()
}
