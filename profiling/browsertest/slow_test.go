package browsertest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling"
)

// plantSlow ends operations, some of which wait for a lock, until the test ends.
func plantSlow(t *testing.T, srv *profiling.Server) {
	t.Helper()
	testload.Slow(t, srv.Op("checkout").Done, time.Millisecond, 30*time.Millisecond)
	lookup := srv.Op("lookup")
	testload.Again(t, func() {
		time.Sleep(2 * time.Millisecond)
		lookup.Done(2 * time.Millisecond)
	})
}

// slowLine has the page of slow operations, at that URL, lead to a line of code, and ends the
// recording. Until then an operation that the page has may have made room for others.
func slowLine(b *tab, srv *profiling.Server, at string) (line string) {
	b.Helper()
	const link = `document.querySelector(".card.slow:not(.tail) .verdict a")`
	for {
		b.visit(at)
		b.await(link + ` !== null && document.querySelector(".tail .verdict") !== null`)
		srv.StopSlow()
		b.visit(at)
		if line = eval[string](b, link+`?.href ?? ""`); line != "" {
			return line
		}
		require.Equal(b, http.StatusOK, b.click("#start button"))
	}
}

// The page of slow operations updates itself, around the fields being filled in, and for the
// operation that a visitor has chosen.
func TestSlowPageUpdatesItself(t *testing.T) {
	b := open(t)
	srv := start(t, profiling.Config{Slow: &profiling.SlowConfig{Above: time.Hour,
		Every: 300 * time.Millisecond, Keep: 4}})
	plantSlow(t, srv)
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/slow/"))
	require.Equal(t, http.StatusOK, b.click("#stop"))
	eval[bool](b, `(document.querySelector("#start input[name=above]").value = "15ms", true)`)
	require.Equal(t, http.StatusOK, b.click("#start button"))
	require.Contains(t, b.text(), "Recording operations above 15ms")
	eval[bool](b, `(document.querySelector("#start input[name=percentile]").value = "97", true)`)
	b.await(`document.querySelectorAll(".card.slow:not(.tail)").length > 2`)
	require.Equal(t, "97", eval[string](b,
		`document.querySelector("#start input[name=percentile]").value`))
	require.Equal(t, http.StatusOK, b.press(`#ops a[href="?op=checkout"]`))
	b.await(`document.querySelectorAll(".card.slow:not(.tail)").length > 1`)
	require.Zero(t, eval[int](b, `[...document.querySelectorAll(".card.slow h3")].filter(h => !h.textContent.startsWith("checkout")).length`))
	b.clean()
}
