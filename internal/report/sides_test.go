package report

import (
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/results"
)

// The page of a comparison has the verdict first, what has changed, the functions, and both sides of
// each engine in its charts.
func TestPageOfAComparison(t *testing.T) {
	side := func(factor float64) *results.Run {
		b := newBuilder(t)
		for range 3 { // of three samples
			b.add("transfer", "Transfer", "", "mvcc", 2, factor*1e6)
		}
		return &b.run
	}
	old, now := side(1), side(0.5)
	x, err := old.Source("main<1>")
	require.NoError(t, err)
	y, err := now.Source(".")
	require.NoError(t, err)
	c, err := results.Compare(x, y, results.Options{Alpha: 0.05, Turns: true})
	require.NoError(t, err)
	c.Verdict = c.Decide(false)
	name := filepath.Join(t.TempDir(), "ab.html")
	require.NoError(t, WriteComparison(name, Sides{Old: old, New: now, Comparison: c,
		Changes: []Change{{"Transfer/threads=2", []Function{{"spin<T>", 1.25, 13.75}}}}}))
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	page := html.UnescapeString(string(b))
	require.True(t, IsPage(name))
	verdict := strings.Index(page, "verdict: WORSE: of 1 comparison of ops/s 1 worse")
	require.Positive(t, verdict)
	require.Less(t, verdict, strings.Index(page, `<section id="workload-0">`))
	for _, want := range []string{
		"<h1>main<1> and .</h1>", "<td>spin<T></td><td>1.2</td><td>13.8</td><td>+12.5</td>",
		`"name":"mvcc old"`, `"name":"mvcc new"`,
		"<details open>\n<summary>ops/s <small>higher is better</small>",
	} {
		require.True(t, strings.Contains(page, want), want)
	}
	require.False(t, strings.Contains(page, "ZgotmplZ"))
	require.True(t, strings.Contains(string(b), "<h1>main&lt;1&gt;"), "escaped")

	require.ErrorIs(t, WriteComparison(name, Sides{Old: new(results.Run), New: new(results.Run),
		Comparison: c}), ErrEmpty)
}
