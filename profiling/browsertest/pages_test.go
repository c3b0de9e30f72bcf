package browsertest

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/cli"
	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// A view is a page with data in it. It is complete when ready holds.
type view struct{ name, url, ready string }

// refused reports whether the answer is an error.
func (v view) refused() bool { return v.name == "error" || v.name == "compare-nothing" }

// longPhase and longLabel have the greatest length that the pages show.
var (
	longPhase = "read-heavy, engine mvcc, 4 threads, keys " + strings.Repeat("x", 80)
	longLabel = strings.Repeat("y", 80)
)

// sweepReport saves the charts of a sweep, and returns where.
func sweepReport(t *testing.T, threads string, more ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "charts.html")
	var said bytes.Buffer
	require.Zero(t, cli.Run(t.Context(), append([]string{
		"--workload", "counter,read-heavy", "--theta", "0,0.5,0.9", "--threads", threads,
		"--engine", "mvcc,mvcc-direct,rwmutex,mutex,sync.Map,xsync", "--count", "2",
		"--duration", "10ms", "--warmup", "0", "--http", "off", "-q", "--report", file,
	}, more...), &said, &said), &said)
	return "file://" + file
}

// shop returns a database that somebody reads, with an index and a long value.
func shop(t *testing.T) *mvcc.DB {
	t.Helper()
	db := mvcc.NewDB(&mvcc.Options{TracePins: true})
	stock := mvcc.NewOrderedTable[string, []string](db, "stock", nil)
	_, err := mvcc.NewIndex(stock, "tag", func(_ string, tags []string) []string { return tags }, nil)
	require.NoError(t, err)
	mvcc.NewTable[int64, map[string]struct{ Name, Place string }](db, longName, nil)
	stock.Store("apple", []string{longLabel, "red"})
	stock.Store(longLabel, nil)
	s := db.Snapshot()
	watch := stock.Watch(t.Context(), nil)
	t.Cleanup(func() {
		s.Close()
		db.Close()
		runtime.KeepAlive(watch)
	})
	return db
}

// everything returns all pages of a service that does much, and of reports.
func everything(t *testing.T, b *tab) []view {
	t.Helper()
	sweep := sweepReport(t, "1,2,8")
	one := sweepReport(t, "2", "--duration", "30ms", "--interval", "2ms")
	bank := openBank(t)
	cfg := bank.config()
	cfg.Runs = savedRuns(t)
	cfg.Slow = &profiling.SlowConfig{Above: 15 * time.Millisecond, Every: 100 * time.Millisecond,
		Keep: 3}
	cfg.MutexFraction, cfg.BlockRate = 1, 1
	cfg.Data = map[string]*mvcc.DB{"shop": shop(t)}
	testload.Again(t, bank.vote, bank.vote, bank.vote)
	srv := start(t, cfg)
	srv.SetPhase(longPhase)
	plantSlow(t, srv)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "0" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	shop := srv.Wrap(mux)
	for i := range 50 {
		shop.ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequest(http.MethodGet, fmt.Sprint("/users/", i%5), nil))
	}

	at := srv.URL() + "/debug/pprof/"
	line := slowLine(b, srv, at+"slow/")
	take := func(path string) (page string) {
		b.visit(at + path)
		return b.address()
	}
	traced := take("contention/new?mode=trace&seconds=1")
	cheap := take("contention/new?since=start")
	wall := take("ui/new?type=wall&seconds=0.5")
	first := strings.TrimSuffix(take("ui/new?type=goroutine"), "flamegraph")
	second := strings.TrimSuffix(take("ui/new?type=goroutine"), "/flamegraph")
	diff := second + "-" + strings.TrimPrefix(first, at+"ui/")
	const drawn = `document.querySelector(".chart canvas") !== null`
	sum := at + "runs/" + longName + "/sums-squares-threads=2.cpu.pb.gz/"
	list := []view{
		{"dashboard", at + "live", `document.querySelectorAll(".tile:not([hidden])").length > 10 &&
			/\d/.test(document.querySelector('[data-chart="Workload/Throughput"] .legend b').textContent) &&
			document.querySelectorAll("#results td").length > 2 &&
			document.querySelectorAll("#operations tbody tr").length > 2 &&
			!document.querySelector("#losing").hidden`},
		{"profiles", at, ""},
		{"flamegraph", first + "flamegraph", flame},
		{"wall", wall, flame},
		{"top", first + "top", `document.querySelector("#rows tr") !== null`},
		{"peek", first + "peek?f=transfer", ""},
		{"source", first + "source?f=Serve", ""},
		{"difference", diff + "flamegraph", flame},
		{"contention", at + "contention/", ""},
		{"contention-traced", traced, ""},
		{"contention-cheap", cheap, ""},
		{"slow", at + "slow/", ""},
		{"conflicts", at + "conflicts/", `document.querySelector("#kept h2") !== null`},
		{"slow-source", line, ""},
		{"slow-flamegraph", at + "slow/all/flamegraph", flame},
		{"data", at + "data/", `document.querySelectorAll(".data tbody tr").length > 3`},
		{"runs", at + "runs/", ""},
		{"run", at + "runs/" + longName + "/", drawn},
		{"compare", at + "runs/compare?old=before&new=" + longName, ""},
		{"compare-nothing", at + "runs/compare?old=before&new=before", ""},
		{"run-flamegraph", sum + "flamegraph", flame},
		{"error", at + "nowhere", ""},
		{"report", sweep, drawn},
		{"report-of-one", one, drawn},
		{"comparison", comparison(t), `document.querySelectorAll(".flame .more").length > 0`},
	}
	return list
}

