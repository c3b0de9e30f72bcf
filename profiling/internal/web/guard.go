package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// A Guard decides which requests are answered, before anything else looks at them.
//
// A server on the loopback address is reachable by every page that the user's browser shows. Such a
// page can send requests, though it cannot read answers of another origin, unless its own host name
// is made to resolve to 127.0.0.1 (DNS rebinding). Hence three independent checks: the Host header
// must name this machine, which a rebound page's does not; a foreign Origin is refused; and work
// that costs the program time is not started by a page of another site.
type Guard struct {
	Next http.Handler

	// Broken, if not nil, is why all requests are refused.
	Broken error

	// Frame is the frame of the pages about errors.
	Frame Frame

	hosts map[string]bool // accepted besides IP addresses and localhost
	token *token          // nil: only requests from this machine
}

// NewGuard returns the guard of a service that listens on addr, if that is known,
// with the hosts and the token of its configuration.
func NewGuard(addr string, hosts []string, token string) *Guard {
	g := &Guard{hosts: map[string]bool{}, token: newToken(token)}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	if host, _, err := net.SplitHostPort(addr); err == nil && token != "" && host != "" {
		g.hosts[strings.ToLower(host)] = true
	}
	return g
}

// ServeHTTP implements [http.Handler].
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy",
		"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	if err := g.check(w, r); err != nil {
		writeError(w, r, err)
		return
	}
	query := r.URL.Query()
	page := strings.Contains(r.Header.Get("Accept"), "text/html")
	if g.token != nil && query.Has("token") && page {
		// A browser: the token leaves the address line, so that it does not
		// end up in bookmarks, screenshots and shared links.
		http.SetCookie(w, g.token.cookie(r.TLS != nil))
		query.Del("token")
		_, last := path.Split(r.URL.Path)
		ref := url.URL{Path: "./" + last, RawQuery: query.Encode()}
		Redirect(w, ref.String())
		return
	}
	g.Next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), frameKey{}, g.Frame)))
}

// check returns the reason to refuse r, or nil.
func (g *Guard) check(w http.ResponseWriter, r *http.Request) error {
	if g.Broken != nil {
		return Refuse(http.StatusServiceUnavailable, "%v", g.Broken)
	}
	if !g.hostAllowed(r.Host) {
		return Refuse(http.StatusMisdirectedRequest, "host %q is not this server; "+
			"use localhost or an IP address, or add the name to Config.Hosts", r.Host)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return Refuse(http.StatusMethodNotAllowed, "method %s is not served, only GET and HEAD", r.Method)
	}
	if g.token == nil {
		if err := localOnly(r); err != nil {
			return err
		}
	} else if !g.token.in(r) {
		w.Header().Set("WWW-Authenticate",
			`Basic realm="profiling: any user name, the token as password", charset="UTF-8"`)
		return Refuse(http.StatusUnauthorized, "token required: "+
			"add ?token=... to the address, or send it as bearer token or as password")
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return Refuse(http.StatusForbidden, "origin %q is not this server", origin)
		}
	}
	// Other sites may link to a page, but not fetch, embed or frame anything.
	linked := r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
	if foreignSite(r) && !linked {
		return Refuse(http.StatusForbidden, "requested by a page of another site")
	}
	return nil
}

// hostAllowed reports whether hostport, a Host header, names this server.
func (g *Guard) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	host = strings.ToLower(host)
	if ip, err := netip.ParseAddr(host); err == nil {
		// A name can be rebound to another address, an address cannot.
		return ip.Unmap().IsLoopback() || g.token != nil || g.hosts[host]
	}
	return host == "localhost" || g.hosts[host]
}

// localOnly refuses requests that did not start on this machine. A proxy on
// this machine has a loopback address too, but names the client it asks for.
func localOnly(r *http.Request) error {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return Refuse(http.StatusForbidden,
			"without Config.Token only this machine is answered, not %q", r.RemoteAddr)
	}
	for _, name := range []string{
		"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via",
	} {
		if r.Header.Get(name) != "" {
			return Refuse(http.StatusForbidden, "without Config.Token no forwarded request "+
				"is answered, and this one has %s", name)
		}
	}
	return nil
}

// foreignSite reports whether a browser says that a page of another origin caused r. Another port
// of the same host is another origin. Only browsers send the header Sec-Fetch-Site.
func foreignSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "none" && site != "same-origin"
}

// OwnSite wraps a handler that costs the program time. Links on pages of other sites do
// not reach it, and neither does a HEAD: it would cost the same and bring nothing.
func OwnSite(next Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodHead {
			w.Header().Set("Allow", http.MethodGet)
			return Refuse(http.StatusMethodNotAllowed, "a profile is not taken for a HEAD")
		}
		if foreignSite(r) {
			return Refuse(http.StatusForbidden,
				"a capture cannot be started from a page of another site")
		}
		return next(w, r)
	}
}

// A token is a secret shared by the server and its clients.
type token struct {
	digest      [sha256.Size]byte
	cookieName  string
	cookieValue string
}

// newToken returns the token of the given text, nil if it is empty. The cookie
// carries a value derived from the text, not the text. Its name differs by
// token, because all ports of a host share their cookies.
func newToken(text string) *token {
	if text == "" {
		return nil
	}
	mac := hmac.New(sha256.New, []byte(text))
	mac.Write([]byte("profiling cookie"))
	sum := mac.Sum(nil)
	return &token{
		digest:      sha256.Sum256([]byte(text)),
		cookieName:  "profiling-" + hex.EncodeToString(sum[:4]),
		cookieValue: hex.EncodeToString(sum[4:]),
	}
}

// in reports whether r carries the token. The time it takes does not depend on how much of a wrong
// token is right.
func (t *token) in(r *http.Request) bool {
	if c, err := r.Cookie(t.cookieName); err == nil &&
		subtle.ConstantTimeCompare([]byte(c.Value), []byte(t.cookieValue)) == 1 {
		return true
	}
	scheme, text, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return t.is(text)
	}
	if _, password, ok := r.BasicAuth(); ok {
		return t.is(password)
	}
	return t.is(r.URL.Query().Get("token"))
}

// is compares digests, which have one length, so that not even the length of
// the token can be measured.
func (t *token) is(text string) bool {
	digest := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1
}

// cookie returns the cookie that lets the browser in from now on. Pages of other sites cannot make
// the browser send it, scripts cannot read it.
func (t *token) cookie(secure bool) *http.Cookie {
	return &http.Cookie{
		Name:     t.cookieName,
		Value:    t.cookieValue,
		Path:     "/",
		HttpOnly: true,
		Secure:   secure,
		SameSite: http.SameSiteStrictMode,
	}
}
