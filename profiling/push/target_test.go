package push

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// snapshots is a configuration that pushes a profile again and again.
func snapshots(t *testing.T, url string) Config {
	t.Helper()
	s := serve(t)
	s.profiles["goroutine"] = sampled([]string{"goroutine", "count"}, []int64{3}, []int64{1})
	return Config{From: s.URL, Kinds: []string{"goroutine"}, ProfilesEvery: 5 * time.Millisecond,
		Profiles: Target{URL: url}}
}

// What a receiver refuses for good is dropped, and what it may take later waits for that, in order.
// OTLP has a list of what may be tried again, and Pyroscope has none.
func TestTriedAgain(t *testing.T) {
	for _, c := range []struct {
		code             int
		pyroscope, again bool
	}{
		{400, false, false}, {401, false, false}, {404, false, false}, {413, false, false},
		{500, false, false}, {502, false, true}, {500, true, true},
	} {
		r := receive(t)
		r.answers(status(c.code))
		cfg := snapshots(t, r.URL)
		if c.pyroscope {
			cfg.Pyroscope, cfg.Profiles = cfg.Profiles, Target{}
		}
		p, l := begin(t, cfg)
		stats := func() TargetStats {
			if c.pyroscope {
				return p.Stats().Pyroscope
			}
			return p.Stats().Profiles
		}
		await(t, "failures", func() bool { return stats().Failed > 2 })
		r.answers(nil)
		failed := len(r.requests())
		await(t, "success", func() bool { return stats().Sent > 5 })
		require.NoError(t, p.Close(t.Context()))
		s := stats()
		require.Zero(t, s.Waiting)
		require.Equal(t, uint64(len(r.requests())), s.Sent+s.Failed, c)
		require.Positive(t, l.count(fmt.Sprintf("%d %s: for a reason", c.code, http.StatusText(c.code))))
		if c.again {
			require.Zero(t, s.Dropped, c)
			require.Equal(t, 1, l.count("cannot send"))
			require.Equal(t, 1, l.count("it works again"))
		} else {
			require.Equal(t, s.Failed, s.Dropped, c)
			require.Equal(t, int(s.Dropped), l.count("push: refused"))
			require.Positive(t, l.count("push: dropped"))
		}
		last := time.Time{}
		for _, one := range r.requests()[failed:] {
			if !c.pyroscope {
				at := understand(t, profilesOf(t, one))[0].Start
				require.True(t, at.After(last))
				last = at
			}
		}
	}
}

// A receiver that says when to come again is not bothered before, and not at the end either.
func TestRetryAfter(t *testing.T) {
	r := receive(t)
	r.answers(func(w http.ResponseWriter, q *http.Request) {
		if len(r.requests()) == 1 {
			status(http.StatusTooManyRequests, "Retry-After", "1")(w, q)
			return
		}
		status(http.StatusServiceUnavailable, "Retry-After",
			time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))(w, q)
	})
	cfg := snapshots(t, r.URL)
	cfg.Metrics, cfg.MetricsEvery = Target{URL: r.URL + "/v1/metrics"}, 5*time.Millisecond
	p, _ := begin(t, cfg)
	r.await(t, 1)
	list := r.await(t, 2)
	require.GreaterOrEqual(t, list[1].at.Sub(list[0].at), 900*time.Millisecond)
	require.ErrorContains(t, p.Close(t.Context()), "not sent: ")
	require.Len(t, r.requests(), 2)
	require.Positive(t, p.Stats().Profiles.Dropped)
}

func TestWhenToComeAgain(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "-3": 0, "soon": 0, "7": 7 * time.Second, "100000": mayWait, "99999999999": mayWait,
		"Fri, 31 Dec 1999 23:59:59 GMT": 0, "Fri, 31 Dec 2100 23:59:59 GMT": mayWait,
	} {
		require.Equal(t, want, retryAfter(text), text)
	}
}

