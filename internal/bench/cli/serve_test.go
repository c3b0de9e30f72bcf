package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lines is written to by one goroutine and read by another.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// await waits until there is text that matches, and returns its first group.
func (l *lines) await(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool {
		return re.MatchString(l.String())
	}, watchdog, time.Millisecond, "no text matches %s", pattern)
	return re.FindStringSubmatch(l.String())[1]
}

// A started command runs in the background until it is done or stopped, as by Ctrl-C.
type started struct {
	stdout, stderr lines
	cancel         context.CancelFunc
	code           chan int
}

func start(t *testing.T, args ...string) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s := &started{cancel: cancel, code: make(chan int, 1)}
	go func() { s.code <- Run(ctx, args, &s.stdout, &s.stderr) }()
	return s
}

// stop ends the command, which must then exit with that code.
func (s *started) stop(t *testing.T, code int) {
	t.Helper()
	s.cancel()
	require.Equal(t, code, <-s.code, s.stderr.String())
}

// fetch returns the body of an answer, "" if there is none.
func fetch(url string) string {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return string(body)
}

// drawn has the drawn charts of the dashboard, and the charts' lines that have been above zero, by
// group, chart and line.
type drawn struct {
	Groups []struct {
		Title  string
		Charts []struct {
			Title  string
			First  int
			Series []struct{ Name string }
		}
	}
	Columns [][]*float64
	Now     struct {
		Phase string
	}
	positive map[string]bool
}

// draw asks a service for the drawn charts of its dashboard.
func draw(url string) (d drawn) {
	d.positive = map[string]bool{}
	if json.Unmarshal([]byte(fetch(url+"/debug/pprof/live.json")), &d) != nil {
		return d
	}
	for _, g := range d.Groups {
		for _, c := range g.Charts {
			for i, s := range c.Series {
				if slices.ContainsFunc(d.Columns[c.First+i], func(v *float64) bool { return v != nil && *v > 0 }) {
					d.positive[g.Title+"/"+c.Title+"/"+s.Name] = true
				}
			}
		}
	}
	return d
}

// Operations, latencies and the statistics of the map arrive, or those of a database and its tables.
func TestServeShowsTheMapUntilInterrupted(t *testing.T) {
	for workload, want := range map[string][]string{
		"transfer": {"Map/Transactions/commits", "Map/Live versions/keys"},
		"smallbank": {"Map database/Transactions/commits", "Table database/savings/Keys/keys",
			"Table database/checking/Keys/keys"},
	} {
		t.Run(workload, func(t *testing.T) {
			// At a rate each operation is timed, so that there are latencies on a slow machine too.
			s := start(t, "serve", "--workload="+workload, "--http=127.0.0.1:0", "--keys=100",
				"--threads=2", "--rate=500")
			url := s.stderr.await(t, `dashboard: (http://\S+)`)
			require.Contains(t, fetch(url), "<title>Dashboard")
			require.Eventually(t, func() bool {
				d := draw(url)
				for _, name := range append(want, "Workload/Throughput/ops", "Workload/Latency/p50") {
					if !d.positive[name] {
						return false
					}
				}
				return d.Now.Phase == workload+", mvcc, 2 threads"
			}, watchdog, 50*time.Millisecond)
			metrics := fetch(url + "/metrics")
			require.Contains(t, metrics, `"benchmark"`)
			require.Equal(t, workload == "smallbank", strings.Contains(metrics, `"benchmark/savings"`))

			s.stop(t, ExitOK)
			require.Regexp(t, `^`+workload+`, mvcc, 2 threads: [1-9]\d* operations in \S+, verified\n$`,
				s.stdout.String())
			require.Empty(t, fetch(url), "no longer served")
		})
	}
}

func TestServeRefusesBadArguments(t *testing.T) {
	for arg, want := range map[string]string{
		"--http=off":             "--http: expected an address",
		"--http=0.0.0.0:0":       tokenVariable,
		"--workload=nonsense":    "--workload: unknown workload",
		"--engine=nonsense":      "--engine: unknown engine",
		"--threads=0":            "--threads: expected",
		"--duration=-1s":         "--duration: expected",
		"--keys=0":               "--keys: expected",
		"--isolation=none":       "isolation",
		"--retries=-1":           "--retries: expected",
		"--value-size=x":         "--value-size: expected",
		"--latency-sample=x":     "--latency-sample: expected",
		"--audit-interval=-1s":   "--audit-interval: expected",
		"--threads=1 --keys=5,6": "2 combinations",
		"nosuch":                 "serve: expected files of results",
	} {
		refused(t, append([]string{"serve"}, strings.Fields(arg)...), want)
	}
}

func TestServeEndsAfterItsTime(t *testing.T) {
	t.Setenv(tokenVariable, "0123456789abcdef")
	stdout, stderr := succeed(t, "serve", "--http=0.0.0.0:0", "--keys=100", "--duration=20ms")
	require.Contains(t, stdout, "verified")
	require.NotContains(t, stderr, "0123456789abcdef")
	require.True(t, strings.HasPrefix(stderr, "dashboard: http://"))
}

// Operations are at /metrics, under the names that the dashboard for Grafana asks for; every flag
// of the load has its effect.
func TestServeExportsOperations(t *testing.T) {
	s := start(t, "serve", "--workload=ycsb-a", "--http=127.0.0.1:0", "--keys=100", "--threads=2",
		"--rate=500", "--arrival=poisson", "--retries=3", "--txn-size=2", "--value-size=10-20",
		"--latency-sample=1")
	url := s.stderr.await(t, `dashboard: (http://\S+)`)
	count := regexp.MustCompile(
		`(?m)^operation_duration_seconds_count\{operation="ycsb-a on mvcc"\} [1-9]\d*$`)
	require.Eventually(t, func() bool {
		return count.MatchString(fetch(url + "/metrics"))
	}, watchdog, 50*time.Millisecond)
	require.Contains(t, fetch(url+"/metrics"), `operation_errors_total{operation="ycsb-a on mvcc"} `)
	dashboard, err := os.ReadFile("../../../profiling/prom/dashboard.json")
	require.NoError(t, err)
	metrics := fetch(url + "/metrics")
	asked := regexp.MustCompile(`(operation|mvccmap|process|go)_[a-z_]+\{`).FindAllString(string(dashboard), -1)
	require.Greater(t, len(asked), 10)
	for _, name := range asked {
		name = strings.TrimSuffix(name, "{")
		require.Regexp(t, `(?m)^`+name+`[{ ]`, metrics, "what the dashboard for Grafana asks for")
	}
	s.stop(t, ExitOK)
}