// screens are those on which pages are looked at, and by which rules of axe. Short runs have some
// of them, and load a page once, for the first.
var screens = []struct {
	width  int64
	scheme string
	rules  string
	short  bool
}{
	{320, "light", "", true},
	{320, "dark", "", false},
	{390, "light", colours, false},
	{390, "dark", everyRule, true},
	{1280, "light", everyRule, true},
	{1280, "dark", colours, false},
}

// The rules of axe; colours are for a screen that differs from another in these alone.
const (
	colours   = `runOnly: ["color-contrast"]`
	everyRule = `rules: {}`
)

// axe checks the page, and leaves the violations in window.found.
const axe = `(window.found = undefined, axe.run(document, {
	preload: false, resultTypes: ["violations"], %s,
}).then(
	r => window.found = r.violations.flatMap(v => v.nodes.slice(0, 3).map(n =>
		v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " "))).join("\n"),
	err => window.found = "axe: " + err), true)`

// Every page fits on every screen, can be read in both colours, and axe finds nothing on it.
func TestEveryPage(t *testing.T) {
	script, missing := os.ReadFile("node_modules/axe-core/axe.min.js")
	b := open(t)
	for _, p := range everything(t, b) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			loaded := false
			for _, s := range screens {
				if testing.Short() && !s.short {
					continue
				}
				b.screen(s.width, s.scheme)
				if !loaded || !testing.Short() {
					loaded = true
					b.do(chromedp.Navigate("about:blank")) // or else a link to a line loads nothing
					require.Equal(t, p.refused(), b.visit(p.url) >= 400)
					b.await(cmp.Or(p.ready, "true"))
					eval[bool](b, string(script)+"; true")
				}
				b.shoot(fmt.Sprintf("%s-%d-%s", p.name, s.width, s.scheme))
				b.fits(s.width, s.scheme)
				if s.rules == "" || missing != nil {
					continue
				}
				eval[bool](b, fmt.Sprintf(axe, s.rules))
				b.await(`window.found !== undefined`)
				if found := eval[string](b, `window.found`); found != "" {
					t.Errorf("%d px, %s:\n%s", s.width, s.scheme, found)
				}
			}
			if strings.HasPrefix(p.name, "report") {
				b.hasAllCharts()
			}
			if !p.refused() { // browsers tell of their statuses
				b.clean()
			}
			if missing != nil {
				t.Skip("axe-core is not installed; .ci/prepare installs it")
			}
		})
	}
}

