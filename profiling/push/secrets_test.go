package push

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where a receiver, or the service, sends a request on to, nothing goes: no headers, no data. It is
// a failure, and no success of whatever is there.
func TestSentElsewhere(t *testing.T) {
	for _, code := range []int{301, 302, 307, 308} {
		other, r := receive(t, ""), receive(t, "")
		r.answers(func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, other.URL+"/login?key=hush", code)
		})
		cfg := snapshots(t, r.URL)
		cfg.Profiles.Headers = map[string]string{"X-Api-Key": "hush"}
		cfg.Pyroscope = Target{URL: r.URL, Headers: cfg.Profiles.Headers}
		cfg.Metrics, cfg.MetricsEvery = cfg.Profiles, time.Millisecond
		p, l := begin(t, cfg)
		await(t, "drops", func() bool {
			s := p.Stats()
			return s.Profiles.Dropped > 0 && s.Pyroscope.Dropped > 0
		})
		_ = p.Close(t.Context())
		require.Empty(t, other.requests())
		require.Zero(t, p.Stats().Profiles.Sent+p.Stats().Pyroscope.Sent)
		require.Positive(t, l.count("it is elsewhere, which is not followed: "+other.URL+"/login"))
		require.Zero(t, l.count("hush"))

		cfg = snapshots(t, other.URL)
		cfg.From = r.URL
		p, l = begin(t, cfg)
		await(t, "misses", func() bool { return p.Stats().Missed > 0 })
		_ = p.Close(t.Context())
		require.Empty(t, other.requests())
		require.Positive(t, l.count("it is elsewhere, which is not followed: "))
	}
}

// What is secret in addresses is in no log, error or push.
func TestSecretsStaySecret(t *testing.T) {
	s, r := serve(t), receive(t, "")
	s.metrics = page(began, 10)
	s.slow = `{"kept": [{"id": 2, "op": "order"}]}`
	from := strings.Replace(s.URL, "http://", "http://me:hush@", 1)
	p, _ := begin(t, Config{From: from, Metrics: Target{URL: r.URL}, MetricsEvery: time.Millisecond})
	list := orders(t, r.await(t, 1)[0]).Exemplars
	require.Len(t, list, 1)
	require.Equal(t, s.URL+"/debug/pprof/slow/2.json", texts(list[0].FilteredAttributes)["url.full"])
	require.NoError(t, p.Close(t.Context()))

	away := receive(t, "")
	away.stop()
	cfg := snapshots(t, strings.Replace(away.URL, "http://", "http://me:hush@", 1)+"/v1?api_key=hush")
	p, l := begin(t, cfg)
	await(t, "failures", func() bool { return p.Stats().Profiles.Failed > 0 })
	err := p.Close(t.Context())
	require.ErrorContains(t, err, away.URL+"/v1?...")
	require.NotContains(t, err.Error(), "hush")
	require.Positive(t, l.count("cannot send"))
	require.Zero(t, l.count("hush"))

	good := Config{From: s.URL, Name: "shop", Metrics: Target{URL: r.URL}}
	for want, spoil := range map[string]func(*Config){
		"From: expected an address":              func(c *Config) { c.From = "ftp://me:hush@h" },
		"From: expected an address such":         func(c *Config) { c.From = "http://me:hush@h:port" },
		"From: expected an address without":      func(c *Config) { c.From += "?token=hush" },
		"Metrics: expected an address":           func(c *Config) { c.Metrics.URL = "h?key=hush" },
		"Pyroscope: expected none with":          func(c *Config) { c.Pyroscope.URL = "http://h/?key=hush" },
		"Headers of Metrics: expected names and": func(c *Config) { c.Metrics.Headers = map[string]string{"A": "hush\nB: x"} },
	} {
		cfg := good
		spoil(&cfg)
		_, err := Start(cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hush")
	}
}

// An answer that is too long is not taken for its beginning.
func TestTooLongAnswer(t *testing.T) {
	s := serve(t)
	s.metrics = page(began, 10)
	of := source{base: s.URL, token: "secret", client: http.DefaultClient, most: watchdog,
		limit: int64(len(s.metrics))}
	_, err := of.families(context.Background())
	require.NoError(t, err)
	of.limit = int64(strings.LastIndexByte(s.metrics[:len(s.metrics)-1], '\n') + 1)
	_, err = of.families(context.Background())
	require.ErrorContains(t, err, "/metrics: it is longer than ")
}
