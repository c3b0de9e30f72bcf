// Package figures describes the fields of [mvcc.Stats], for charts and metrics.
package figures

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Figure is the description of a field of [mvcc.Stats].
type Figure struct {
	Field   string // of Stats
	Name    string // in the JSON form, which adds "_ns" to durations
	Help    string // a sentence or two about it
	Unit    string // "s", "B", or "" for a number of something
	Counter bool   // it grows; otherwise it is a gauge
	Table   bool   // the statistics of a table have it too, see [mvcc.Map.Stats]

	// Metric is the name for Prometheus, without "mvccmap_"; empty if the figure is a sum of
	// others. Figures of one metric differ in Value, the value of the label Label.
	Metric, Label, Value string

	index int // of the field
}

// tableFigures are the fields that the statistics of a table have.
var tableFigures = []string{"Epoch", "Keys", "Entries", "Bytes",
	"Conflicts", "ReadConflicts", "ScanConflicts", "WriteConflicts"}

// All describes the fields of [mvcc.Stats], in their order. Its callers share the slice.
var All = sync.OnceValue(func() (list []Figure) {
	stats := reflect.TypeFor[mvcc.Stats]()
	add := func(f Figure) {
		field, ok := stats.FieldByName(f.Field)
		if !ok {
			panic("figures: Stats has no field " + f.Field)
		}
		var label string
		f.Metric, label, _ = strings.Cut(strings.TrimSuffix(f.Metric, "}"), "{")
		f.Label, f.Value, _ = strings.Cut(label, "=")
		switch {
		case field.Type == reflect.TypeFor[time.Duration]():
			f.Unit = "s"
		case strings.HasSuffix(f.Metric, "_bytes"):
			f.Unit = "B"
		}
		if f.Help == "" {
			f.Help = list[len(list)-1].Help
		}
		f.Table = slices.Contains(tableFigures, f.Field)
		f.Name, f.index = strings.TrimSuffix(field.Tag.Get("json"), "_ns"), field.Index[0]
		list = append(list, f)
	}
	describe(func(field, metric, help string) {
		add(Figure{Field: field, Metric: metric, Help: help})
	}, func(field, metric, help string) {
		add(Figure{Field: field, Metric: metric, Help: help, Counter: true})
	})
	return list
})

// Of returns the figure of s. Durations are in seconds.
func (f Figure) Of(s mvcc.Stats) float64 {
	switch v := reflect.ValueOf(s).Field(f.index); {
	case f.Unit == "s":
		return time.Duration(v.Int()).Seconds()
	case v.CanUint():
		return float64(v.Uint())
	default:
		return float64(v.Int())
	}
}

// OfTable reports whether s has the statistics of a table of a database.
func OfTable(s mvcc.Stats) bool { return s.Epoch != 0 && s.MinVisible == 0 }

