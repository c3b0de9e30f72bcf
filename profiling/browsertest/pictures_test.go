package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// picturesEnv names the folder that the pictures of docs/profiling.md go to.
const picturesEnv = "MVCCMAP_PICTURES"

// A process is one of our programs, which serves its pages.
type process struct {
	url, shop string // shop is the last address that it says, of slowshop
	stop      func()
}

// build builds the program in a folder of the main module.
func build(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(dir))
	cmd := exec.Command("go", "build", "-o", program, "./"+dir)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Run())
	return program
}

// serving starts a program, and returns when it has said where it serves.
func serving(t *testing.T, env []string, program string, args ...string) process {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			cmd.Process.Signal(os.Interrupt)
			cmd.Wait()
		}
	}
	t.Cleanup(stop)
	address := regexp.MustCompile(`http://[\d.:]+`)
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if urls := address.FindAllString(lines.Text(), -1); len(urls) > 0 {
			go func() {
				for lines.Scan() {
				}
			}()
			return process{urls[0], urls[len(urls)-1], stop}
		}
	}
	require.Fail(t, "the program does not say where it serves", "%s %v", program, args)
	return process{}
}

// picture saves a screenshot of the page, from the element that selector finds, or the top, down to
// height.
func (b *tab) picture(name, selector string, height float64) {
	b.Helper()
	top := 0.0
	if selector != "" {
		top = eval[float64](b, `document.querySelector(`+"`"+selector+"`"+`).getBoundingClientRect().top + scrollY - 12`)
	}
	const width, quality = 1000, 85
	beyond, q := true, int64(quality)
	var data []byte
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		res, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Format: page.CaptureScreenshotFormatWebp, Quality: &q, CaptureBeyondViewport: &beyond,
			Clip: &page.Viewport{Y: top, Width: width, Height: height, Scale: 1},
		})
		data = res.Data
		return chromedp.Void{}, err
	})
	require.NoError(b, os.WriteFile(filepath.Join(os.Getenv(picturesEnv), name+".webp"), data, 0o644))
}

// TestPictures makes the pictures of docs/profiling.md, where the environment
// variable says into which folder: from the programs that it talks about, with the
// commands that it gives.
func TestPictures(t *testing.T) {
	if os.Getenv(picturesEnv) == "" {
		t.Skip("set " + picturesEnv + " to the folder for the pictures")
	}
	b := open(t)
	b.screen(1000, "light")
	b.shop()
	b.runs()
}

// settle waits until the charts at url have points of 25 seconds.
func (b *tab) settle(url string) {
	b.Helper()
	require.Eventually(b, func() bool {
		res, err := http.Get(url + "/debug/pprof/live.json")
		require.NoError(b, err)
		defer res.Body.Close()
		var now struct{ Seq int }
		require.NoError(b, json.NewDecoder(res.Body).Decode(&now))
		return now.Seq >= 25
	}, watchdog, time.Second)
}

// shop looks at the example that is slow.
func (b *tab) shop() {
	program := build(b.T, "examples/slowshop")
	p := serving(b.T, nil, program, "-http", "127.0.0.1:0")
	b.settle(p.url)
	require.Equal(b, http.StatusOK, b.visit(p.url))
	b.await(`document.querySelector("#operations .tile:not([hidden])") !== null`)
	eval[bool](b, `(document.querySelector("#operations .tile").click(), true)`)
	b.await(`/\d/.test(document.querySelector('[data-chart="Operations/order"] .legend b')?.textContent)`)
	b.picture("dashboard", "", 700)
	require.Equal(b, http.StatusOK,
		b.visit(p.url+"/debug/pprof/contention/new?mode=trace&seconds=2"))
	b.picture("contention", "", 620)
	require.Equal(b, http.StatusOK, b.visit(p.url+"/debug/pprof/slow/"))
	eval[bool](b, `(document.querySelector("#start input[name=percentile]").value = "99", true)`)
	require.Equal(b, http.StatusOK, b.click("#start button"))
	require.Eventually(b, func() bool {
		require.Equal(b, http.StatusOK, b.visit(p.url+"/debug/pprof/slow/"))
		return eval[bool](b, `document.querySelector(".card.slow:not(.tail) .verdict") !== null`)
	}, watchdog, time.Second)
	b.picture("slow", ".card.slow:not(.tail)", 420)
	p.stop()

	p = serving(b.T, nil, program, "-http", "127.0.0.1:0", "-fix", "lock")
	b.settle(p.url)
	require.Equal(b, http.StatusOK, b.visit(p.url))
	aborts := `[data-chart="Map stock/Aborts by cause"]`
	tile := "document.querySelector(`[data-tile='Map stock/Aborts by cause']:not([hidden])`)"
	b.await(tile + " !== null")
	eval[bool](b, "("+tile+".click(), true)")
	b.await("/\\d/.test(document.querySelector(`" + aborts +
		"`)?.querySelector('.legend b')?.textContent)")
	eval[bool](b, "(document.querySelector(`"+aborts+"`).scrollIntoView(), true)")
	b.await("document.querySelector(`" + aborts + "`).querySelector('canvas') !== null")
	b.picture("aborts", aborts, 330)
	p.stop()

	p = serving(b.T, nil, program, "-http", "127.0.0.1:0", "-fix", "both")
	b.settle(p.url)
	require.Equal(b, http.StatusOK, b.visit(p.url+"/debug/pprof/ui/new?type=cpu&seconds=5"))
	b.await(flame)
	b.picture("flamegraph", "", 560)
	p.stop()
}

// runs compares two runs that were kept.
func (b *tab) runs() {
	program := build(b.T, "cmd/mvccbench")
	dir := b.TempDir()
	for _, run := range []struct{ name, gogc string }{{"gogc-100", "100"}, {"gogc-400", "400"}} {
		cmd := exec.Command(program, "--workload", "read-heavy", "--keys", "1k", "--theta", "0.9",
			"--read-pct", "10", "--engine", "mvcc", "--threads", "1,2",
			"--count", "10", "--duration", "500ms", "--profile", "-o", filepath.Join(dir, run.name+".json"),
			"--http", "off", "-q")
		cmd.Env = append(os.Environ(), "GOGC="+run.gogc)
		cmd.Stderr = os.Stderr
		require.NoError(b, cmd.Run())
	}
	p := serving(b.T, nil, program, "serve", dir, "--http", "127.0.0.1:0")
	require.Equal(b, http.StatusOK,
		b.visit(p.url+"/debug/pprof/runs/compare?old=gogc-100&new=gogc-400"))
	b.picture("compare", "", 700)
	require.Equal(b, http.StatusOK, b.click(`a[href*="cpu"][href$="flamegraph"]`))
	b.await(flame)
	b.picture("diff", "", 560)
	p.stop()
}
