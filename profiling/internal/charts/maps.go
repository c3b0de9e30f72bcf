package charts

import (
	"math"
	"slices"

	"github.com/mvccmap/mvccmap/internal/seam/figures"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Map returns the charts of a map. They only choose which figures are drawn together: the unit of a
// figure, and whether it is a counter, follow from its description in package figures. Counters
// that no chart chooses are in /metrics.
func Map(name string, stats func() mvcc.Stats) Group {
	m := mapCharts{source: &Source{Read: func() any { return stats() }}}
	title := "Map"
	if name != "" {
		title += " " + name
	}
	return Group{Title: title, Source: m.source, Charts: []Chart{
		m.chart("Transactions", "commits that wrote, and transactions and snapshots that ended",
			"commits", "Commits", "ended", "Ended"),
		m.chart("Aborts by cause",
			"commits that failed, and transactions that were ended from outside",
			"a read changed", "ReadConflicts", "a scan changed", "ScanConflicts",
			"a write came first", "WriteConflicts", "stalled rival", "Rivals",
			"too old", "Evicted", "leaked", "Leaked"),
		m.chart("Claims",
			"goroutines that wait for their turn on a key, and claims that are granted",
			"waiting", "Waiting", "granted", "HeldClaims"),
		m.chart("Watches", "changes that wait for the loops of watches",
			"waiting", "WatchWaiting"),
		m.chart("Backups and journal",
			"how long ago the last backup was, and for how long something has waited for the journal",
			"last backup", "BackupAge", "behind", "JournalBehind"),
		m.chart("Live versions", "versions in memory, entries of the index, and keys with a value",
			"versions", "Versions", "entries", "Entries", "keys", "Keys"),
		m.chart("Memory of the map", "estimate, without what keys and values point to",
			"map", "Bytes"),
		m.chart("Pruned versions", "old versions dropped", "pruned", "Pruned"),
		m.chart("Age of oldest pin", "for how long the oldest read epoch has been read",
			"age", "OldestPinAge"),
		m.chart("Live readers", "open transactions and snapshots, and their distinct read epochs",
			"transactions", "LiveTx", "read epochs", "LiveEpochs"),
		m.chart("Reclaim queue",
			"buckets of the index that wait to be pruned, and versions kept until a reader ends",
			"queued", "QueueDepth", "set aside", "Aside"),
		m.chart("Synchronous fallbacks",
			"buckets that a committer had to prune because the queue was full",
			"fallbacks", "SyncFallbacks"),
	}}
}

// Table returns the charts of a table of a [mvcc.DB], which has few of the figures.
func Table(name string, stats func() mvcc.Stats) Group {
	m := mapCharts{source: &Source{Read: func() any { return stats() }}}
	return Group{Title: "Table " + name, Source: m.source, Charts: []Chart{
		m.chart("Keys", "entries of the index, and keys with a value",
			"entries", "Entries", "keys", "Keys"),
		m.chart("Memory of the table",
			"index and newest versions, estimated, without what keys and values point to",
			"table", "Bytes"),
		m.chart("Conflicts", "commits that failed because of a key of this table",
			"a read changed", "ReadConflicts", "a scan changed", "ScanConflicts",
			"a write came first", "WriteConflicts"),
	}}
}

// mapCharts makes charts of figures.
type mapCharts struct {
	source *Source
}

// chart draws figures. lines has their names and fields in turn.
func (m mapCharts) chart(title, about string, lines ...string) Chart {
	c := Chart{Title: title, About: about}
	for ; len(lines) > 0; lines = lines[2:] {
		f := figure(lines[1])
		line := Gauge[mvcc.Stats]
		c.Unit = Unit(f.Unit)
		if f.Counter {
			line, c.Unit = Rate[mvcc.Stats], PerSecond
		}
		c.Series = append(c.Series, line(m.source, lines[0], present(f)))
	}
	return c
}

// present returns a function that returns the figure, or NaN if the statistics do not have it:
// without an epoch they are of no map, and those of a table lack most figures.
func present(f figures.Figure) func(mvcc.Stats) float64 {
	return func(s mvcc.Stats) float64 {
		if s.Epoch == 0 || figures.OfTable(s) && !f.Table {
			return math.NaN()
		}
		return f.Of(s)
	}
}

// figure returns the description of a field of [mvcc.Stats].
func figure(field string) figures.Figure {
	list := figures.All()
	return list[slices.IndexFunc(list, func(f figures.Figure) bool { return f.Field == field })]
}
