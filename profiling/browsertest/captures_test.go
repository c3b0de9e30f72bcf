package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
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

// Without scripts, the form and the links lead to the flame graph.
func TestCaptureWithoutScripts(t *testing.T) {
	t.Parallel()
	b := open(t)
	srv := start(t, profiling.Config{})
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	})
	b.visit(srv.URL() + "/debug/pprof/")
	require.Equal(t, http.StatusOK, b.click("#goroutine-now"))
	require.Equal(t, srv.URL()+"/debug/pprof/ui/1/flamegraph", b.address())
	b.clean()
}

// The form takes what is chosen, and two clicks compare any two captures of a kind, or the form
// does: red is what has grown.
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
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for range 50 {
		wg.Go(func() { parkedHere(stop) })
	}
	buf := make([]byte, 4<<20)
	require.Eventually(t, func() bool {
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), ".parkedHere(") == 50
	}, watchdog, time.Millisecond)
	take()
	b.visit(at)
	b.do(chromedp.Click(chromedp.CSS("#capture-3 summary")))
	require.Equal(t, http.StatusOK, b.click("#capture-3 details a:nth-child(2)"))
	require.Equal(t, at+"ui/3-1/flamegraph", b.address())
	b.visit(at)
	eval[bool](b, `(document.querySelector("#diff select[name=base]").value = "1", true)`)
	require.Equal(t, http.StatusOK, b.click("#diff button"))
	require.Equal(t, at+"ui/3-1/flamegraph", b.address())
	b.await(hasBox("parkedHere"))
	b.shoot("diff")
	b.clean()
}

//go:noinline
func parkedHere(stop chan struct{}) { <-stop }

// The way of a user: from the page of profiles, by one click, to the flame graph of what runs.
func TestFlameGraphOfRunningLoad(t *testing.T) {
	b := open(t)
	load(t)
	srv := start(t, profiling.Config{Title: "sums"})
	srv.SetPhase("squares and cubes")
	n := 0
	// On a machine that is busy enough a second may pass without a sample of one of them.
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
		return eval[bool](b,
			hasBox("hotLoop")+"&&"+hasBox("sumOfSquares")+"&&"+hasBox("sumOfCubes"))
	}, watchdog, time.Millisecond)
	// The boxes are drawn, each caller at least as wide as what it calls.
	width := func(function string) float64 {
		return eval[float64](b, fmt.Sprintf(`[...document.querySelectorAll("#stack-chart .boxbg")]
			.find(box => box.textContent.includes(%q)).getBoundingClientRect().width`, function))
	}
	require.Positive(t, width("sumOfCubes"))
	require.Greater(t, width("hotLoop"), width("sumOfCubes"))
	b.shoot("flame")

	// The navigation leads back to the page of profiles, which now lists the capture.
	require.Equal(t, http.StatusOK, b.click(`nav a[aria-current="page"]`))
	require.Equal(t, srv.URL()+"/debug/pprof/", b.address())
	row := eval[string](b, fmt.Sprintf(`document.querySelector("#capture-%d").innerText`, n))
	require.Contains(t, row, "squares and cubes")
	require.Contains(t, row, "during 1s")
	b.clean()
}

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
