package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// watchdog bounds a test that hangs.
const watchdog = 5 * time.Minute

// A tab is a browser with one page. Its browser ends with the test.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // warnings and errors that the pages caused
}

// open starts a browser, or skips the test where none is installed.
func open(t *testing.T) *tab {
	t.Helper()
	dir, err := os.MkdirTemp("", "browsertest-*")
	require.NoError(t, err)
	t.Cleanup(func() { // processes of the browser may still write to it
		require.Eventually(t, func() bool {
			return os.RemoveAll(dir) == nil
		}, watchdog, 10*time.Millisecond)
	})
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(find(t)),
		chromedp.NoSandbox, // the pages are ours, and root may use no sandbox
		chromedp.DisableGPU,
		chromedp.WindowSize(1280, 800),
		chromedp.UserDataDir(dir),
		chromedp.WSURLReadTimeout(watchdog), // a busy machine takes its time to start it
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-quic", true),
		// Host names of other sites that lead to this machine: what an
		// attacker's DNS server answers.
		chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1"),
	)
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		chromedp.Cancel(ctx) // waits until the browser has ended
		cancel()
	})
	require.NoError(t, chromedp.Do(ctx))

	b := &tab{T: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" || m.Type == "warning" {
				b.mu.Lock()
				b.problems = append(b.problems, fmt.Sprintf("%s: %s (%s)", m.Source, m.Text, m.URL))
				b.mu.Unlock()
			}
		}
	}()
	return b
}

// find returns the path of a browser.
func find(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable",
		"google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no browser installed: neither chromium nor google-chrome is in PATH"
	if os.Getenv("MVCCMAP_BROWSER") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// do runs steps and fails the test if one fails.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, steps...))
}

// visit loads url and returns the status of the answer.
func (b *tab) visit(url string) int {
	b.Helper()
	res, err := chromedp.Run(b.ctx, chromedp.NavigateResponse(url))
	require.NoError(b, err, url)
	return int(res.Status)
}

// click follows the link that selector finds and returns the status of the
// answer.
func (b *tab) click(selector string) int {
	b.Helper()
	res, err := chromedp.RunResponse(b.ctx, chromedp.Click(chromedp.CSS(selector)))
	require.NoError(b, err, selector)
	return int(res.Status)
}

// address returns the URL of the page.
func (b *tab) address() string {
	b.Helper()
	url, err := chromedp.Run(b.ctx, chromedp.Location())
	require.NoError(b, err)
	return url
}

// eval returns the value of a JavaScript expression.
func eval[V any](b *tab, expression string) V {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[V](expression))
	require.NoError(b, err, expression)
	return v
}

// await waits until a JavaScript condition holds.
func (b *tab) await(condition string) {
	b.Helper()
	for {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](condition,
			chromedp.WithPollingTimeout(watchdog)))
		if err != nil && strings.Contains(err.Error(), "Cannot find context") {
			continue // the page was replaced while the question was on its way
		}
		require.NoError(b, err, condition)
		return
	}
}

// text returns the text of the page.
func (b *tab) text() string {
	b.Helper()
	return eval[string](b, "document.body.innerText")
}

// screen sets the size of the page and the color scheme.
func (b *tab) screen(width int64, scheme string, opts ...chromedp.EmulateViewportOption) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, 800, opts...))
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return chromedp.Void{}, err
	})
}

// shoot saves a picture of the page among the artifacts of the test, which
// "go test -artifacts" keeps.
func (b *tab) shoot(name string) {
	b.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b, err)
	path := filepath.Join(b.ArtifactDir(), name+".png")
	require.NoError(b, os.WriteFile(path, png, 0o644))
	b.Log("picture:", path)
}

// clean fails the test if a page wrote warnings or errors to the console, such
// as about a script that the content security policy blocked.
func (b *tab) clean() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b, b.problems)
}

// start starts a server on a free port that ends with the test.
func start(t *testing.T, cfg profiling.Config) *profiling.Server {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	srv, err := profiling.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// load burns a processor until the test ends.
func load(t *testing.T) {
	t.Helper()
	until(t, hotLoop)
}

//go:noinline
func hotLoop() { runtime.KeepAlive(sumOfSquares(20_000) + sumOfCubes(20_000)) }

//go:noinline
func sumOfSquares(n uint64) (sum uint64) {
	for i := range n {
		sum += i * i
	}
	return sum
}

//go:noinline
func sumOfCubes(n uint64) (sum uint64) {
	for i := range n {
		sum += i * i * i
	}
	return sum
}
