package browsertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling"
)

// A bank is a map under load, with counters for a dashboard.
type bank struct {
	accounts *mvcc.Map[int, int]
	ops      atomic.Uint64
	aborts   atomic.Uint64
}

// openBank moves money between the accounts of a new bank, with two goroutines
// and a reader that stays, until the test ends.
func openBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{accounts: mvcc.New[int, int](nil)}
	for i := range 64 {
		b.accounts.Store(i, 100)
	}
	pinned := b.accounts.Snapshot()
	t.Cleanup(func() {
		pinned.Close()
		b.accounts.Close()
	})
	testload.Again(t, b.transfer, b.transfer)
	return b
}

func (b *bank) transfer() {
	from, to := rand.IntN(64), rand.IntN(64)
	tries := 0
	err := b.accounts.Update(context.Background(), nil, func(tx mvcc.Tx[int, int]) error {
		tries++
		x, _ := tx.Get(from)
		y, _ := tx.Get(to)
		tx.Set(from, x-1)
		tx.Set(to, y+1)
		return nil
	})
	if err == nil {
		b.ops.Add(1)
	}
	b.aborts.Add(uint64(tries - 1))
	time.Sleep(time.Millisecond) // leaves the processors to the browser
}

// vote is an Update of the one key over which all votes meet.
func (b *bank) vote() {
	_ = b.accounts.Update(context.Background(), nil, func(tx mvcc.Tx[int, int]) error {
		n, _ := tx.Get(-1)
		time.Sleep(100 * time.Microsecond)
		tx.Set(-1, n+1)
		return nil
	})
}

// config returns the configuration of a dashboard that shows the bank.
func (b *bank) config() profiling.Config {
	var rows [][]string
	for i := range 12 {
		rows = append(rows, []string{fmt.Sprintf("transfer, mvcc, 2 threads, sample %d", i+1), "119k",
			"8.81k", "1.964µs", "7.632µs", "4.12ms", "0.00", "85.7", "2.10"})
	}
	return profiling.Config{
		Title: "bank",
		Maps:  map[string]func() mvcc.Stats{"accounts": b.accounts.Stats},
		Workload: func() profiling.Workload {
			return profiling.Workload{
				Name: "transfers between 64 accounts", Next: "an audit", Done: 12, Of: 48,
				Left: 83 * time.Second,
				Ops:  b.ops.Load(), Aborts: b.aborts.Load(),
				Latency: profiling.Latency{P50: 1500, P90: 3 * time.Microsecond, P99: 8 * time.Microsecond,
					P999: time.Millisecond, Max: 3 * time.Millisecond},
				Results: profiling.Table{
					Columns: []string{"sample", "ops/s", "ns/op", "p50", "p99", "p99.9", "aborts/op",
						"B/op", "allocs/op"},
					Rows: rows,
				},
			}
		},
	}
}

// The charts show the present, go on, and have the past for a page that is
// opened late.
func TestChartsMove(t *testing.T) {
	t.Parallel()
	b := open(t)
	srv := start(t, openBank(t).config())
	require.Equal(t, 200, b.visit(srv.URL()))
	// Those of the workload are open, and others by a click; a second one closes them.
	for _, chart := range []string{"Go runtime/Heap", "Go runtime/Goroutines",
		"Map accounts/Age of oldest pin", "Machine/Processors"} {
		b.await(fmt.Sprintf(`document.querySelector('[data-tile=%q]:not([hidden]) path[d]')`, chart) +
			` !== null`)
		eval[bool](b, fmt.Sprintf(`(document.querySelector('[data-tile=%q]').click(), true)`, chart))
	}
	eval[bool](b, `(document.querySelector('[data-tile="Machine/Processors"]').click(), true)`)
	require.Equal(t, "Heap Goroutines Age of oldest pin", eval[string](b,
		`[...document.querySelectorAll("[data-chart]:not([data-chart^=Workload]) h3")]
			.map(h => h.textContent).join(" ")`))
	throughput := `document.querySelector('[data-chart="Workload/Throughput"] .legend b')?.textContent`
	b.await(`/^[\d.]+[kM]?\/s$/.test(` + throughput + `)`)
	// Something is drawn in the colour of the first line, also far below the window, and it changes.
	for _, chart := range []string{"Workload/Throughput", "Go runtime/Heap", "Go runtime/Goroutines"} {
		b.await(`(() => {
		const canvas = document.querySelector('[data-chart="` + chart + `"] canvas')
		const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true})
		copy.drawImage(canvas, 0, 0)
		const {data} = copy.getImageData(0, 0, canvas.width, canvas.height)
		for (let i = 0; i < data.length; i += 4) if (data[i+3] > 200 && data[i+2] > data[i] + 100) return true
		return false
	})()`)
	}
	picture := `document.querySelector('[data-chart="Workload/Throughput"] canvas').toDataURL()`
	before := eval[string](b, picture)
	b.await(picture + ` !== ` + fmt.Sprintf("%q", before))
	require.Contains(t, b.text(), "transfers between 64 accounts")
	require.Contains(t, b.text(), "12 of 48 done, 1 min 23 s left")
	require.Contains(t, b.text(), "Next: an audit")
	require.Contains(t, b.text(), "sample 12")
	pin := `document.querySelector('[data-chart="Map accounts/Age of oldest pin"] .legend b')?.textContent`
	b.await(`parseFloat(` + pin + `) > 0`)

	require.Zero(t, eval[int](b, `document.querySelectorAll("canvas:not([role=img][aria-label])").length`), "text for screen readers")

	// The table of a chart has the figures.
	table := `document.querySelector('[data-chart="Workload/Throughput"] .figures')`
	b.await(`(` + table + `.open = true, ` + table + `.querySelectorAll("tbody tr").length > 1)`)
	require.Regexp(t, `^\d\d:\d\d:\d\d$`, eval[string](b, table+`.querySelector("td").textContent`))
	b.await(`/^[\d.]+k?\/s$/.test(` + table + `.querySelector("td + td").textContent)`)
	// The operations, the machine and the runtime come first, and charts without a value are hidden.
	require.Equal(t, "Workload Machine Go runtime Map accounts", eval[string](b,
		`[...document.querySelectorAll("#charts > section:not([id]) > h2")]
			.map(h => h.textContent).join(" ")`))
	require.Contains(t, b.text(), "Claims", "named, as it has no value")
	require.False(t, eval[bool](b,
		`document.querySelector('[data-tile="Map accounts/Claims"]').checkVisibility()`))
	// Lines that differ in colour differ without colours, too.
	require.Equal(t, 6, eval[int](b, `new Set([...document.querySelectorAll('[data-chart="Workload/Latency"] .legend line')]
		.map(l => l.getAttribute("stroke-dasharray"))).size`))

	// Under the cursor there is a time, and without one there is none.
	at := `document.querySelector('[data-chart="Workload/Throughput"] time').textContent`
	require.Empty(t, eval[string](b, at))
	b.await(`(() => {
		const over = document.querySelector('[data-chart="Workload/Throughput"] .u-over'), r = over.getBoundingClientRect()
		for (const kind of ["mouseenter", "mousemove"])
			over.dispatchEvent(new MouseEvent(kind, {clientX: r.right - 3, clientY: r.top + 20, bubbles: true}))
		return /^\d\d:\d\d:\d\d$/.test(` + at + `)
	})()`)

	// Another page has the points from before it was opened at once.
	b.visit(srv.URL() + "/debug/pprof/live")
	b.await(`document.querySelectorAll(".chart canvas").length === 3`)
	b.clean()
}
