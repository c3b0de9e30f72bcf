package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	profilerpb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mvccmap/mvccmap/internal/leak"
	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// watchdog bounds a test that hangs.
const watchdog = time.Minute

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	require.Eventually(t, so, watchdog, time.Millisecond, what)
}

// A log takes what slog writes.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// count returns how often the log says that.
func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// A request is what a receiver got.
type request struct {
	path   string
	query  url.Values
	header http.Header
	body   []byte // unpacked
	at     time.Time
	other  bool // it was not simply taken
}

// A receiver keeps what is sent to it, and answers as it is told.
type receiver struct {
	URL  string
	stop func()

	mu     sync.Mutex
	got    []request
	answer http.HandlerFunc // nil: it takes all
}

// receive starts a receiver that ends with the test.
func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	s := httptest.NewServer(r)
	r.URL, r.stop = s.URL, func() {
		s.CloseClientConnections()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	}
	t.Cleanup(r.stop)
	return r
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err == nil && q.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.got = append(r.got, request{q.URL.Path, q.URL.Query(), q.Header, body, time.Now(),
		r.answer != nil})
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(w, q)
	}
}

// answers changes how it answers.
func (r *receiver) answers(f http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// requests returns what it got so far.
func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request{}, r.got...)
}

// await waits for so many requests and returns all.
func (r *receiver) await(t *testing.T, n int) (list []request) {
	t.Helper()
	await(t, fmt.Sprintf("%d requests", n), func() bool {
		list = r.requests()
		return len(list) >= n
	})
	return list
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "for a reason\nand more", code)
	}
}

// A service answers as one of package profiling, with what it is told.
type service struct {
	URL string

	mu       sync.Mutex
	metrics  string
	slow     string
	profiles map[string]*profile.Profile // by page
	asked    []string
}

// serve starts a service that ends with the test.
func serve(t *testing.T) *service {
	t.Helper()
	s := &service{slow: "{}", profiles: map[string]*profile.Profile{}}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	})
	s.URL = server.URL
	return s
}

// says changes what it says.
func (s *service) says(change func(s *service)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// ServeHTTP implements [http.Handler].
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.String())
	page := strings.TrimPrefix(r.URL.Path, "/debug/pprof/")
	switch p := s.profiles[page]; {
	case r.Header.Get("Authorization") != "Bearer secret":
		http.Error(w, "token required", http.StatusUnauthorized)
	case page == "/metrics" && s.metrics != "":
		io.WriteString(w, s.metrics)
	case page == "slow/":
		io.WriteString(w, s.slow)
	case p != nil:
		p.Write(w)
	default:
		http.Error(w, "it is in use", http.StatusConflict)
	}
}

// begin starts to push. Close is called at the end, and whatever it returns is right.
func begin(t *testing.T, cfg Config) (*Pusher, *log) {
	t.Helper()
	l := &log{}
	cfg.Log = slog.New(slog.NewTextHandler(l, nil))
	cfg.Token, cfg.Name = "secret", "shop"
	if cfg.least == 0 {
		cfg.least = time.Millisecond
	}
	p, err := Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), watchdog)
		defer cancel()
		p.Close(ctx)
	})
	return p, l
}

// metricsOf decodes a request as a receiver of OTLP does.
func metricsOf(t *testing.T, r request) (map[string]*metricspb.Metric, map[string]string) {
	t.Helper()
	require.Equal(t, "application/x-protobuf", r.header.Get("Content-Type"))
	var m collectorpb.ExportMetricsServiceRequest
	require.NoError(t, proto.Unmarshal(r.body, &m))
	require.Empty(t, m.ProtoReflect().GetUnknown())
	require.Len(t, m.ResourceMetrics, 1)
	of := m.ResourceMetrics[0]
	require.Len(t, of.ScopeMetrics, 1)
	all := map[string]*metricspb.Metric{}
	for _, one := range of.ScopeMetrics[0].Metrics {
		require.NotContains(t, all, one.Name)
		all[one.Name] = one
	}
	return all, texts(of.Resource.Attributes)
}

