package browsertest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
)

// plantSlow ends operations, some of which wait for a lock, until the test ends.
func plantSlow(t *testing.T, srv *profiling.Server) {
	t.Helper()
	planted.Slow(t, srv.Op("checkout").Done, time.Millisecond, 30*time.Millisecond)
	lookup := srv.Op("lookup")
	planted.Again(t, func() {
		time.Sleep(2 * time.Millisecond)
		lookup.Done(2 * time.Millisecond)
	})
}

// A visitor turns the recording on; the page lists the planted slow operation,
// and says which line it waited at and what let it wait.
func TestSlowOperationIsNamed(t *testing.T) {
	b := open(t)
	srv := start(t, profiling.Config{Slow: &profiling.SlowConfig{Above: time.Hour,
		Every: 300 * time.Millisecond, Keep: 4}})
	srv.SetPhase("a shop, 2 customers")
	plantSlow(t, srv)
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/"))
	require.Equal(t, http.StatusOK, b.click("#slow"))
	require.Equal(t, srv.URL()+"/debug/pprof/slow/", b.address())
	require.Contains(t, b.text(), "None yet.")
	require.Equal(t, http.StatusOK, b.click("#stop"))
	require.Contains(t, b.text(), "Not recording")
	b.shoot("slow-off")
	eval[bool](b, `(document.querySelector("#start input[name=above]").value = "15ms", true)`)
	require.Equal(t, http.StatusOK, b.click("#start button"))
	require.Equal(t, srv.URL()+"/debug/pprof/slow/", b.address())
	require.Contains(t, b.text(), "Recording operations above 15ms")

	card := `[...document.querySelectorAll(".card.slow:not(.tail)")].find(c => /^[\d.]+ \S+ of [\d.]+ \S+ waiting for a sync\.Mutex at planted\.go:\d+ \(planted\.TakeLock\)/.test(c.querySelector(".verdict").textContent))`
	// The page updates itself, around what is being typed.
	eval[bool](b, `(document.querySelector("#start input[name=percentile]").value = "97", true)`)
	b.await(card + ` !== undefined && document.querySelectorAll(".card.slow:not(.tail)").length > 2`)
	require.Equal(t, "97", eval[string](b,
		`document.querySelector("#start input[name=percentile]").value`))
	text := eval[string](b, card+`.innerText`)
	source := eval[string](b, card+`.querySelector(".verdict a").href`)
	require.Contains(t, text, "checkout took ")
	require.Contains(t, text, "planted.HoldLock")
	require.Contains(t, text, "a shop, 2 customers")
	require.Contains(t, text, "go tool trace slow-")
	require.Contains(t, eval[string](b, `document.querySelector("#ops").innerText`), "lookup")
	// The line of the verdict leads to the source.
	require.Equal(t, http.StatusOK, b.visit(source))
	require.Contains(t, eval[string](b, `document.querySelector(".chosen").textContent`), "mu.Lock()")
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/slow/"))
	require.Equal(t, 0, eval[int](b,
		`document.querySelectorAll(".card.slow small.at:not(:has(a))").length`))
	// All slow ones together; one kind alone, which stays while the page updates itself.
	const tail = `[...document.querySelectorAll(".tail")].find(c => c.innerText.startsWith("checkout: "))`
	b.await(tail + `?.querySelector(".verdict").textContent.includes("waiting for a sync.Mutex at planted.go:")`)
	require.Equal(t, http.StatusOK, b.click(`#ops a[href="?op=checkout"]`))
	require.Contains(t, b.text(), "Only checkout is shown below.")
	b.await(`document.querySelectorAll(".card.slow:not(.tail)").length > 1`)
	require.Zero(t, eval[int](b, `[...document.querySelectorAll(".card.slow h3")].filter(h => !h.textContent.startsWith("checkout")).length`))
	b.shoot("slow-only")
	require.Equal(t, http.StatusOK, b.click(`.tail .links a`))
	b.await(flame)
	require.True(t, eval[bool](b, hasBox("TakeLock")))
	srv.StopSlow() // now nothing makes room

	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/slow/"))
	// One click leads from the holder of the lock to its line.
	require.Equal(t, http.StatusOK, b.click(`.card.slow .waker .at a[href*="HoldLock"]`))
	require.Contains(t, b.address(), "/source?f=")
	chosen := eval[string](b, `document.querySelector(".chosen").textContent.trim()`)
	require.Regexp(t, `mu\.Unlock\(\)|time\.Sleep\(|}$`, chosen)
	b.clean()
}
