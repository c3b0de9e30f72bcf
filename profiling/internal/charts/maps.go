package charts

import (
	"math"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Map returns the charts of a map. They only choose what is drawn together: the unit of a figure,
// and whether it is a counter, follow from its description in [mvcc.Figures]. Counters that no
// chart chooses are in the last one, but for internalFigures.
func Map(name string, stats func() mvcc.Stats) Group {
	m := mapCharts{source: &Source[mvcc.Stats]{Read: stats}, drawn: map[string]bool{}}
	title := "Map"
	if name != "" {
		title += " " + name
	}
	list := []Chart{
		m.chart("Transactions", "commits that wrote, and transactions and snapshots that ended",
			FromZero, "commits", "Commits", "ended", "Ended"),
		m.chart("Aborts by cause",
			"commits that failed, and transactions that were ended from outside", FromZero,
			"a read changed", "ReadConflicts", "a scan changed", "ScanConflicts",
			"a write came first", "WriteConflicts", "stalled rival", "Rivals",
			"too old", "Evicted", "leaked", "Leaked"),
		m.chart("Helped commits", "commits that another goroutine finished, pushed or took back",
			FromZero, "helped", "Helped", "pushed", "Pushed",
			"revoked", "Revoked", "reinstalled", "Reinstalled"),
		m.chart("Claims",
			"goroutines that wait for their turn on a key, and claims that are granted",
			FromZero, "waiting", "Waiting", "granted", "HeldClaims"),
		m.chart("Watches",
			"changes that wait for the loops of watches, and epochs that they were not told of yet",
			FromZero, "waiting", "WatchWaiting", "lag", "WatchLag"),
		m.chart("Backups and journal",
			"how long ago the last backup was, and for how long something has waited for the journal",
			FromZero, "last backup", "BackupAge", "behind", "JournalBehind"),
		m.chart("Journal lag", "epochs that are not on the disk of the journal yet",
			FromZero, "lag", "JournalLag"),
		m.chart("Live versions",
			"versions in memory, entries of the index, and keys with a value",
			FromZero, "versions", "Versions", "entries", "Entries", "keys", "Keys"),
		m.chart("Memory of the map", "estimate, without what keys and values point to",
			FromZero, "map", "Bytes"),
		m.chart("Pruned versions", "old versions dropped", FromZero, "pruned", "Pruned"),
		m.chart("Age of oldest pin", "for how long the oldest read epoch has been read",
			FromZero, "age", "OldestPinAge"),
		m.chart("Live readers", "open transactions and snapshots, and their distinct read epochs",
			FromZero, "transactions", "LiveTx", "read epochs", "LiveEpochs"),
		m.chart("Reclaim queue",
			"buckets of the index that wait to be pruned, and versions kept until a reader ends",
			FromZero, "queued", "QueueDepth", "set aside", "Aside"),
		m.chart("Synchronous fallbacks",
			"buckets that a committer had to prune because the queue was full",
			FromZero, "fallbacks", "SyncFallbacks"),
	}
	for _, field := range internalFigures {
		m.drawn[field] = true
	}
	var others []string
	for _, f := range mvcc.Figures() {
		if f.Counter && f.Metric != "" && f.Unit == "" && !m.drawn[f.Field] {
			others = append(others, strings.ReplaceAll(f.Name, "_", " "), f.Field)
		}
	}
	list = append(list, m.chart("Other counters", "what no other chart has", FromZero, others...))
	return Group{Title: title, Charts: list, Source: m.source}
}

// internalFigures are for those who work on the map. /metrics has them.
var internalFigures = []string{"TickRefreshes", "CommitRefreshes", "ManualRefreshes"}

// Table returns the charts of a table of a [mvcc.DB], which has few of the figures.
func Table(name string, stats func() mvcc.Stats) Group {
	m := mapCharts{source: &Source[mvcc.Stats]{Read: stats}, drawn: map[string]bool{}}
	return Group{Title: "Table " + name, Source: m.source, Charts: []Chart{
		m.chart("Keys", "entries of the index, and keys with a value",
			FromZero, "entries", "Entries", "keys", "Keys"),
		m.chart("Memory of the table",
			"index and newest versions, estimated, without what keys and values point to",
			FromZero, "table", "Bytes"),
		m.chart("Conflicts", "commits that failed because of a key of this table", FromZero,
			"a read changed", "ReadConflicts", "a scan changed", "ScanConflicts",
			"a write came first", "WriteConflicts"),
	}}
}

// mapCharts makes charts of figures.
type mapCharts struct {
	source *Source[mvcc.Stats]
	drawn  map[string]bool // by field
}

// chart draws figures. lines has their names and fields in turn.
func (m mapCharts) chart(title, about string, scale Scale, lines ...string) Chart {
	c := Chart{Title: title, About: about, Scale: scale}
	for ; len(lines) > 0; lines = lines[2:] {
		f := figure(lines[1])
		m.drawn[f.Field] = true
		line := m.source.Gauge
		c.Unit = Unit(f.Unit)
		if f.Counter {
			line, c.Unit = m.source.Rate, PerSecond
		}
		c.Series = append(c.Series, line(lines[0], present(f)))
	}
	return c
}

// present returns a function that returns the figure, or NaN if there is none: statistics without
// an epoch are of no map, and a table lacks most figures.
func present(f mvcc.Figure) func(mvcc.Stats) float64 {
	return func(s mvcc.Stats) float64 {
		if s.Epoch == 0 || s.OfTable() && !f.Table {
			return math.NaN()
		}
		return f.Of(s)
	}
}

// figure returns the description of a field of [mvcc.Stats].
func figure(field string) mvcc.Figure {
	list := mvcc.Figures()
	return list[slices.IndexFunc(list, func(f mvcc.Figure) bool { return f.Field == field })]
}