// describe tells the metric and the help of each field. Fields that share a metric have a label,
// and the help of the first of them. A sum of other fields is no metric.
func describe(gauge, counter func(field, metric, help string)) {
	gauge("Epoch", "epoch", "Newest epoch drawn. Every commit that writes draws one.")
	gauge("MinVisible", "min_visible_epoch", "Min visible epoch as of the newest view: nobody "+
		"reads below it, so what is older and replaced can be dropped.")
	gauge("LiveEpochs", "live_epochs", "Distinct epochs that are being read, as of the newest view.")
	gauge("LiveTx", "live_transactions", "Transactions and snapshots that are open.")
	gauge("OldestPin", "oldest_pinned_epoch", "Oldest epoch that is being read, 0 if none is.")
	gauge("OldestPinAge", "oldest_pin_age_seconds", "For how long the oldest epoch that is being "+
		"read has been, 0 if none is. What grows here keeps old versions in memory.")
	gauge("Keys", "keys", "Keys that have a value.")
	gauge("Entries", "entries", "Keys with a value, deleted ones that somebody may still see, and "+
		"entries of indexes.")
	gauge("Versions", "versions", "Versions in memory: the newest of each key, those that are "+
		"being read, and those not pruned yet.")
	gauge("Bytes", "size_bytes", "Estimate of the memory of keys, versions, index and slots, "+
		"without what keys and values point to.")
	gauge("QueueDepth", "queued_buckets", "Buckets of the index, of a few keys each, that wait to "+
		"be pruned.")
	gauge("Aside", "set_aside_versions", "Old versions and tombstones that are kept until a "+
		"reader ends.")

	counter("Commits", "commits_total", "Commits that wrote something, one-key writes included.")
	counter("Ended", "ended_transactions_total", "Transactions and snapshots that have ended, "+
		"however.")
	counter("Conflicts", "", "Commits that failed.")
	counter("ReadConflicts", "conflicts_total{kind=read}", "Commits that failed: because what was "+
		"read has changed, or what was scanned, or because another writer of the same key came "+
		"first.")
	counter("ScanConflicts", "conflicts_total{kind=scan}", "")
	counter("WriteConflicts", "conflicts_total{kind=write}", "")
	counter("Retries", "retries_total", "Further attempts that Update made after a conflict.")
	counter("Helped", "helped_commits_total", "Writers that another goroutine committed.")
	counter("Pushed", "pushed_commits_total", "Writers for which another goroutine drew an epoch.")
	counter("Revoked", "revoked_epochs_total", "Epochs that were taken away from a writer again.")
	counter("Rivals", "stalled_rivals_total", "Writers that others aborted because they stood still.")
	counter("Reinstalled", "reinstalled_total", "Attempts that followed an abort, or a faster writer.")
	counter("Claims", "claims_total", "Claims on keys that were granted to transactions that had "+
		"lost often.")
	counter("ExpiredClaims", "expired_claims_total",
		"Claims that were taken away because they took too "+
			"long.")
	counter("Deferred", "deferred_commits_total", "How often a commit waited for the end of "+
		"another's claim.")
	gauge("HeldClaims", "held_claims", "Claims that are granted.")
	gauge("Waiting", "waiting_goroutines", "Goroutines that wait for a claim of their own, or for "+
		"the end of another's.")
	counter("Expired", "expired_records_total", "Records that were deleted because their time had "+
		"come.")
	counter("ExpireFailures", "expire_failures_total", "How often a record was not deleted although "+
		"its time had come, because the function of OnExpire has failed.")
	gauge("Watches", "watches", "Watches, and channels of Changed, that are open.")
	gauge("WatchLag", "watch_lag_epochs", "Epochs that those who watch were not told of yet.")
	gauge("WatchWaiting", "watch_waiting_changes", "Changes that wait for the loops of watches.")
	counter("Gaps", "watch_gaps_total",
		"Watches that ended because something was too slow: the loop, "+
			"or the goroutine that serves all of them.")
	counter("Backups", "backups_total", "Complete backups.")
	gauge("BackupAge", "backup_age_seconds", "How long ago the last backup was complete, 0 if "+
		"there was none.")
	gauge("JournalLag", "journal_lag_epochs", "Epochs that are not on the disk of the journal yet.")
	gauge("JournalBehind", "journal_behind_seconds", "For how long something has waited to be on "+
		"the disk of the journal, 0 if nothing has.")
	counter("JournalFailures", "journal_failures_total", "How often the journal could not write "+
		"something.")
	counter("JournalRefused", "journal_refused_records_total", "Records that are not in the journal "+
		"because its codec has refused them.")
	counter("Pruned", "pruned_versions_total", "Old versions dropped.")
	counter("TickRefreshes", "view_refreshes_total{by=ticker}", "New views of what is being read, by "+
		"what asked for them: the ticker, committers, or Reclaim.")
	counter("CommitRefreshes", "view_refreshes_total{by=committer}", "")
	counter("ManualRefreshes", "view_refreshes_total{by=reclaim}", "")
	counter("TickRefreshTime", "view_refresh_seconds_total{by=ticker}", "What new views took, by "+
		"what asked for them. One in 64 of those of committers is timed.")
	counter("CommitRefreshTime", "view_refresh_seconds_total{by=committer}", "")
	counter("ManualRefreshTime", "view_refresh_seconds_total{by=reclaim}", "")
	counter("RefreshTime", "", "What new views took.")
	counter("SyncFallbacks", "sync_fallbacks_total", "Buckets of the index that a committer had "+
		"to prune itself because the queue was full.")
	counter("Parks", "parks_total", "How often the background work stopped altogether, because "+
		"there was nothing to do.")
	counter("Evicted", "evicted_transactions_total", "Transactions and snapshots that were older "+
		"than Options.MaxTxAge.")
	counter("Leaked", "leaked_transactions_total", "Transactions and snapshots that were never "+
		"ended, until the Go collector found them.")
}
