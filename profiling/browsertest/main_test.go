package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// browser is common to the tests: each has a profile of its own in it. It is nil where none is
// installed.
var browser context.Context

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run runs the tests with a browser.
func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "browsertest-*")
	if err != nil {
		return 0, err
	}
	defer func() { // processes of the browser may still write to it
		for end := time.Now().Add(watchdog); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}()
	program := find()
	if program == "" {
		return m.Run(), nil
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(),
		append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(program),
			chromedp.NoSandbox, // the pages are ours, and root may use no sandbox
			chromedp.DisableGPU,
			chromedp.WindowSize(1280, 800),
			chromedp.UserDataDir(filepath.Join(dir, "browser")),
			chromedp.WSURLReadTimeout(watchdog), // a busy machine takes its time to start it
			chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-quic", true),
			// Host names of other sites that lead to this machine, as those of an attacker's DNS
			// server may.
			chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1"),
		)...)
	defer cancel()
	browser, cancel = chromedp.NewContext(ctx)
	defer cancel()
	defer chromedp.Cancel(browser) // waits until it has ended
	if err := chromedp.Do(browser); err != nil {
		return 0, fmt.Errorf("%s: %w", program, err)
	}
	return m.Run(), nil
}

// find returns the path of a browser, "" if there is none.
func find() string {
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// A tab is a page in a browser, which knows nothing of other tabs.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // warnings and errors that the pages caused
}

// open opens a tab that ends with the test, or skips the test where no browser is installed.
func open(t *testing.T) *tab {
	t.Helper()
	if browser == nil {
		const missing = "no browser installed: neither chromium nor google-chrome is in PATH"
		if os.Getenv("MVCCMAP_BROWSER") == "required" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	ctx, cancel := context.WithTimeout(browser, watchdog)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
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

// press is click, by a script in the page, on an element that the page may replace or move.
func (b *tab) press(selector string) int {
	b.Helper()
	script := fmt.Sprintf(`(document.querySelector(%q).click(), true)`, selector)
	res, err := chromedp.RunResponse(b.ctx,
		func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
			_, err := chromedp.Evaluate[bool](script)(ctx, t)
			return chromedp.Void{}, err
		})
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

// flame says that a flame graph is drawn.
const flame = `document.querySelector("#stack-chart .boxtext") !== null`

// hasBox says that one has a box for a function.
func hasBox(function string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#stack-chart .boxtext")].some(
		box => box.textContent.includes(%q))`, function)
}

// text returns the text of the page.
func (b *tab) text() string {
	b.Helper()
	return eval[string](b, "document.body.innerText")
}

// screen sets the size of the page, which is that of a phone if it is narrow, and the color scheme.
func (b *tab) screen(width int64, scheme string) {
	b.Helper()
	var opts []chromedp.EmulateViewportOption
	if width < 1000 {
		opts = append(opts, chromedp.EmulateMobile)
	}
	b.do(chromedp.EmulateViewport(width, 800, opts...))
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return chromedp.Void{}, err
	})
}

// shoot saves a picture of the page among the artifacts of the test, if "go test -artifacts" is to
// keep them.
func (b *tab) shoot(name string) {
	b.Helper()
	if flag.Lookup("test.artifacts").Value.String() != "true" {
		return
	}
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
