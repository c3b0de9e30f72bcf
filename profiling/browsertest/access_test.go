package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// axe checks the page by the rules of axe-core, or by those in the braces, and has what it finds
// in the end.
const axe = `(window.found = undefined, axe.run(document, {resultTypes: ["violations"]%s}).then(
	r => window.found = r.violations.flatMap(v => v.nodes.slice(0, 3).map(n =>
		v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " "))).join("\n"),
	err => window.found = "axe: " + err), true)`

// A view is a page with data in it. It is complete when ready holds.
type view struct{ name, url, ready string }

// everything returns all pages of a service that does much, and of a report.
func everything(t *testing.T, b *tab) []view {
	t.Helper()
	bank := openBank(t)
	cfg := bank.config()
	cfg.Runs = savedRuns(t)
	cfg.Slow = &profiling.SlowConfig{Above: 15 * time.Millisecond, Every: 300 * time.Millisecond,
		Keep: 3}
	cfg.MutexFraction, cfg.BlockRate = 1, 1
	cfg.Auto = []profiling.AutoCapture{{}, {Kinds: []string{"goroutine"}, Above: time.Millisecond}}
	srv := start(t, cfg)
	srv.SetPhase("a bank that is busy")
	plantSlow(t, srv)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "0" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	shop := httptest.NewServer(srv.Wrap(mux))
	t.Cleanup(shop.Close)
	for i := range 50 {
		res, err := http.Get(fmt.Sprint(shop.URL, "/users/", i%5))
		require.NoError(t, err)
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}

	report := filepath.Join(t.TempDir(), "charts.html")
	cmd := exec.Command(build(t, "cmd/mvccbench"), "--workload", "counter,zipf-read",
		"--engine", "mvcc,rwmutex,sync.Map", "--threads", "1,2", "--count", "2",
		"--duration", "10ms", "--warmup", "0", "--http", "off", "-q", "--report", report)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Run())

	at := srv.URL() + "/debug/pprof/"
	b.visit(at + "slow/")
	b.await(`document.querySelectorAll(".card.slow .verdict").length > 1`)
	line := eval[string](b, `document.querySelector(".verdict a").href`)
	srv.StopSlow()
	b.visit(at + "contention/new?mode=trace&seconds=1")
	traced := b.address()
	b.visit(at + "contention/new?since=start")
	cheap := b.address()
	b.visit(at + "ui/new?type=goroutine&label=before")
	one := strings.TrimSuffix(b.address(), "flamegraph")
	b.visit(at + "ui/new?type=goroutine&label=after")
	two := strings.TrimSuffix(b.address(), "flamegraph")
	diff := strings.TrimSuffix(two, "/") + "-" +
		one[strings.LastIndex(strings.TrimSuffix(one, "/"), "/")+1:]
	const flame = `document.querySelector("#stack-chart .boxtext") !== null`
	sum := at + "runs/" + longName + "/sums-squares-threads=2.cpu.pb.gz/"
	list := []view{
		{"dashboard", at + "live", `document.querySelectorAll("canvas").length > 10 &&
			document.querySelectorAll("#operations tbody tr").length > 2`},
		{"profiles", at, ""},
		{"flamegraph", one + "flamegraph", flame},
		{"top", one + "top", `document.querySelector("#rows tr") !== null`},
		{"peek", one + "peek?f=transfer", ""},
		{"source", one + "source?f=Serve", ""},
		{"difference", diff + "flamegraph", flame},
		{"contention", at + "contention/", ""},
		{"contention-traced", traced, ""},
		{"contention-cheap", cheap, ""},
		{"slow", at + "slow/", ""},
		{"slow-source", line, ""},
		{"runs", at + "runs/", ""},
		{"run", at + "runs/" + longName + "/", ""},
		{"compare", at + "runs/compare?old=before&new=" + longName, ""},
		{"run-flamegraph", sum + "flamegraph", flame},
		{"error", at + "nowhere", ""},
		{"report", "file://" + report, `document.querySelector(".chart canvas") !== null`},
	}
	if _, err := exec.LookPath("dot"); err == nil {
		list = append(list, view{"graph", one + "graph", `document.querySelector("#graph0") !== null`})
	}
	return list
}

// Access: axe finds nothing on any page, in any size and colour; under -short, on a phone in
// the dark.
func TestAccess(t *testing.T) {
	script, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("axe-core is not installed; .ci/prepare installs it")
	}
	b := open(t)
	for _, p := range everything(t, b) {
		t.Run(p.name, func(t *testing.T) {
			b := open(t)
			b.screen(1280, "light")
			b.visit(p.url)
			if p.ready != "" {
				b.await(p.ready)
			}
			eval[bool](b, string(script)+"; true")
			for _, width := range []int64{1280, 390} {
				for _, scheme := range []string{"light", "dark"} {
					var opts []chromedp.EmulateViewportOption
					if width < 1000 {
						opts = append(opts, chromedp.EmulateMobile)
					}
					rules := ""
					if (width < 1000) != (scheme == "dark") { // the page is as it was, in other colours
						rules = `, runOnly: ["color-contrast"]`
					}
					if testing.Short() && (rules != "" || width > 1000) {
						continue
					}
					b.screen(width, scheme, opts...)
					eval[bool](b, fmt.Sprintf(axe, rules))
					b.await(`window.found !== undefined`)
					found := eval[string](b, `window.found`)
					if found != "" {
						t.Errorf("%d px, %s:\n%s", width, scheme, found)
					}
					if rules == "" {
						b.shoot(fmt.Sprintf("%s-%d-%s", p.name, width, scheme))
					}
				}
			}
		})
	}
}
