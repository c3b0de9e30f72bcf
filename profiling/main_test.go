package profiling_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/profiling"
)

func TestMain(m *testing.M) {
	profiling.LimitClose(watchdog)
	leak.VerifyTestMain(m)
}

// watchdog bounds waits that end by themselves unless something hangs.
const watchdog = 3 * time.Minute

// start starts a server on a free port that ends with the test.
func start(t *testing.T, cfg profiling.Config) *profiling.Server {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	srv, err := profiling.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// handler returns a service that ends with the test.
func handler(t *testing.T, cfg profiling.Config) *profiling.Service {
	t.Helper()
	h := profiling.Handler(cfg)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// An answer is a response read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// client follows no redirect and keeps no connection.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// get requests url after edits of the request.
func get(t *testing.T, url string, edits ...func(*http.Request)) answer {
	t.Helper()
	a, err := try(t.Context(), url, edits...)
	require.NoError(t, err)
	return a
}

func try(ctx context.Context, url string, edits ...func(*http.Request)) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	for _, edit := range edits {
		edit(req)
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body)}, err
}

// header returns an edit that sets a header.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// untilSampled calls take until it returns a profile that has seen an allocation: on a busy machine
// a second may pass without a sample.
func untilSampled(t *testing.T, take func() *profile.Profile) *profile.Profile {
	t.Helper()
	for end := time.Now().Add(watchdog); ; {
		if p := take(); value(p, ".Garbage") > 0 {
			return p
		}
		require.True(t, time.Now().Before(end), "the load is never sampled")
	}
}

//go:noinline
func waitForChannel(c chan struct{}) { <-c }

// waitLong has a goroutine wait in waitForChannel for a millisecond or more: that is in
// the block profile at any rate that a server sets.
func waitLong(t *testing.T) {
	t.Helper()
	c := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { waitForChannel(c) })
	testload.Await(t, 1, ".waitForChannel(", "chan receive")
	time.Sleep(time.Millisecond)
	close(c)
	wg.Wait()
}

// awaitCapture waits until the index says that the named capture is running.
func awaitCapture(t *testing.T, url, what string) {
	t.Helper()
	require.Eventually(t, func() bool {
		a, err := try(t.Context(), url+"/debug/pprof/")
		return err == nil && strings.Contains(a.body, "Being captured: "+what)
	}, watchdog, 5*time.Millisecond)
}
