package peers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// someResults are those of two engines under two workloads; one lacks one.
const someResults = `# mvccbench run --some flags
# a second line
# skipped: transfer on xsync: said by the table
Unit ns/op better=lower
goos: linux
cpu: Some CPU

BenchmarkZipfRead/theta=0.5/engine=mvcc/threads=1-2 100 200 ns/op 5 ops/s
BenchmarkZipfRead/theta=0.5/engine=mvcc/threads=1-2 100 100 ns/op
BenchmarkZipfRead/theta=0.5/engine=mvcc/threads=1-2 100 103 ns/op
BenchmarkZipfRead/theta=0.5/engine=xsync/threads=1-2 100 51.5 ns/op
BenchmarkZipfRead/theta=0.5/engine=xsync/threads=8-2 100 1234.5 ns/op
# a comment in the middle
BenchmarkTransfer/engine=mvcc/threads=1-2 100 8 ns/op 7 audits/s
BenchmarkTransfer/engine=badger/threads=1-2 100 16 ns/op 0 audits/s
BenchmarkTransfer/isolation=snapshot/engine=mvcc/threads=1-2 100 8.125 ns/op 7 audits/s
`

// markdown returns the table of the given results.
func markdown(t *testing.T, results ...string) string {
	var table Table
	for _, r := range results {
		require.NoError(t, table.Add("results", strings.NewReader(r)))
	}
	var b strings.Builder
	require.NoError(t, table.WriteMarkdown(&b))
	return b.String()
}

func TestTable(t *testing.T) {
	want := `Time of an operation in ns, wall time divided by committed operations, at 1 and 8 goroutines: median (smallest-largest) of the samples,
and the median divided by that of mvcc.

| workload                    | engine | isolation                     |      1: ns/op | / mvcc | 8: ns/op | / mvcc |
|-----------------------------|--------|-------------------------------|--------------:|-------:|---------:|-------:|
| ZipfRead/theta=0.5          | mvcc   | strictly serializable         | 103 (100-200) |   1.00 |        - |        |
|                             | xsync  | one key at a time             |          51.5 |   0.50 |     1234 |        |
| Transfer                    | mvcc   | strictly serializable         |          8.00 |   1.00 |        - |        |
|                             | badger | serializable but for phantoms |          16.0 |   2.00 |        - |        |
| Transfer/isolation=snapshot | mvcc   | snapshot                      |          8.12 |   1.00 |        - |        |

- Transfer without xsync: it has no transactions over several keys.
- badger: Two transactions that scan the same keys, and each insert one, both commit.
- Transfer with badger: in most samples with threads=1 not a single audit came to its end, so that its figure is one without them.

Measured by:

    mvccbench run --some flags
    a second line
    Some CPU
`
	require.Empty(t, cmp.Diff(want, markdown(t, someResults)))
}

// Results of several files go into one table.
func TestTableOfSeveralFiles(t *testing.T) {
	one := "BenchmarkX/engine=mvcc/threads=2 1 10 ns/op\n"
	require.Contains(t, markdown(t, one, "BenchmarkX/engine=mvcc/threads=2 1 30 ns/op\n"),
		"20.0 (10.0-30.0)")
	require.Contains(t, markdown(t, one, "BenchmarkX/engine=other/threads=2 1 30 ns/op\n"),
		"not known")

	// What is noisy is marked, and so is each ratio of it.
	noisy := markdown(t, "# noisy, the next sample: somebody else\n"+one+
		"BenchmarkX/engine=xsync/threads=2 1 30 ns/op\nBenchmarkX/engine=xsync/threads=4 1 5 ns/op\n")
	require.Regexp(t, `mvcc +\| [^|]+\| +10.0! \| +1.00! \|`, noisy)
	require.Regexp(t, `xsync +\| [^|]+\| +30.0 \| +3.00! \| +5.00 \|`, noisy)
	require.Contains(t, noisy, "\n- !: of noisy samples, 1 of 3 in all: other programs")
}

func TestBadResults(t *testing.T) {
	for _, c := range []struct{ results, says string }{
		{"", "no results"},
		{"# only a comment\n", "no results"},
		{"BenchmarkX/engine=mvcc/threads=2 oops\n", "name:1"},
		{"\nBenchmarkX/engine=mvcc/threads=two 1 10 ns/op\n", "name:2: result X/engine=mvcc/threads=two"},
		{"BenchmarkX/threads=2 1 10 ns/op\n", "its name has no engine="},
		{"BenchmarkX/engine=mvcc 1 10 ns/op\n", "threads"},
		{"BenchmarkX/engine=mvcc/threads=2 1 10 B/op\n", "ns/op"},
	} {
		var table Table
		require.ErrorContains(t, table.Add("name", strings.NewReader(c.results)), c.says, c.results)
	}
	require.Error(t, new(Table).WriteMarkdown(new(strings.Builder)))
}
