package browsertest

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

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
