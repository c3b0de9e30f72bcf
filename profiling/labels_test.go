package profiling_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
	"github.com/mvccmap/mvccmap/profiling/internal/flight"
)

// The samples of an Update have its name and its table, beside the labels of the context, and those
// after it do not.
func TestLabelUpdate(t *testing.T) {
	db := mvcc.NewDB(&mvcc.Options{Around: profiling.LabelUpdate})
	defer db.Close()
	m := mvcc.NewTable[string, int](db, "stock", nil)
	srv := handler(t, profiling.Config{})
	seen := func() string {
		text := request(srv, "/debug/pprof/goroutine?debug=1").Body.String()
		for block := range strings.SplitSeq(text, "\n\n") {
			if !strings.Contains(block, ".TestLabelUpdate") {
				continue
			}
			if m := regexp.MustCompile(`(?m)^# labels: (\{.*\})$`).FindStringSubmatch(block); m != nil {
				return m[1]
			}
		}
		return "{}"
	}
	named := &mvcc.TxOptions{Name: "sell"}
	ctx := pprof.WithLabels(t.Context(), pprof.Labels("user", "7"))
	for want, update := range map[string]func(look func()) error{
		`{"mvcc_tx":"sell","mvcc_table":"stock","user":"7"}`: func(look func()) error {
			return m.Update(ctx, named, func(mvcc.Tx[string, int]) error { look(); return nil })
		},
		`{"mvcc_tx":"sell"}`: func(look func()) error {
			return db.Update(t.Context(), named, func(mvcc.DBTx) error { look(); return nil })
		},
		`{"mvcc_table":"stock"}`: func(look func()) error {
			return m.Update(context.Background(), nil, func(mvcc.Tx[string, int]) error { look(); return nil })
		},
		`{}`: func(look func()) error {
			return db.Update(context.Background(), nil, func(mvcc.DBTx) error { look(); return nil })
		},
	} {
		calls := 0
		require.NoError(t, update(func() {
			calls++
			require.JSONEq(t, want, seen())
		}))
		require.Equal(t, 1, calls)
	}
	pprof.SetGoroutineLabels(context.Background())
	require.JSONEq(t, `{}`, seen())
}

// Names of maps and operations that are not UTF-8, need quotes, or differ only in case or form
// stay apart in /metrics, in each JSON and on the pages.
func TestNamesStayApart(t *testing.T) {
	names := []string{"a\xff", "a\xfe", `a\xff`, "A", "a", "x\"y\\z\n", "\u00e9", "e\u0301", "<b>"}
	sources := map[string]func() mvcc.Stats{}
	for _, name := range names {
		sources[name] = func() mvcc.Stats { return mvcc.Stats{Epoch: 1, MinVisible: 1} }
	}
	h := handler(t, profiling.Config{Maps: sources})
	for _, name := range names {
		op := h.Op(name)
		require.True(t, utf8.ValidString(op.Name()))
		require.Same(t, op, h.Op(name))
		op.Done(time.Millisecond)
	}
	metrics := request(h, "/metrics").Body.String()
	seen := map[string]bool{}
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "#") {
			series := line[:strings.LastIndexByte(line, ' ')]
			require.False(t, seen[series], series)
			seen[series] = true
		}
	}
	require.Equal(t, len(names), strings.Count(metrics, "\nmvccmap_keys{"))
	require.Equal(t, len(names), strings.Count(metrics, "\noperation_duration_seconds_count{"))

	var slow flight.State
	body := request(h, "/debug/pprof/slow/?format=json").Body.Bytes()
	require.NoError(t, json.Unmarshal(body, &slow))
	of := map[string]bool{}
	for _, o := range slow.Ops {
		of[o.Name] = true
	}
	require.Len(t, of, len(names))
	for _, path := range []string{"slow/", "live.json"} {
		a := request(h, "/debug/pprof/"+path)
		require.Equal(t, http.StatusOK, a.Code)
		require.False(t, bytes.Contains(a.Body.Bytes(), []byte("\ufffd")), path)
	}
}

// A profile of the program is found by the link to it, whatever it is called.
func TestLinksOfStrangeProfiles(t *testing.T) {
	const name = "a b?c#d/e&%41\"<é"
	if pprof.Lookup(name) == nil {
		pprof.NewProfile(name).Add(t, 1)
	}
	h := handler(t, profiling.Config{})
	page := request(h, "/debug/pprof/").Body.String()
	_, row, ok := strings.Cut(page, "<b>"+html.EscapeString(name)+"</b>")
	require.True(t, ok)
	row, _, _ = strings.Cut(row, "</li>")
	links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(row, -1)
	require.GreaterOrEqual(t, len(links), 3)
	for _, link := range links {
		a := request(h, "/debug/pprof/"+html.UnescapeString(link[1]))
		require.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, a.Code, link[1])
	}
}
