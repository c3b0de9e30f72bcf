package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
)

// plantFaults starts examples/slowshop with eight routes, seven of which have a fault. Until the test
// ends they have clients, and 64 connections have nothing to do.
func plantFaults(t *testing.T) (url string) {
	t.Helper()
	p := serving(t, nil, build(t, "examples/slowshop"), "-http", "127.0.0.1:0", "-faults")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	t.Cleanup(client.CloseIdleConnections) // after the clients
	get := func(path string) {
		res, err := client.Get(p.shop + path)
		if assert.NoError(t, err) {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	var together sync.WaitGroup
	for range 64 { // at once, so that each has a connection
		together.Go(func() { get("/") })
	}
	together.Wait()
	for range 6 {
		get("/mail")
	}
	var clients []func()
	for _, path := range strings.Fields("/order /order /order /report /report /catalogue /save /save " +
		"/price /price /price /vote /vote") {
		clients = append(clients, func() {
			get(path)
			time.Sleep(time.Millisecond)
		})
	}
	testload.Again(t, clients...)
	return p.url
}

// A path leads from the dashboard to a page that names the function of a fault: a click on each of
// the selectors.
type path struct {
	page, fault string // as docs/profiling.md has them
	function    string
	clicks      []string
}

const (
	contention = `#profiles a[href*="contention"]`
	traced     = `#complete button`
	slowly     = `nav a[href*="slow/"]`
)

func closer(kind string) string { return fmt.Sprintf(`#profiles a[href*="type=%s"]`, kind) }

// paths are those of the table, all ways of a page together.
var paths = []path{
	{"*all goroutines, 5 s*", "lock", "journal).add", []string{closer("wall")}},
	{"*all goroutines, 5 s*", "leak", "main.mail", []string{closer("wall")}},
	{"*all goroutines, 5 s*", "allocation", "main.report", []string{closer("wall")}},
	{"*all goroutines, 5 s*", "disk", "main.save", []string{closer("wall")}},
	{"*all goroutines, 5 s*", "processor", "main.price", []string{closer("wall")}},
	{"*all goroutines, 5 s*", "collector", "gcBgMarkWorker", []string{closer("wall"), `#about a[href*="collector"]`}},
	{"*CPU, 5 s*", "allocation", "main.report", []string{closer("cpu")}},
	{"*CPU, 5 s*", "collector", "gcBgMarkWorker", []string{closer("cpu")}},
	{"*CPU, 5 s*", "processor", "main.price", []string{closer("cpu")}},
	{"*heap*", "collector", "catalogue", []string{closer("heap")}},
	{"*allocs*", "allocation", "main.report", []string{closer("allocs")}},
	{"*mutex*", "lock", "journal).add", []string{closer("mutex")}},
	{"*block*", "lock", "journal).add", []string{closer("block")}},
	{"*goroutine*", "leak", "main.mail", []string{closer("goroutine")}},
	{"*contention*, *Trace*", "lock", "journal).add", []string{contention, traced}},
	{"*contention*, *Trace*", "allocation", "main.report", []string{contention, traced}},
	{"*contention*, *Trace*", "disk", "main.save", []string{contention, traced}},
	{"*contention*, *Trace*", "leak", "main.mail", []string{contention, traced, `#waitkinds a[href*="kind=idle"]`}},
	{"*contention*, *since the start*", "lock", "journal).add", []string{contention, "#cheap-start"}},
	{"*Slow*", "lock", "journal).add", []string{slowly}},
	{"*Slow*", "allocation", "main.report", []string{slowly}},
	{"*Slow*", "disk", "main.save", []string{slowly}},
	{"*Slow*", "storm", "lost over one key, to vote", []string{slowly}},
	{"*Conflicts*", "storm", "to vote", []string{"#losing a"}},
}

// names says that the page names a function: a flame graph where a box has room for it, another one
// in its text.
func names(function string) string {
	return `document.querySelector("#stack-chart") ? ` + hasBox(function) +
		fmt.Sprintf(` : document.querySelector("main").innerText.includes(%q)`, function)
}

// The faults are found by clicks alone, from the dashboard, by each page that claims to show them,
// and the table of docs/profiling.md has as many clicks. The log of the test has the seconds.
func TestFaultsAreFoundByClicks(t *testing.T) {
	b := open(t)
	url := plantFaults(t)
	b.screen(1280, "light")
	table := tableOfClicks(t)
	require.Equal(t, http.StatusOK, b.visit(url))
	b.await(`document.querySelectorAll("#operations td .tile:not([hidden]) path[d^=M]").length === 16`)
	b.await(`!document.querySelector("#losing").hidden`)
	b.shoot("eight-routes")
	require.Regexp(t, `^Map stock loses \d\d % of its attempts to conflicts`, eval[string](b, `document.querySelector("#losing").innerText`))
	require.Regexp(t, `^Running now\s+[\d.]+/s\s*operations\s+[\d.]+ m?s\s+worst p99, GET /\w+\s+[\d.]+ %\s*of the processors\s+[\d.]+/s\s*conflicts`,
		eval[string](b, `document.querySelector("#now").innerText`))
	require.Less(t, eval[int](b, `document.documentElement.scrollHeight`), 2500)
	require.Equal(t, http.StatusOK, b.press("#losing a"))
	b.await(`/% over one key, \d+ % to vote, at faults.go:\d+/.test(document.querySelector("#kept").innerText)`)
	require.Regexp(t, `#[0-9a-f]{8}\s+100 %`, b.text())
	require.Equal(t, http.StatusOK, b.press(`a[href="flamegraph"]`))
	b.await(hasBox("vote"))
	b.screen(1920, "light") // on a busy machine boxes of code that runs are narrow
	for i := 0; i < len(paths); {
		p, n := paths[i], 1
		for ; i+n < len(paths) && slices.Equal(paths[i+n].clicks, p.clicks); n++ {
		}
		same := slices.Clone(paths[i : i+n])
		i += n
		for _, p := range same {
			require.Equal(t, strconv.Itoa(len(p.clicks)), table[p.page][p.fault], "%s: %s", p.page, p.fault)
			delete(table[p.page], p.fault)
		}
		if testing.Short() && len(p.clicks) < 2 && p.page != "*Slow*" && p.clicks[0] != closer("wall") {
			continue // one click is one link, and other tests follow those
		}
		b.find(url, same)
	}
	for page, faults := range table {
		require.Empty(t, faults, "%s of the table: no path of the test", page)
	}
	b.clean()
}

// find follows paths of the same clicks until the page has named all functions: on a machine that is
// busy enough nothing may have been sampled.
func (b *tab) find(url string, same []path) {
	b.Helper()
	clicks := same[0].clicks
	for end := time.Now().Add(watchdog); len(same) > 0; {
		require.True(b, time.Now().Before(end), "%s does not name %s", same[0].page, same[0].function)
		b.visit(url)
		b.await(fmt.Sprintf(`document.querySelector(%q) !== null`, clicks[0]))
		start := time.Now()
		for _, selector := range clicks {
			if !eval[bool](b, fmt.Sprintf(`document.querySelector(%q) !== null`, selector)) {
				break // such as no kind of wait, as there was none
			}
			require.Equal(b, http.StatusOK, b.press(selector))
		}
		b.await(`document.querySelector("#stack-chart") === null || ` + flame)
		took := time.Since(start).Seconds()
		same = slices.DeleteFunc(same, func(p path) bool {
			named := eval[bool](b, names(p.function))
			if named {
				b.Logf("%s: %s, %d clicks, %.1f s", p.page, p.fault, len(clicks), took)
			}
			return named
		})
	}
}

// tableOfClicks returns the clicks that the table of docs/profiling.md has, by page and fault.
func tableOfClicks(t *testing.T) map[string]map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../docs/profiling.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(b), "\n| page | lock |")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "\n\n")
	faults := []string{"lock", "leak", "allocation", "collector", "disk", "processor", "storm"}
	table := map[string]map[string]string{}
	for _, line := range strings.Split(text, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 1+len(faults), line)
		table[cells[0]] = map[string]string{}
		for i, fault := range faults {
			if clicks, _, ok := strings.Cut(cells[1+i], ","); ok {
				table[cells[0]][fault] = clicks
			}
		}
	}
	return table
}

