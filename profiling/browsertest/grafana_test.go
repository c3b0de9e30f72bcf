package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// grafana is the dashboard, and expressions are the queries of its panels.
func grafana(t *testing.T) (expressions []string) {
	t.Helper()
	raw, err := os.ReadFile("../prom/dashboard.json")
	require.NoError(t, err)
	//lint:ignore SA1019 every Grafana imports this version, and only the newest the next one
	var d dashboard.Dashboard
	// without errors it has a list of none
	require.Empty(t, d.UnmarshalJSONStrict(raw), "Grafana's schema")
	require.NoError(t, d.Validate())

	var panels struct {
		Panels []struct {
			ID      int
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &panels))
	ids, places := map[int]bool{}, map[string]bool{}
	for _, p := range panels.Panels {
		require.False(t, ids[p.ID], "two panels have the number %d", p.ID)
		ids[p.ID] = true
		place := fmt.Sprint(p.GridPos.X, ",", p.GridPos.Y)
		require.False(t, places[place], "two panels are at %s", place)
		places[place] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24)
		for _, target := range p.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	require.NotEmpty(t, expressions)
	return expressions
}

// saying keeps what a program says, and finds the first group of a pattern in it.
type saying struct {
	mu      sync.Mutex
	text    strings.Builder
	pattern *regexp.Regexp
	found   chan string // nil once it is
}

func (s *saying) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	if m := s.pattern.FindStringSubmatch(s.text.String()); m != nil && s.found != nil {
		s.found <- m[1]
		s.found = nil
	}
	return len(b), nil
}

// A service that Prometheus reads has what each panel of the dashboard for Grafana asks for.
func TestGrafana(t *testing.T) {
	t.Parallel()
	expressions := grafana(t)
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed; .ci/prepare installs it")
	}

	m := mvcc.New[int, int](nil)
	defer m.Close()
	h := profiling.Handler(profiling.Config{Maps: map[string]func() mvcc.Stats{"accounts": m.Stats}})
	defer h.Close()
	checkout := h.Op("checkout")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		checkout.Done(2 * time.Millisecond)
		checkout.Failed(20 * time.Millisecond)
		m.Set(1, 1)
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()

	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	target := strings.TrimPrefix(srv.URL, "http://")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		"global: {scrape_interval: 1s, scrape_timeout: 1s}\n"+ // what takes longer is not counted
			"scrape_configs: [{job_name: t, static_configs: [{targets: ['%s']}]}]\n", target), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--config.file="+config,
		"--storage.tsdb.path="+dir, "--web.listen-address=127.0.0.1:0")
	out := &saying{pattern: regexp.MustCompile(`"Listening on" address=(\S+:[1-9]\d*)\s`),
		found: make(chan string, 1)}
	cmd.Stderr = out
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
		cancel() // the program has ended: its answers are not waited for
	}()
	defer func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Log(out.text.String())
		}
	}()

	var address string
	select {
	case address = <-out.found:
	case <-ctx.Done():
		require.Fail(t, "prometheus does not say where it listens")
	}
	var answer struct {
		Status, Error string
		Data          struct{ Result []struct{ Value [2]any } }
	}
	query := func(expr string) bool {
		res, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return false // it has not begun
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		if res.StatusCode == http.StatusServiceUnavailable {
			return false
		}
		answer.Data.Result = nil
		require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
		require.Equal(t, "success", answer.Status, "%s: %s", expr, answer.Error)
		return len(answer.Data.Result) > 0
	}
	await := func(expr string) {
		for !query(expr) { // rates want two readings, of which the newest may not be there yet
			require.NoError(t, ctx.Err(), "no values: %s", expr)
			time.Sleep(50 * time.Millisecond)
		}
	}
	variables := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$map", ".*")
	left := regexp.MustCompile(`\$\w+`)
	for _, e := range expressions {
		e = variables.Replace(e)
		require.Empty(t, left.FindString(e), "a variable that the dashboard lacks: %s", e)
		await(e)
	}
	await(`histogram_quantile(1, operation_duration_seconds_bucket{operation="checkout"})`)
	require.Equal(t, "0.02", answer.Data.Result[0].Value[1])
}
