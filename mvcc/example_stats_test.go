package mvcc_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Stats tells, for one thing, whether somebody has forgotten to close a snapshot.
func ExampleMap_Stats() {
	m := cities()
	defer m.Close()
	s := m.Snapshot()

	fmt.Println(m.Stats().LiveTx)
	s.Close()
	fmt.Println(m.Stats().LiveTx)
	// Output:
	// 1
	// 0
}

// Stats have a form for JSON: publish them with expvar, or print some.
func ExampleStats() {
	m := cities()
	defer m.Close()

	// expvar.Publish("cities", expvar.Func(func() any { return m.Stats() }))
	stats := m.Stats()
	fmt.Println(stats.Keys, "keys,", stats.Commits, "commits,", stats.Conflicts, "conflicts")
	// Output: 3 keys, 3 commits, 0 conflicts
}

// Sub tells what has happened in a while.
func ExampleStats_Sub() {
	m := cities()
	defer m.Close()

	before := m.Stats()
	err := m.Update(context.Background(), nil, func(tx mvcc.Tx[string, string]) error {
		tx.Set("Quito", "Ecuador")
		tx.Set("Cusco", "Peru")
		return nil
	})
	fmt.Println(err, m.Stats().Sub(before).Commits)
	// Output: <nil> 1
}

// In a log there is what is not zero.
func ExampleStats_LogValue() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	stats := mvcc.Stats{Keys: 3, Commits: 5, Conflicts: 1} // or those of a map
	log.Info("cities", "map", stats)
	// Output: level=INFO msg=cities map.keys=3 map.commits=5 map.conflicts=1
}

// Figures describes the fields of Stats, for what exports all of them.
func ExampleFigures() {
	m := cities()
	defer m.Close()

	stats := m.Stats()
	for _, f := range mvcc.Figures() {
		if f.Counter && f.Of(stats) > 0 && f.Metric != "" {
			fmt.Println("mvccmap_"+f.Metric, f.Of(stats))
		}
	}
	// Output: mvccmap_commits_total 3
}

func ExampleFigure() {
	for _, f := range mvcc.Figures() {
		if f.Field == "Keys" {
			fmt.Println(f.Name, f.Counter, f.Help)
		}
	}
	// Output: keys false Keys that have a value.
}

// Of finds the figure in statistics, durations in seconds.
func ExampleFigure_Of() {
	before := mvcc.Stats{Commits: 100}
	now := mvcc.Stats{Commits: 250}
	for _, f := range mvcc.Figures() {
		if f.Field == "Commits" {
			fmt.Println(f.Of(now.Sub(before)))
		}
	}
	// Output: 150
}