// profilesOf decodes a request of profiles.
func profilesOf(t *testing.T, r request) *profilerpb.ExportProfilesServiceRequest {
	t.Helper()
	require.Equal(t, "application/x-protobuf", r.header.Get("Content-Type"))
	p := new(profilerpb.ExportProfilesServiceRequest)
	require.NoError(t, proto.Unmarshal(r.body, p))
	require.Empty(t, p.ProtoReflect().GetUnknown())
	return p
}

// texts returns attributes as text.
func texts(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Key] = a.Value.GetStringValue()
		if n, ok := a.Value.GetValue().(*commonpb.AnyValue_IntValue); ok {
			all[a.Key] = fmt.Sprint(n.IntValue)
		}
	}
	return all
}

// A real service is asked for its figures, slow operations and profiles: they have the map, the
// operations, the trace that was kept, and the functions that were planted.
func TestOfAService(t *testing.T) {
	m := mvcc.New[int, int](nil)
	defer m.Close()
	m.Store(1, 1)
	srv, err := profiling.Start(profiling.Config{Addr: "127.0.0.1:0", Token: "secret-of-the-test",
		MutexFraction: 1, BlockRate: 1,
		Maps: map[string]func() mvcc.Stats{"accounts": m.Stats},
		Slow: &profiling.SlowConfig{Above: 2 * time.Millisecond, Every: time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	op := srv.Op("check out")
	planted.Slow(t, op.Done, 0, 5*time.Millisecond)
	planted.Leak(t, 2)
	planted.Again(t, func() { planted.Garbage(make([][]byte, 8)) })

	r := receive(t)
	p, err := Start(Config{From: srv.URL(), Token: "secret-of-the-test", Name: "shop",
		Metrics:      Target{URL: r.URL + "/v1/metrics"},
		MetricsEvery: 50 * time.Millisecond,
		Profiles:     Target{URL: r.URL + "/v1development/profiles"},
		Window:       200 * time.Millisecond, ProfilesEvery: 500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close(t.Context()) })

	of := func(path string) (list []request) {
		return slices.DeleteFunc(r.requests(), func(one request) bool { return one.path != path })
	}
	var exemplar *metricspb.Exemplar
	await(t, "an exemplar", func() bool {
		for _, one := range of("/v1/metrics") {
			all, _ := metricsOf(t, one)
			require.Equal(t, 1.0, all["mvccmap_commits_total"].GetSum().DataPoints[0].GetAsDouble())
			for _, d := range all["operation_duration_seconds"].GetHistogram().GetDataPoints() {
				require.Equal(t, map[string]string{"operation": "check out"}, texts(d.Attributes))
				for _, x := range d.Exemplars {
					exemplar = x
				}
			}
		}
		return exemplar != nil
	})
	require.Greater(t, exemplar.GetAsDouble(), .002)
	require.Regexp(t, "^"+srv.URL()+`/debug/pprof/slow/\d+(/flamegraph|\.json)$`,
		texts(exemplar.FilteredAttributes)["url.full"])

	for kind, function := range map[string]string{"cpu": ".Garbage", "wall": ".TakeLock",
		"allocs": ".Garbage", "mutex": ".HoldLock", "block": ".TakeLock", "goroutine": ".Leaked"} {
		await(t, kind+" names "+function, func() bool {
			for _, one := range of("/v1development/profiles") {
				for _, seen := range understand(t, profilesOf(t, one)) {
					if seen.Kind == kind && slices.ContainsFunc(seen.Stacks, func(s stackSeen) bool {
						return slices.ContainsFunc(s.Frames, func(frame string) bool {
							return strings.Contains(frame, function+":")
						})
					}) {
						return true
					}
				}
			}
			return false
		})
	}
	require.NoError(t, p.Close(t.Context()))
}
