package browsertest

import (
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// The way of a user: from the index, by one click, to the flame graph of what
// runs, through the other pages and back.
func TestFlameGraphOfRunningLoad(t *testing.T) {
	b := open(t)
	load(t)
	srv := start(t, profiling.Config{Title: "sums"})
	srv.SetPhase("squares and cubes")

	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/"))
	require.Contains(t, eval[string](b, `document.querySelector("#now").innerText`),
		"squares and cubes")
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
		b.await(`document.querySelector("#stack-chart .boxtext") !== null`)
		return eval[bool](b, `["hotLoop", "sumOfSquares", "sumOfCubes"].every(
			name => [...document.querySelectorAll("#stack-chart .boxtext")].some(
				box => box.textContent.includes(name)))`)
	}, watchdog, time.Millisecond)
	// The boxes are drawn, each caller at least as wide as what it calls.
	width := func(function string) float64 {
		return eval[float64](b, fmt.Sprintf(
			`[...document.querySelectorAll("#stack-chart .boxbg")].find(box => box.textContent.includes(%q)).getBoundingClientRect().width`,
			function))
	}
	require.Positive(t, width("sumOfCubes"))
	require.Greater(t, width("hotLoop"), width("sumOfCubes"))
	b.shoot("flame")

	base := fmt.Sprintf("%s/debug/pprof/ui/%d/", srv.URL(), n)
	require.Equal(t, http.StatusOK, b.visit(base+"top"))
	b.await(`document.querySelector("#rows").innerText.includes("sumOfCubes")`)
	require.Equal(t, http.StatusOK, b.visit(base+"peek?f=sumOfCubes"))
	require.Contains(t, b.text(), "hotLoop")
	require.Equal(t, http.StatusOK, b.visit(base+"source?f=sumOfCubes"))
	require.Contains(t, b.text(), "sum += i * i * i")
	if _, err := exec.LookPath("dot"); err == nil {
		require.Equal(t, http.StatusOK, b.visit(base+"graph"))
		b.await(`document.querySelector("#graph0") !== null`)
		b.shoot("graph")
	}

	// The navigation leads back to the index, which now lists the capture.
	require.Equal(t, http.StatusOK, b.click(`nav a[aria-current="page"]`))
	require.Equal(t, srv.URL()+"/debug/pprof/", b.address())
	capture := fmt.Sprintf("#capture-%d", n)
	row := eval[string](b, fmt.Sprintf(`document.querySelector(%q).innerText`, capture))
	require.Contains(t, row, "cpu")
	require.Contains(t, row, "squares and cubes")
	require.Contains(t, row, "during 1s")
	require.Equal(t, http.StatusOK, b.click(capture+" a"))
	require.Equal(t, base+"flamegraph", b.address())

	// The flame graph of a difference shows what has grown.
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	take := func(label string) {
		b.visit(srv.URL() + "/debug/pprof/ui/new?type=goroutine&label=" + label)
	}
	take("before")
	for range 50 {
		wg.Go(func() { parkedHere(stop) })
	}
	buf := make([]byte, 4<<20)
	require.Eventually(t, func() bool {
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), ".parkedHere(") == 50
	}, watchdog, time.Millisecond)
	take("after")
	b.visit(srv.URL() + "/debug/pprof/")
	before := fmt.Sprintf("#capture-%d", n+1)
	require.Contains(t, eval[string](b, fmt.Sprintf(`document.querySelector(%q).innerText`, before)),
		"before")
	eval[bool](b, fmt.Sprintf(`(document.querySelector("#diff select[name=base]").value = "%d", true)`, n+1))
	require.Equal(t, http.StatusOK, b.click("#diff button"))
	require.Equal(t, fmt.Sprintf("%s/debug/pprof/ui/%d-%d/flamegraph", srv.URL(), n+2,
		n+1), b.address())
	b.await(`[...document.querySelectorAll("#stack-chart .boxtext")].some(box => box.textContent.includes("parkedHere"))`)
	b.shoot("diff")
	b.clean()
}

//go:noinline
func parkedHere(stop chan struct{}) { <-stop }

func TestFormTakesEveryProfile(t *testing.T) {
	b := open(t)
	load(t)
	ballast := make([]byte, 32<<20) // so that the heap profile has a live object
	defer runtime.KeepAlive(ballast)
	runtime.GC() // it shows what was live at the last collection
	srv := start(t, profiling.Config{})
	for i, kind := range []string{"heap", "allocs", "goroutine", "threadcreate"} {
		b.visit(srv.URL() + "/debug/pprof/")
		b.do(chromedp.SetValue(chromedp.CSS("#new select"), kind))
		require.Equal(t, http.StatusOK, b.click("#new button"), kind)
		require.Equal(t, fmt.Sprintf("%s/debug/pprof/ui/%d/flamegraph", srv.URL(), i+1), b.address())
		b.await(`document.querySelectorAll("#stack-chart .boxtext").length > 1`)
	}
	b.clean()
}

// Long names do not make the page of profiles wider than a screen.
func TestLongNamesFit(t *testing.T) {
	b := open(t)
	srv := start(t, profiling.Config{})
	srv.SetPhase("zipf-read, engine mvcc, 4 threads, keys " + strings.Repeat("x", 80))
	for range 2 {
		b.visit(srv.URL() + "/debug/pprof/ui/new?type=goroutine&label=" + strings.Repeat("y", 80))
	}
	b.fits("long", srv.URL()+"/debug/pprof/", nil)
	b.clean()
}

// fits fails the test unless a page is no wider than any screen, and can be read, light
// or dark. Once it is loaded, ready is called.
func (b *tab) fits(name, url string, ready func()) {
	b.Helper()
	for _, width := range []int64{320, 390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			var opts []chromedp.EmulateViewportOption
			if width < 1000 {
				opts = append(opts, chromedp.EmulateMobile)
			}
			b.screen(width, scheme, opts...)
			b.visit(url)
			if ready != nil {
				ready()
			}
			require.Equal(b, width, eval[int64](b, "document.documentElement.scrollWidth"), url)
			require.GreaterOrEqual(b, eval[float64](b, contrast), 7.0, url)
			dark := eval[bool](b, `getComputedStyle(document.body).backgroundColor === "rgb(22, 24, 28)"`)
			require.Equal(b, scheme == "dark", dark, url)
			b.shoot(fmt.Sprintf("%s-%d-%s", name, width, scheme))
		}
	}
}

// contrast is the ratio of the luminances of text and background, as the Web
// Content Accessibility Guidelines define it.
const contrast = `(() => {
	const light = color => {
		const [r, g, b] = color.match(/\d+/g).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
		return .2126 * r + .7152 * g + .0722 * b
	}
	const style = getComputedStyle(document.body)
	const [dark, bright] = [light(style.color), light(style.backgroundColor)].sort((a, b) => a - b)
	return (bright + .05) / (dark + .05)
})()`