// A receiver that hangs costs requests, and no memory beyond the queue. Close gives up when its
// context says so.
func TestHangs(t *testing.T) {
	r := receive(t)
	r.answers(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	cfg := snapshots(t, r.URL)
	cfg.most, cfg.queue = 20*time.Millisecond, 2000
	p, l := begin(t, cfg)
	await(t, "drops", func() bool {
		s := p.Stats().Profiles
		return s.Failed > 1 && s.Dropped > 2 && s.Waiting > 0
	})
	require.Less(t, p.Stats().Profiles.Waiting, 10)
	require.Equal(t, 1, l.count("push: dropped"), "it is said once a minute")

	cfg.most = time.Hour
	p, _ = begin(t, cfg)
	await(t, "waiting", func() bool { return p.Stats().Profiles.Waiting > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := p.Close(ctx)
	require.ErrorContains(t, err, "not sent")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, err, p.Close(t.Context()))
	require.Zero(t, p.Stats().Profiles.Waiting)
}

// Close sends what waits, and the snapshots and figures of the end.
func TestCloseFlushes(t *testing.T) {
	r := receive(t)
	s := serve(t)
	s.metrics = page(began, 10)
	s.profiles["goroutine"] = sampled([]string{"goroutine", "count"}, []int64{3}, []int64{1})
	s.profiles["allocs"] = sampled([]string{"alloc_space", "bytes"}, []int64{3}, []int64{1})
	p, _ := begin(t, Config{From: s.URL, Metrics: Target{URL: r.URL + "/m"},
		Profiles: Target{URL: r.URL + "/p"}, Kinds: []string{"goroutine", "allocs"}})
	await(t, "a beginning", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.asked) > 0
	})
	s.says(func(s *service) {
		s.profiles["allocs"] = sampled([]string{"alloc_space", "bytes"}, []int64{3}, []int64{7})
	})
	require.NoError(t, p.Close(t.Context()))
	paths := map[string]int{}
	for _, one := range r.requests() {
		paths[one.path]++
	}
	require.Equal(t, map[string]int{"/m": 1, "/p": 2}, paths)
}

// What is wrong with a configuration is an error, without what is secret.
func TestConfigIsChecked(t *testing.T) {
	good := Config{From: "http://127.0.0.1:6060", Name: "shop", Metrics: Target{URL: "http://h/v1/metrics"}}
	for want, spoil := range map[string]func(*Config){
		"push: From: ":                               func(c *Config) { c.From = "127.0.0.1:6060" },
		"expected an address such as":                func(c *Config) { c.From = "" },
		"push: the URL of Pyroscope: expected":       func(c *Config) { c.Pyroscope.URL = "tcp://x" },
		"expected the URL of Metrics, Profiles or":   func(c *Config) { c.Metrics.URL = "" },
		"push: Name: expected what":                  func(c *Config) { c.Name = "" },
		"expected times above 0":                     func(c *Config) { c.MetricsEvery = -1 },
		"do not fit into ProfilesEvery, 15s":         func(c *Config) { c.ProfilesEvery = 15 * time.Second },
		`push: Labels: expected values without any`:  func(c *Config) { c.Labels["a"], c.Pyroscope.URL = "b,c", "http://p" },
		`push: Name: expected none of {},=" for Pyr`: func(c *Config) { c.Name, c.Pyroscope.URL = "a{", "http://p" },
		"From: expected an address":                  func(c *Config) { c.From = "ftp://me:hush@h" },
		"From: expected an address such":             func(c *Config) { c.From = "http://me:hush@h:port" },
		"From: expected an address without":          func(c *Config) { c.From += "?token=hush" },
		"Metrics: expected an address":               func(c *Config) { c.Metrics.URL = "h?key=hush" },
		"Pyroscope: expected none with":              func(c *Config) { c.Pyroscope.URL = "http://h/?key=hush" },
		"Headers of Metrics: expected names and":     func(c *Config) { c.Metrics.Headers = map[string]string{"A": "hush\nB: x"} },
	} {
		cfg := good
		cfg.Labels = map[string]string{}
		spoil(&cfg)
		_, err := Start(cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hush")
	}
}

// Where a receiver, or the service, sends a request on to, nothing goes: no headers, no data. It is
// a failure, and no success of whatever is there.
func TestSentElsewhere(t *testing.T) {
	for _, code := range []int{301, 302, 307, 308} {
		other, r := receive(t), receive(t)
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
	s, r := serve(t), receive(t)
	s.metrics = page(began, 10)
	s.slow = `{"kept": [{"id": 2, "op": "order"}]}`
	from := strings.Replace(s.URL, "http://", "http://me:hush@", 1)
	p, _ := begin(t, Config{From: from, Metrics: Target{URL: r.URL}, MetricsEvery: time.Millisecond})
	list := orders(t, r.await(t, 1)[0]).Exemplars
	require.Len(t, list, 1)
	require.Equal(t, s.URL+"/debug/pprof/slow/2.json", texts(list[0].FilteredAttributes)["url.full"])
	require.NoError(t, p.Close(t.Context()))

	away := receive(t)
	away.stop()
	cfg := snapshots(t, strings.Replace(away.URL, "http://", "http://me:hush@", 1)+"/v1?api_key=hush")
	p, l := begin(t, cfg)
	await(t, "failures", func() bool { return p.Stats().Profiles.Failed > 0 })
	err := p.Close(t.Context())
	require.ErrorContains(t, err, away.URL+"/v1?...")
	require.NotContains(t, err.Error(), "hush")
	require.Positive(t, l.count("cannot send"))
	require.Zero(t, l.count("hush"))
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