// site is a page on another origin of this machine, opened under a name that
// the browser takes for a foreign site.
func site(t *testing.T, html string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,">`+html)
	}))
	t.Cleanup(srv.Close)
	return strings.Replace(srv.URL, "127.0.0.1", "evil.example", 1)
}

// A page of another site that links to, embeds, frames and fetches.
func TestForeignPageCannotCapture(t *testing.T) {
	t.Parallel()
	b := open(t)
	srv := start(t, profiling.Config{})
	capture := srv.URL() + "/debug/pprof/ui/new?type=goroutine"
	evil := site(t, fmt.Sprintf(`
		<a id="capture" href="%[1]s">capture</a> <a id="index" href="%[2]s/debug/pprof/">index</a>
		<img id="img" src="%[1]s"> <iframe src="%[1]s"></iframe>
		<script>
			window.answer = fetch("%[1]s").then(() => "read", () => "refused")
			window.blind = fetch("%[1]s", {mode: "no-cors"}).then(() => "read", () => "refused")
		</script>`, capture, srv.URL()))
	b.visit(evil)
	b.await(`document.querySelector("#img").complete`)
	require.Zero(t, eval[int](b, `document.querySelector("#img").naturalWidth`))
	b.await(`(async () => await window.answer === "refused" && await window.blind === "refused")()`)
	require.Equal(t, http.StatusForbidden, b.click("#capture"))
	require.Contains(t, b.text(), "cannot be started from a page of another site")

	// Its link to the index works, and nothing was captured.
	b.visit(evil)
	require.Equal(t, http.StatusOK, b.click("#index"))
	require.Contains(t, b.text(), "None yet")

	// A page on another port of the same host, such as another tool's.
	b.visit(strings.Replace(evil, "evil.example", "127.0.0.1", 1))
	require.Equal(t, http.StatusForbidden, b.click("#capture"))
}

func TestTokenIsDemanded(t *testing.T) {
	t.Parallel()
	b := open(t)
	nothing := func() profiling.Workload { return profiling.Workload{} } // is measured
	srv := start(t, profiling.Config{Token: "0123456789abcdef", Workload: nothing})
	// A browser with a window asks for a password here.
	err := chromedp.Do(b.ctx, chromedp.Navigate(srv.URL()))
	require.ErrorContains(t, err, "ERR_INVALID_AUTH_CREDENTIALS")

	b = open(t)
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/?token=0123456789abcdef"))
	require.Equal(t, srv.URL()+"/", b.address(), "the token is gone from the address")
	require.Empty(t, eval[string](b, "document.cookie"), "scripts do not see the cookie")
	b.await(`document.querySelectorAll(".tile:not([hidden]) path[d]").length > 5`)
	require.NotContains(t, b.text(), "Workload", "no empty charts")
	require.Zero(t, eval[int](b, `document.querySelectorAll("canvas").length`))
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/"))
	require.Equal(t, http.StatusOK, b.click("#goroutine-now"))
	b.await(`document.querySelectorAll("#stack-chart .boxtext").length > 1`)
}
