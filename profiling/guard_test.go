package profiling_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

const secret = "correct horse battery"

// request passes a request as from this machine, changed by edits, to a
// handler without a network.
func request(
	h http.Handler, target string, edits ...func(*http.Request),
) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "localhost:6060"
	r.RemoteAddr = "127.0.0.1:40000"
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func host(name string) func(*http.Request) {
	return func(r *http.Request) { r.Host = name }
}

func peer(addr string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = addr }
}

func method(name string) func(*http.Request) {
	return func(r *http.Request) { r.Method = name }
}

// cancelled makes a request that its client has cancelled.
func cancelled(r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	*r = *r.WithContext(ctx)
}

// browser returns the headers with which a browser names the cause of a request.
func browser(site, mode, dest string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("Sec-Fetch-Dest", dest)
	}
}

// A guarded request is answered with a status.
type guarded struct {
	name   string
	target string
	edit   func(*http.Request)
	status int
}

func checkGuard(t *testing.T, h http.Handler, tests []guarded) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := request(h, test.target, test.edit)
			require.Equal(t, test.status, w.Code, w.Body)
			require.NotContains(t, w.Body.String(), secret)
			require.Equal(t, w.Code == 401, w.Header().Get("WWW-Authenticate") != "")
			if w.Code >= 400 {
				require.Contains(t, w.Header().Get("Content-Type"), "text/plain")
				require.NotEmpty(t, w.Body.String())
			}
			if w.Code == http.StatusMethodNotAllowed {
				require.Contains(t, []string{"GET", "GET, HEAD"}, w.Header().Get("Allow"))
			}
		})
	}
}

func TestGuardWithoutToken(t *testing.T) {
	const index, snapshot, capture = "/", "/debug/pprof/goroutine",
		"/debug/pprof/ui/new?type=goroutine"
	checkGuard(t, handler(t, profiling.Config{Hosts: []string{"Devbox"}}), []guarded{
		{"index", index, host("localhost:6060"), 200},
		{"snapshot", snapshot, host("127.0.0.1:6060"), 200},
		{"capture", capture, host("[::1]:6060"), 303},
		{"host without port", index, host("localhost"), 200},
		{"host in capitals", index, host("LOCALHOST:1"), 200},
		{"IPv6 host without port", index, host("[::1]"), 200},
		{"configured host", index, host("devbox:6060"), 200},

		{"rebound host", index, host("evil.example:6060"), 421},
		{"rebound host, snapshot", snapshot, host("evil.example:6060"), 421},
		{"host that begins like ours", index, host("localhost.evil.example"), 421},
		{"host that ends like ours", index, host("evil-localhost"), 421},
		{"other address", index, host("192.0.2.1:6060"), 421},
		{"no host", index, host(""), 421},

		{"POST", snapshot, method("POST"), 405},
		{"HEAD of a page", index, method("HEAD"), 200},
		{"HEAD of what costs something", snapshot, method("HEAD"), 405},
		{"OPTIONS", index, method("OPTIONS"), 405},

		{"IPv6 peer", index, peer("[::1]:40000"), 200},
		{"mapped peer", index, peer("[::ffff:127.0.0.1]:40000"), 200},
		{"other machine", index, peer("192.0.2.1:40000"), 403},
		{"no peer", index, peer(""), 403},
		{"proxied", index, header("X-Forwarded-For", "192.0.2.1"), 403},
		{"proxied, standard header", index, header("Forwarded", "for=192.0.2.1"), 403},

		{"own origin", snapshot, header("Origin", "http://localhost:6060"), 200},
		{"foreign origin", snapshot, header("Origin", "http://evil.example"), 403},
		{"origin with our port", snapshot, header("Origin", "http://evil.example:6060"), 403},
		{"origin on another port", snapshot, header("Origin", "http://localhost:3000"), 403},
		{"opaque origin", snapshot, header("Origin", "null"), 403},

		{"typed address", capture, browser("none", "navigate", "document"), 303},
		{"own page", capture, browser("same-origin", "navigate", "document"), 303},
		{"link from another site", index, browser("cross-site", "navigate", "document"), 200},
		{"link that captures", capture, browser("cross-site", "navigate", "document"), 403},
		{"link that captures, other port", capture, browser("same-site", "navigate", "document"), 403},
		{"link to a snapshot", snapshot, browser("cross-site", "navigate", "document"), 403},
		{"embedded image", index, browser("cross-site", "no-cors", "image"), 403},
		{"frame", index, browser("cross-site", "navigate", "iframe"), 403},
		{"fetch", snapshot, browser("same-site", "cors", "empty"), 403},
	})
}

