package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/leak"
	"github.com/mvccmap/mvccmap/profiling"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// It pushes until it is told to end, and says what it did.
func TestPush(t *testing.T) {
	t.Setenv("MVCCPUSH_TOKEN", "secret-of-the-test")
	srv, err := profiling.Start(profiling.Config{Addr: "127.0.0.1:0", Token: "secret-of-the-test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	var figures, profiles, forms atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /at/v1/metrics", func(http.ResponseWriter, *http.Request) { figures.Add(1) })
	mux.HandleFunc("POST /at/v1development/profiles", func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") == "k" {
			profiles.Add(1)
		}
	})
	mux.HandleFunc("POST /ingest", func(http.ResponseWriter, *http.Request) { forms.Add(1) })
	receiver := httptest.NewServer(mux)
	t.Cleanup(receiver.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"--from", srv.URL(), "--name", "shop", "--label", "env=test",
			"--otlp", receiver.URL + "/at/", "--otlp-header", "X-Key=k", "--pyroscope", receiver.URL,
			"--metrics-every", "10ms", "--profiles-every", "20ms", "--kinds", "goroutine"},
			&stdout, &stderr)
	}()
	require.Eventually(t, func() bool {
		return figures.Load() > 1 && profiles.Load() > 1 && forms.Load() > 1
	}, time.Minute, time.Millisecond)
	cancel()
	require.Zero(t, <-code, stderr.String())
	require.Regexp(t, `^metrics: \d+ sent, 0 dropped, .+\nprofiles: .+\npyroscope: .+\n$`, stdout.String())
	require.Contains(t, stderr.String(), "end with Ctrl-C")

	stderr.Reset()
	receiver.Close()
	require.Equal(t, 1, run(t.Context(), []string{"--from", srv.URL(), "--name", "shop", "--otlp",
		receiver.URL, "--duration", "10ms"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "not sent")
}

func TestMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		"--name: expected what the program is called":           {"--otlp", "http://h"},
		"expected --otlp or --pyroscope":                        {"--name", "shop"},
		"From: expected an address":                             {"--name", "shop", "--otlp", "http://h", "--from", "here"},
		"--window: expected a time above 0, such as 10s, not 0": {"--name", "shop", "--otlp", "http://h", "--window", "0s"},
		"expected NAME=VALUE":                                   {"--label", "x"},
		`expected flags only, not "now"`:                        {"--name", "shop", "now"},
		"flag provided but not defined: -what":                  {"--what"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &stdout, &stderr), args)
		require.Contains(t, stderr.String(), want)
		require.Empty(t, stdout.String())
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "usage: mvccpush")
}
