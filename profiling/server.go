package profiling

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
)

// ErrTokenRequired is returned by [Start] for an address that other machines
// may reach if there is no [Config.Token].
var ErrTokenRequired = errors.New("profiling: an address other than loopback requires a token")

// minToken is how many characters a token must have: a short one can be guessed.
const minToken = 16

// checkToken returns the fault of the token, nil if it has none.
func (c *Config) checkToken() error {
	if n := utf8.RuneCountInString(c.Token); n > 0 && n < minToken {
		return fmt.Errorf("profiling: a token of %d characters can be guessed; "+
			"expected at least %d, at random", n, minToken)
	}
	return nil
}

// errClosing is the error of a capture that [Server.Close] cut off.
var errClosing = errors.New("the server is closing")

// closeTimeout is how long Close waits for clients that do not read their answers. Tests
// raise it.
var closeTimeout = 2 * time.Second

// A Server is a [Service] with a listener of its own. Create one with [Start].
// Its methods may be called from several goroutines.
type Server struct {
	*Service
	http    *http.Server
	addr    *net.TCPAddr
	url     string
	cancel  context.CancelCauseFunc // ends every running capture
	release func()                  // gives the profile rates back
	served  chan struct{}           // closed when the listener's goroutine has ended
	fresh   sync.Map                // of net.Conn: those on which nothing was received yet
	ending  atomic.Bool             // the connections in fresh are closed

	closeOnce sync.Once
	closeErr  error
}

// Start listens on cfg.Addr, turns the runtime's mutex and block profiles on and serves until
// [Server.Close]. It returns when the server accepts connections. The error is [ErrTokenRequired]
// for an address that other machines may reach without cfg.Token, otherwise the reason why the
// address cannot be listened on, or the fault of cfg.Token or cfg.Slow.
func Start(cfg Config) (*Server, error) {
	if err := cfg.checkToken(); err != nil {
		return nil, err
	}
	anyPort := cfg.Addr == ""
	cfg = cfg.withDefaults()
	ln, err := listen(cfg.Addr, anyPort, cfg.Token != "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &Server{
		Service: Handler(cfg),
		addr:    ln.Addr().(*net.TCPAddr),
		url:     urlOf(ln.Addr()),
		cancel:  cancel,
		release: capture.AcquireRates(cfg.MutexFraction, cfg.BlockRate),
		served:  make(chan struct{}),
	}
	if why := s.slow.State().Failed; why != "" {
		ln.Close()
		s.release()
		s.Service.Close()
		cancel(errClosing)
		return nil, errors.New("profiling: " + why)
	}
	s.http = &http.Server{
		Handler:                      s.Service,
		DisableGeneralOptionsHandler: true,
		// The times after which the server gives up on a client. Captures and pages get the time
		// they take in addition.
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		// Browsers open connections in advance, for which Shutdown would wait seconds. Here fresh
		// is stored before ending is loaded; Close stores ending before it reads fresh.
		ConnState: func(c net.Conn, state http.ConnState) {
			if state != http.StateNew {
				s.fresh.Delete(c)
			} else if s.fresh.Store(c, nil); s.ending.Load() {
				c.Close()
			}
		},
	}
	go func() {
		defer close(s.served)
		s.http.Serve(ln) // ends with ErrServerClosed
	}()
	return s, nil
}

// URL returns the address of the dashboard, such as http://127.0.0.1:6060, without a slash at the
// end and without the token. If the server listens on all addresses of the machine, the address is
// of localhost: see [Server.URLs].
func (s *Server) URL() string { return s.url }

// Close ends running captures, which answer that the server is closing, closes
// the listener and all connections, turns the mutex and block profiles back and
// ends the sampling of the charts. It waits until that is done: the time it takes to
// stop a capture, and at most two seconds for clients that do not read their
// answers. Further calls return the result of the first.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.cancel(errClosing)
		s.ending.Store(true)
		s.fresh.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if s.closeErr = s.http.Shutdown(ctx); errors.Is(s.closeErr, context.DeadlineExceeded) {
			s.closeErr = s.http.Close()
		}
		<-s.served
		s.release()
		s.Service.Close()
	})
	return s.closeErr
}

// listen returns a listener on addr or, if anyPort is set and its port cannot be had, on a
// free port of the same host. The host must be loopback unless anywhere is set.
func listen(addr string, anyPort, anywhere bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("profiling: %w", err)
	}
	if !anywhere && !isLoopback(host) {
		return nil, fmt.Errorf("%w: %q", ErrTokenRequired, addr)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, fmt.Errorf("profiling: address %q: %w", addr, err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil && anyPort {
		ln, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("profiling: %w", err)
	}
	// The name localhost is loopback by convention only.
	if tcp, ok := ln.Addr().(*net.TCPAddr); !anywhere && !(ok && tcp.IP.IsLoopback()) {
		ln.Close()
		return nil, fmt.Errorf("%w: %q is %s", ErrTokenRequired, addr, ln.Addr())
	}
	return ln, nil
}

// isLoopback reports whether only this machine can reach host, as far as can
// be told without resolving a name.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// URLs returns [Server.URL] and, if the server listens on all addresses of the machine, those under
// which others may reach it.
func (s *Server) URLs() []string {
	list := []string{s.url}
	if !s.addr.IP.IsUnspecified() {
		return list
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || !ip.IP.IsGlobalUnicast() || s.addr.IP.To4() != nil && ip.IP.To4() == nil {
			continue
		}
		list = append(list, urlOf(&net.TCPAddr{IP: ip.IP, Port: s.addr.Port}))
	}
	return list
}

// urlOf returns the URL under which a listener on a is reached from here.
func urlOf(a net.Addr) string {
	tcp := a.(*net.TCPAddr)
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