// A browser gets an error as a page of the site, with links that lead where they should; other
// clients get text. A client that is not let in learns nothing of the site.
func TestErrorsArePages(t *testing.T) {
	h := handler(t, profiling.Config{Title: "the shop"})
	wants := header("Accept", "text/html,application/xhtml+xml")
	for path, live := range map[string]string{
		"/nope":                          "./debug/pprof/live",
		"/no/such/page":                  "../../debug/pprof/live",
		"/debug/pprof/nope":              "./live",
		"/debug/pprof/contention/x":      "../live",
		"/debug/pprof/ui/zzz/top":        "../../live",
		"/debug/pprof/profile?seconds=x": "./live",
	} {
		w := request(h, path, wants)
		require.GreaterOrEqual(t, w.Code, 400, path)
		require.Contains(t, w.Header().Get("Content-Type"), "text/html", path)
		require.Contains(t, w.Body.String(), "<h1>the shop</h1>", path)
		require.Contains(t, w.Body.String(), "<main>", path)
		require.Contains(t, w.Body.String(), `href="`+live+`"`, path)
		w = request(h, path)
		require.Contains(t, w.Header().Get("Content-Type"), "text/plain", path)
	}
	w := request(h, "/", func(r *http.Request) { wants(r); r.RemoteAddr = "192.0.2.1:40000" })
	require.Equal(t, http.StatusForbidden, w.Code)
	require.NotContains(t, w.Body.String(), "the shop")
}

func TestGuardWithToken(t *testing.T) {
	h := handler(t, profiling.Config{Token: secret, Addr: "box.example:6060"})
	const snapshot = "/debug/pprof/goroutine"
	basic := func(password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth("anybody", password) }
	}
	checkGuard(t, h, []guarded{
		{"nothing", snapshot, peer("127.0.0.1:40000"), 401},
		{"bearer", snapshot, header("Authorization", "Bearer "+secret), 200},
		{"bearer in lower case", snapshot, header("Authorization", "bearer "+secret), 200},
		{"wrong bearer", snapshot, header("Authorization", "Bearer "+secret+"x"), 401},
		{"beginning of the token", snapshot, header("Authorization", "Bearer "+secret[:5]), 401},
		{"empty bearer", snapshot, header("Authorization", "Bearer "), 401},
		{"password", snapshot, basic(secret), 200},
		{"wrong password", snapshot, basic("wrong"), 401},
		{"parameter", snapshot + "?token=" + url.QueryEscape(secret), host("localhost"), 200},
		{"wrong parameter", snapshot + "?token=x", host("localhost"), 401},
	})
	bearer := header("Authorization", "Bearer "+secret)
	for name, status := range map[string]int{
		"192.0.2.1:6060": 200, "box.example:6060": 200, "localhost": 200, "evil.example": 421,
	} {
		w := request(h, snapshot, bearer, peer("192.0.2.9:40000"), header("X-Forwarded-For",
			"192.0.2.9"), host(name))
		require.Equal(t, status, w.Code, name)
	}
}

// A browser that comes with the token in the address gets a cookie and an
// address without it.
func TestTokenBecomesCookie(t *testing.T) {
	h := handler(t, profiling.Config{Token: secret})
	html := header("Accept", "text/html,*/*")

	w := request(h, "/debug/pprof/?x=1&token="+url.QueryEscape(secret), html)
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "./?x=1", w.Header().Get("Location"))
	require.Len(t, w.Result().Cookies(), 1)
	cookie := w.Result().Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.NotContains(t, cookie.Value, secret)

	use := func(r *http.Request) { r.AddCookie(cookie) }
	require.Equal(t, http.StatusOK, request(h, "/", use).Code)
	require.Equal(t, http.StatusUnauthorized,
		request(handler(t, profiling.Config{Token: secret + " other"}), "/", use).Code)
	forged := *cookie
	forged.Value = strings.Repeat("0", len(cookie.Value))
	require.Equal(t, http.StatusUnauthorized, request(h, "/", func(r *http.Request) {
		r.AddCookie(&forged)
	}).Code)

	w = request(h, "/debug/pprof/ui/new?type=heap&token=wrong", html)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Empty(t, w.Result().Cookies())
	w = request(h, "/debug/pprof/ui/new?token="+url.QueryEscape(secret)+"&type=heap", html)
	require.Equal(t, "./new?type=heap", w.Header().Get("Location"))
}

func TestAnswersCannotBeFramedOrCached(t *testing.T) {
	h := handler(t, profiling.Config{})
	for _, target := range []string{"/", "/debug/pprof/heap", "/debug/pprof/nonsense"} {
		header := request(h, target).Header()
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", header.Get("Cache-Control"))
		require.Equal(t, "same-origin", header.Get("Cross-Origin-Resource-Policy"))
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'")
		require.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	}
}
