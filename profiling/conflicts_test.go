package profiling_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// M183: the report on a slow operation has the attempts that it lost, and the page Conflicts has
// them, with the key only if keys may be shown.
func TestConflicts(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	counters := mvcc.NewTable[string, int](db, "counters", nil)
	update := func(name string, within func()) {
		opts := &mvcc.TxOptions{Name: name}
		require.NoError(t, counters.Update(t.Context(), opts, func(tx mvcc.Tx[string, int]) error {
			n, _ := tx.Get("votes of may")
			within()
			tx.Set("votes of may", n+1)
			return nil
		}))
	}
	tally := func() {
		lost := 0
		update("tally", func() {
			if lost++; lost <= 6 {
				time.Sleep(time.Millisecond)
				update("vote", func() {})
			}
		})
	}
	srv := start(t, profiling.Config{Slow: &profiling.SlowConfig{Above: time.Millisecond}})
	shows := start(t, profiling.Config{ShowKeys: true})
	op, said := srv.Op("count"), "7 attempts; 6 lost over one key of counters, to vote. "
	require.Eventually(t, func() bool {
		began := time.Now()
		tally()
		op.Done(time.Since(began))
		return strings.Count(get(t, srv.URL()+"/debug/pprof/slow/?format=json").body, said) > 0 &&
			strings.Contains(get(t, srv.URL()+"/debug/pprof/slow/").body, said)
	}, watchdog, 100*time.Millisecond)
	const page = "/debug/pprof/conflicts/"
	hidden, shown := get(t, srv.URL()+page), get(t, shows.URL()+page)
	require.Equal(t, http.StatusOK, hidden.status)
	require.Contains(t, hidden.body, "tally, over counters: 86 % of")
	line := regexp.MustCompile(`(source[^"]*)#L\d+">conflicts_test.go`).FindStringSubmatch(hidden.body)
	require.Equal(t, http.StatusOK, get(t, srv.URL()+page+html.UnescapeString(line[1])).status)
	require.NotContains(t, hidden.body, "votes of may")
	require.Contains(t, shown.body, "votes of may")
	require.Contains(t, get(t, srv.URL()+page+"?format=json").body, `"who": "tally"`)
	require.Contains(t, get(t, srv.URL()+page+"top").body, "TestConflicts")
}

// ownGoroutine matches the stacks of goroutines that the service, a database or a journal starts.
var ownGoroutine = regexp.MustCompile(
	`mvccmap/(profiling/internal/|internal/bench/machine\.|gc\.|durable\.|mvcc\.)`)

// M184: none of the goroutines of the service, nor of a database with a watch, a journal that syncs
// and takes backups, and records that expire, waits in the program's block profile; names there are
// short.
func TestOwnGoroutinesDoNotBlock(t *testing.T) {
	srv := start(t, profiling.Config{
		BlockRate: 1, Slow: &profiling.SlowConfig{Above: time.Millisecond},
	})
	db := mvcc.NewDB(&mvcc.Options{ReclaimWorkers: 2})
	defer db.Close()
	sessions := mvcc.NewTable[string, time.Time](db, "sessions", nil)
	sessions.Expire(func(_ string, until time.Time) time.Time { return until })
	j, err := durable.Open(t.Context(), db, t.TempDir(), &durable.Options{Codec: durable.JSON, Compact: 1})
	require.NoError(t, err)
	defer j.Close()
	watch := sessions.Watch(t.Context(), nil)
	for i := range 20_000 { // their buckets are visited by several goroutines
		sessions.Store(fmt.Sprint(i%10_000), time.Now().Add(100*time.Millisecond))
	}
	const report = "contention/new?mode=trace&format=json&"
	for _, what := range []string{"wall?", "profile?", "mutex?", report} {
		a := get(t, srv.URL()+"/debug/pprof/"+what+"seconds=0.3")
		require.Equal(t, http.StatusOK, a.status, a.body)
	}
	require.NoError(t, j.Sync(t.Context()))
	runtime.KeepAlive(watch)
	var b strings.Builder
	require.NoError(t, pprof.Lookup("block").WriteTo(&b, 0))
	p, err := profile.ParseData([]byte(b.String()))
	require.NoError(t, err)
	for _, s := range p.Sample {
		var stack []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				name := line.Function.Name
				stack = append(stack, name)
				require.True(t, len(name) < 80 || strings.Contains(name, "_test."), name)
			}
		}
		text := strings.Join(stack, " ")
		waits := strings.HasPrefix(text, "runtime.selectgo ") ||
			strings.HasPrefix(text, "runtime.chanrecv") && stack[1] != "runtime/pprof.StopCPUProfile"
		own := ownGoroutine.MatchString(text) && !strings.Contains(text, "_test.")
		require.False(t, waits && own && s.Value[1] > int64(50*time.Millisecond), text)
	}
}
