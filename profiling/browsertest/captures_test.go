package browsertest

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// A capture counts down in the page, which goes on meanwhile, and can be ended: the server
// is free for the next at once, and keeps nothing.
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
	b.shoot("taking")

	b.do(chromedp.Click(chromedp.CSS("#taking button")))
	b.await(`document.querySelector("#taking .what").textContent === "Cancelled."`)
	b.await(`(async () => !await ` + running + `)()`)
	require.Equal(t, srv.URL()+"/debug/pprof/", b.address())
	b.visit(srv.URL() + "/debug/pprof/")
	require.Contains(t, b.text(), "None yet")
}

// What ends while another capture is taken waits for a click, instead of ending that.
func TestCaptureDoesNotEndAnother(t *testing.T) {
	b := open(t)
	srv := start(t, profiling.Config{})
	b.visit(srv.URL() + "/debug/pprof/")
	b.do(chromedp.Click(chromedp.CSS("#cpu-30")))
	b.await(`document.querySelector("#taking button") !== null`)
	b.do(chromedp.Click(chromedp.CSS("#goroutine-now")))
	b.await(`document.querySelector("#taking li:nth-child(2) a") !== null`)
	require.Equal(t, srv.URL()+"/debug/pprof/", b.address())
	require.Equal(t, http.StatusOK, b.click("#taking a"))
	require.Equal(t, srv.URL()+"/debug/pprof/ui/1/flamegraph", b.address())
	b.clean()
}

// Without scripts, the form and the links lead to the flame graph.
func TestCaptureWithoutScripts(t *testing.T) {
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

// Two clicks compare any two captures of a kind.
func TestTwoClicksCompare(t *testing.T) {
	b := open(t)
	srv := start(t, profiling.Config{})
	for range 3 {
		b.visit(srv.URL() + "/debug/pprof/ui/new?type=goroutine")
	}
	b.visit(srv.URL() + "/debug/pprof/")
	b.do(chromedp.Click(chromedp.CSS("#capture-3 summary")))
	require.Equal(t, http.StatusOK, b.click("#capture-3 details a:nth-child(2)"))
	require.Equal(t, srv.URL()+"/debug/pprof/ui/3-1/flamegraph", b.address())
	b.clean()
}
