package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mvccmap/mvccmap/mvcc"
)

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// A metric is one name with its values, several if it has a label of its own.
type metric struct {
	name   string // without the prefix
	help   string
	kind   prometheus.ValueType
	label  string // "" if there is one value
	values []value
}

type value struct {
	label string // value of the label
	field string // of mvcc.Stats
	of    func(mvcc.Stats) float64
}

// labels returns the names of the labels beside the map.
func (m metric) labels() []string {
	if m.label == "" {
		return nil
	}
	return []string{m.label}
}

// one makes the values of a metric without a label.
func one(field string, of func(mvcc.Stats) float64) []value { return []value{{field: field, of: of}} }

// metrics has what is exported of a map.
var metrics = []metric{
	{"epoch", "Newest epoch drawn. Every commit that writes draws one.", gauge, "",
		one("Epoch", func(s mvcc.Stats) float64 { return float64(s.Epoch) })},
	{"min_visible_epoch", "Min visible epoch as of the newest view: nobody reads below it, so what is older and replaced can be dropped.", gauge, "",
		one("MinVisible", func(s mvcc.Stats) float64 { return float64(s.MinVisible) })},
	{"live_epochs", "Distinct epochs that are being read, as of the newest view.", gauge, "",
		one("LiveEpochs", func(s mvcc.Stats) float64 { return float64(s.LiveEpochs) })},
	{"live_transactions", "Transactions and snapshots that are open.", gauge, "",
		one("LiveTx", func(s mvcc.Stats) float64 { return float64(s.LiveTx) })},
	{"oldest_pinned_epoch", "Oldest epoch that is being read, 0 if none is.", gauge, "",
		one("OldestPin", func(s mvcc.Stats) float64 { return float64(s.OldestPin) })},
	{"oldest_pin_age_seconds", "For how long the oldest epoch that is being read has been, 0 if none is. What grows here keeps old versions in memory.", gauge, "",
		one("OldestPinAge", func(s mvcc.Stats) float64 { return s.OldestPinAge.Seconds() })},
	{"keys", "Keys that have a value.", gauge, "",
		one("Keys", func(s mvcc.Stats) float64 { return float64(s.Keys) })},
	{"entries", "Keys in the index: those with a value, and deleted ones that somebody may still see.", gauge, "",
		one("Entries", func(s mvcc.Stats) float64 { return float64(s.Entries) })},
	{"versions", "Versions in memory: the newest of each key, those that are being read, and those not pruned yet.", gauge, "",
		one("Versions", func(s mvcc.Stats) float64 { return float64(s.Versions) })},
	{"size_bytes", "Estimate of the memory of keys, versions, index and slots, without what keys and values point to.", gauge, "",
		one("Bytes", func(s mvcc.Stats) float64 { return float64(s.Bytes) })},
	{"queued_buckets", "Buckets of the index, of a few keys each, that wait to be pruned.", gauge, "",
		one("QueueDepth", func(s mvcc.Stats) float64 { return float64(s.QueueDepth) })},
	{"set_aside_versions", "Old versions and tombstones that are kept until a reader ends.", gauge, "",
		one("Aside", func(s mvcc.Stats) float64 { return float64(s.Aside) })},

	{"commits_total", "Commits that wrote something, one-key writes included.", counter, "",
		one("Commits", func(s mvcc.Stats) float64 { return float64(s.Commits) })},
	{"ended_transactions_total", "Transactions and snapshots that have ended, however.", counter, "",
		one("Ended", func(s mvcc.Stats) float64 { return float64(s.Ended) })},
	{"conflicts_total", "Commits that failed: because what was read has changed, or what was scanned, or because another writer of the same key came first.", counter, "kind", []value{
		{"read", "ReadConflicts", func(s mvcc.Stats) float64 { return float64(s.ReadConflicts) }},
		{"scan", "ScanConflicts", func(s mvcc.Stats) float64 { return float64(s.ScanConflicts) }},
		{"write", "WriteConflicts", func(s mvcc.Stats) float64 { return float64(s.WriteConflicts) }},
	}},
	{"retries_total", "Further attempts that Update made after a conflict.", counter, "",
		one("Retries", func(s mvcc.Stats) float64 { return float64(s.Retries) })},
	{"helped_commits_total", "Writers that another goroutine committed.", counter, "",
		one("Helped", func(s mvcc.Stats) float64 { return float64(s.Helped) })},
	{"pushed_commits_total", "Writers for which another goroutine drew an epoch.", counter, "",
		one("Pushed", func(s mvcc.Stats) float64 { return float64(s.Pushed) })},
	{"revoked_epochs_total", "Epochs that were taken away from a writer again.", counter, "",
		one("Revoked", func(s mvcc.Stats) float64 { return float64(s.Revoked) })},
	{"stalled_rivals_total", "Writers that others aborted because they stood still.", counter, "",
		one("Rivals", func(s mvcc.Stats) float64 { return float64(s.Rivals) })},
	{"reinstalled_total", "Attempts that followed an abort by another writer.", counter, "",
		one("Reinstalled", func(s mvcc.Stats) float64 { return float64(s.Reinstalled) })},
	{"claims_total", "Claims on keys that were granted to transactions that had lost often.", counter, "",
		one("Claims", func(s mvcc.Stats) float64 { return float64(s.Claims) })},
	{"expired_claims_total", "Claims that were taken away because they took too long.", counter, "",
		one("Expired", func(s mvcc.Stats) float64 { return float64(s.Expired) })},
	{"deferred_commits_total", "How often a commit waited for the end of another's claim.", counter, "",
		one("Deferred", func(s mvcc.Stats) float64 { return float64(s.Deferred) })},
	{"held_claims", "Claims that are granted.", gauge, "",
		one("HeldClaims", func(s mvcc.Stats) float64 { return float64(s.HeldClaims) })},
	{"waiting_goroutines", "Goroutines that wait for a claim of their own, or for the end of another's.", gauge, "",
		one("Waiting", func(s mvcc.Stats) float64 { return float64(s.Waiting) })},
	{"pruned_versions_total", "Old versions dropped.", counter, "",
		one("Pruned", func(s mvcc.Stats) float64 { return float64(s.Pruned) })},
	{"view_refreshes_total", "New views of who reads what, by who asked for them: the ticker, committers, or Reclaim.", counter, "by", []value{
		{"ticker", "TickRefreshes", func(s mvcc.Stats) float64 { return float64(s.TickRefreshes) }},
		{"committer", "CommitRefreshes", func(s mvcc.Stats) float64 { return float64(s.CommitRefreshes) }},
		{"reclaim", "ManualRefreshes", func(s mvcc.Stats) float64 { return float64(s.ManualRefreshes) }},
	}},
	{"view_refresh_seconds_total", "What new views took, by who asked for them. One in 64 of those of committers is timed.", counter, "by", []value{
		{"ticker", "TickRefreshTime", func(s mvcc.Stats) float64 { return s.TickRefreshTime.Seconds() }},
		{"committer", "CommitRefreshTime", func(s mvcc.Stats) float64 { return s.CommitRefreshTime.Seconds() }},
		{"reclaim", "ManualRefreshTime", func(s mvcc.Stats) float64 { return s.ManualRefreshTime.Seconds() }},
	}},
	{"sync_fallbacks_total", "Buckets of the index that a committer had to prune itself because the queue was full.", counter, "",
		one("SyncFallbacks", func(s mvcc.Stats) float64 { return float64(s.SyncFallbacks) })},
	{"parks_total", "How often the background work stopped altogether, because there was nothing to do.", counter, "",
		one("Parks", func(s mvcc.Stats) float64 { return float64(s.Parks) })},
	{"evicted_transactions_total", "Transactions and snapshots that were older than Options.MaxTxAge.", counter, "",
		one("Evicted", func(s mvcc.Stats) float64 { return float64(s.Evicted) })},
	{"leaked_transactions_total", "Transactions and snapshots that were never ended, until the Go collector found them.", counter, "",
		one("Leaked", func(s mvcc.Stats) float64 { return float64(s.Leaked) })},
}

// sums has the fields of mvcc.Stats that are not exported, because Prometheus
// adds up itself.
var sums = map[string]string{
	"Conflicts":   "sum of conflicts_total",
	"RefreshTime": "sum of view_refresh_seconds_total",
}
