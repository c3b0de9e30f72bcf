package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

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
	srv := start(t, profiling.Config{Token: "0123456789abcdef"})
	// A browser with a window asks for a password here.
	err := chromedp.Do(b.ctx, chromedp.Navigate(srv.URL()))
	require.ErrorContains(t, err, "ERR_INVALID_AUTH_CREDENTIALS")

	b = open(t)
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/?token=0123456789abcdef"))
	require.Equal(t, srv.URL()+"/", b.address(), "the token is gone from the address")
	require.Empty(t, eval[string](b, "document.cookie"), "scripts do not see the cookie")
	b.await(`document.querySelectorAll(".chart canvas").length > 5`)
	require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/"))
	require.Equal(t, http.StatusOK, b.click("#goroutine-now"))
	b.await(`document.querySelectorAll("#stack-chart .boxtext").length > 1`)
}
