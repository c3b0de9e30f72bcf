package profiling_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/profiling"
)

// Without an address a free port does; one that was asked for is not exchanged for another.
func TestTakenPorts(t *testing.T) {
	open := func(cfg profiling.Config) *profiling.Server {
		srv, err := profiling.Start(cfg)
		require.NoError(t, err)
		t.Cleanup(func() { srv.Close() })
		return srv
	}
	first := open(profiling.Config{})
	second := open(profiling.Config{})
	require.NotEqual(t, first.URL(), second.URL())
	for _, srv := range []*profiling.Server{first, second} {
		require.Equal(t, http.StatusOK, get(t, srv.URL()+"/").status)
	}
	u, err := url.Parse(second.URL())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", u.Hostname())
	_, err = profiling.Start(profiling.Config{Addr: u.Host})
	require.ErrorContains(t, err, u.Host)
}

func TestStartRefusesOtherMachinesWithoutToken(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		_, err := profiling.Start(profiling.Config{Addr: addr})
		require.ErrorIs(t, err, profiling.ErrTokenRequired, addr)
		require.ErrorContains(t, err, addr)
	}
	for _, addr := range []string{"localhost:0", "127.0.0.1:0", "127.0.0.2:0"} {
		require.Contains(t, start(t, profiling.Config{Addr: addr}).URL(), "http://127.0.0.", addr)
	}
	start(t, profiling.Config{Addr: ":0", Token: "0123456789abcdef"})
	_, err := profiling.Start(profiling.Config{Addr: ":0", Token: "0123456789abcde"})
	require.ErrorContains(t, err, "token of 15 characters")
	require.NotContains(t, err.Error(), "0123")
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:99999", "127.0.0.1:no-such-service",
		"localhost:-1"} {
		_, err := profiling.Start(profiling.Config{Addr: addr})
		require.Error(t, err, addr)
		require.NotErrorIs(t, err, profiling.ErrTokenRequired, addr)
	}
	// An address that this machine does not have: no free port helps.
	_, err = profiling.Start(profiling.Config{Addr: "192.0.2.1:6060", Token: "0123456789abcdef"})
	require.ErrorContains(t, err, "192.0.2.1:6060")
}

func TestSetPhaseIsShown(t *testing.T) {
	srv := start(t, profiling.Config{Title: "load <test>"})
	srv.SetPhase(`read-heavy <b>4</b>`)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/contention/"} {
		page := get(t, srv.URL()+path).body
		require.Contains(t, page, "read-heavy &lt;b&gt;4&lt;/b&gt;")
		require.Contains(t, page, "load &lt;test&gt;")
	}
	srv.SetPhase("")
	require.NotContains(t, get(t, srv.URL()+"/debug/pprof/").body, "Running now")
}

func TestCloseEndsCaptures(t *testing.T) {
	for path, what := range map[string]string{
		"profile?": "CPU profile", "ui/new?type=cpu&": "CPU profile", "mutex?": "timed capture",
		"trace?": "execution trace",
	} {
		t.Run(path, func(t *testing.T) {
			srv := start(t, profiling.Config{})
			var a answer
			var err, closed error
			var wg sync.WaitGroup
			wg.Go(func() {
				a, err = try(context.Background(), srv.URL()+"/debug/pprof/"+path+"seconds=100")
			})
			awaitCapture(t, srv.URL(), what)
			closed = srv.Close()
			require.NoError(t, closed)
			wg.Wait()
			require.NoError(t, err)
			require.Equal(t, http.StatusServiceUnavailable, a.status)
			require.Contains(t, a.body, "the server is closing")
			require.NoError(t, pprof.StartCPUProfile(io.Discard), "the profiler is free again")
			pprof.StopCPUProfile()
			require.NoError(t, srv.Close(), "closing again")
		})
	}
}

// Browsers open connections before they need them. Shutdown alone takes five seconds to give one up:
// Close closes them itself, also those that come late, and no others.
func TestUnusedConnectionsAreClosed(t *testing.T) {
	srv := start(t, profiling.Config{})
	connect := func(states ...http.ConnState) (peer net.Conn) {
		c, peer := net.Pipe() // of which Shutdown does not know
		t.Cleanup(func() { c.Close() })
		require.NoError(t, peer.SetReadDeadline(time.Now().Add(watchdog)))
		for _, state := range states {
			profiling.ConnState(srv, c, state)
		}
		if len(states) > 1 {
			go c.Write([]byte("x"))
		}
		return peer
	}
	fresh, used := connect(http.StateNew), connect(http.StateNew, http.StateActive)
	require.NoError(t, srv.Close())
	for _, peer := range []net.Conn{fresh, connect(http.StateNew)} {
		_, err := peer.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}
	_, err := used.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestRatesAreSetAndRestored(t *testing.T) {
	before := runtime.SetMutexProfileFraction(7)
	defer runtime.SetMutexProfileFraction(before)
	fraction := func() int { return runtime.SetMutexProfileFraction(-1) }

	first := start(t, profiling.Config{})
	require.Equal(t, 100, fraction())
	require.True(t, blockProfileOn(t))
	second := start(t, profiling.Config{MutexFraction: 5})
	require.Equal(t, 5, fraction())
	require.NoError(t, first.Close())
	require.Equal(t, 5, fraction(), "the second server needs it")
	require.True(t, blockProfileOn(t))
	require.NoError(t, second.Close())
	require.Equal(t, 7, fraction())
	require.False(t, blockProfileOn(t))

	off := start(t, profiling.Config{MutexFraction: -1, BlockRate: -1})
	require.Equal(t, 7, fraction())
	require.False(t, blockProfileOn(t))
	require.NoError(t, off.Close())
	require.Equal(t, 7, fraction())

	third := start(t, profiling.Config{BlockRate: time.Nanosecond})
	runtime.SetMutexProfileFraction(3)
	require.NoError(t, third.Close())
	require.Equal(t, 3, fraction(), "the program changed it meanwhile")
}

// blockProfileOn reports whether the runtime records a long wait.
func blockProfileOn(t *testing.T) bool {
	t.Helper()
	count := func() (n int64) {
		records := make([]runtime.BlockProfileRecord, 10_000)
		got, ok := runtime.BlockProfile(records)
		require.True(t, ok)
		for _, r := range records[:got] {
			n += r.Count
		}
		return n
	}
	before := count()
	waitLong(t)
	return count() > before
}

// A server that listens everywhere says under which addresses others reach it, and answers there.
func TestURLs(t *testing.T) {
	const token = "0123456789abcdef"
	srv := start(t, profiling.Config{})
	require.Equal(t, []string{srv.URL()}, srv.URLs())

	open := start(t, profiling.Config{Addr: "0.0.0.0:0", Token: token})
	require.Contains(t, open.URL(), "http://localhost:")
	urls := open.URLs()
	require.Equal(t, open.URL(), urls[0])
	for _, url := range urls {
		require.Equal(t, http.StatusOK, get(t, url+"/debug/pprof/?token="+token).status, url)
		require.Equal(t, http.StatusUnauthorized, get(t, url+"/debug/pprof/").status, url)
	}
}