// fits fails the test unless the page is no wider than the screen, has room for its content, and
// can be read.
func (b *tab) fits(width int64, scheme string) {
	b.Helper()
	require.Equal(b, width, eval[int64](b, "document.documentElement.scrollWidth"))
	require.Greater(b, eval[float64](b,
		`document.querySelector("#stack-holder")?.clientHeight ?? 999`), 150.0, "of the flame graph")
	require.GreaterOrEqual(b, eval[float64](b, contrast), 7.0)
	dark := eval[bool](b, `getComputedStyle(document.body).backgroundColor === "rgb(22, 24, 28)"`)
	require.Equal(b, scheme == "dark", dark)
}

// hasAllCharts fails the test unless a report shows all that is in it.
func (b *tab) hasAllCharts() {
	b.Helper()
	planned := eval[int](b, `JSON.parse(data.textContent).flatMap(s => s.charts).length`)
	require.Greater(b, planned, 5)
	require.Equal(b, planned, eval[int](b, `document.querySelectorAll(".chart canvas").length`))
	require.Zero(b, eval[int](b, `[...document.querySelectorAll(".chart")]
		.filter(card => card.querySelector(".legend").innerText.includes("undefined")
			|| card.querySelectorAll(".legend svg").length === 0).length`))
	require.Equal(b, 2, eval[int](b, `document.querySelectorAll("details table").length`))
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

// The keyboard alone walks through the flame graph, zooms, and opens the menus.
func TestPprofPagesByKeyboard(t *testing.T) {
	t.Parallel()
	b := open(t)
	srv := start(t, profiling.Config{})
	b.visit(srv.URL() + "/debug/pprof/ui/new?type=goroutine")
	press := func(keys ...string) {
		for _, key := range keys {
			b.do(chromedp.KeyEvent(key))
		}
	}
	const down, right, enter, escape = kb.ArrowDown, kb.ArrowRight, kb.Enter, kb.Escape
	focused := func() string { return eval[string](b, `document.activeElement.textContent.trim()`) }

	require.Equal(t, 1,
		eval[int](b, `document.querySelectorAll("#stack-chart [tabindex='0']").length`))
	eval[bool](b, `(document.querySelector("#stack-chart [tabindex='0']").focus(), true)`)
	require.Equal(t, "root", focused())
	press(down)
	first := focused()
	require.NotEqual(t, "root", first)
	require.Contains(t, eval[string](b, `document.activeElement.ariaLabel`), "%")
	press(right)
	require.NotEqual(t, first, focused())
	press(enter)
	require.Contains(t, b.address(), "?p=")
	require.NotEqual(t, "root", focused(), "what is zoomed in has the focus")
	press("m")
	require.Equal(t, "Show source code", focused())
	press(escape)
	require.Equal(t, "none",
		eval[string](b, `getComputedStyle(document.querySelector("#action-menu")).display`))

	eval[bool](b, `(document.querySelector("#view .menu-name").focus(), true)`)
	press(enter)
	require.Equal(t, "Top", focused())
	press(escape)
	require.Equal(t, "View", focused())
	res, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(enter), chromedp.KeyEvent(enter))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, int(res.Status))
	require.Contains(t, b.address(), "/ui/1/top")
	b.clean()
}

// Callers and callees lead to their lines, which the source shows.
func TestPeekLeadsToTheSource(t *testing.T) {
	t.Parallel()
	b := open(t)
	srv := start(t, profiling.Config{})
	b.visit(srv.URL() + "/debug/pprof/ui/new?type=goroutine")
	b.visit(srv.URL() + "/debug/pprof/ui/1/source?f=Serve")
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll(".chosen").length`))
	b.visit(srv.URL() + "/debug/pprof/ui/1/peek?f=Serve")
	link := `[...document.querySelectorAll("pre a")].findLast(a => a.textContent.includes("/profiling/service.go:"))`
	line := eval[string](b, link+`.textContent.split(":")[1]`)
	require.Equal(t, http.StatusOK, b.visit(eval[string](b, link+`.href`)))
	require.Contains(t, b.address(), "/ui/1/source?f=")
	require.Contains(t, b.text(), "profiling/service.go")
	require.Equal(t, line, eval[string](b,
		`document.querySelector(".chosen").previousElementSibling.textContent.trim()`))
	require.True(t, eval[bool](b, `document.querySelector(".chosen").getBoundingClientRect().top < innerHeight`))
	b.clean()
}
