package etcd

import (
	"context"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/profiling/prom"
)

// figures are the counts of a replica.
type figures struct {
	commits, batches, conflicts, unclear, unknown atomic.Uint64
	resyncs, restarts, applied                    atomic.Uint64
	expired, unexpired, foreign                   atomic.Uint64
	inFlight                                      atomic.Int64

	behind  atomic.Uint64                      // that the last heartbeat has found
	rewatch atomic.Pointer[context.CancelFunc] // ends the watch
	// whole says that the next watch asks for its answers in one piece. A server that cuts them
	// into pieces looks at all that a piece has already for each event that it adds: with events of
	// 100 bytes that takes it a minute for a thousand large commits, and no piece is of use without
	// the rest. In one piece they may be larger than the client takes, or the server's memory. So a
	// watch that stands still begins anew in the other way.
	whole atomic.Bool
}

// Stats are figures of a replica.
type Stats struct {
	// Revision is the newest one that is applied, and Newest the newest commit that is known of:
	// the commits between them have still to come.
	Revision, Newest uint64
	// Commits counts the Updates of this process that were committed, and Batches the requests of
	// those that have read nothing, which go together.
	Commits, Batches uint64
	// Conflicts counts attempts that others were in the way of.
	Conflicts uint64
	// InFlight is how many requests to commit are under way.
	InFlight int
	// Unclear counts requests to commit that were not answered, and Unknown those of which that
	// stayed so, see [ErrOutcomeUnknown].
	Unclear, Unknown uint64
	// Resyncs counts how often everything was loaded anew, and Restarts how often the watch stood
	// still.
	Resyncs, Restarts uint64
	// Applied counts the records that were applied.
	Applied uint64
	// Foreign counts the records that somebody else than this module has written.
	Foreign uint64
	// Broken is how many records there are that this process cannot decode, see [Table.Broken].
	Broken int
	// Expired counts the records that this process has deleted because their time had come, and
	// ExpireFailures how often it could not, see [Table.OnExpire].
	Expired, ExpireFailures uint64
	_                       struct{}
}

// Stats returns the figures of the replica. It costs some loads.
func (db *DB) Stats() Stats {
	f := &db.figures
	rev := max(db.applied.now(), db.history.quiet.Load())
	return Stats{Revision: rev, Newest: max(rev, f.behind.Load()), Commits: f.commits.Load(),
		Batches: f.batches.Load(), Conflicts: f.conflicts.Load(), InFlight: int(f.inFlight.Load()),
		Unclear: f.unclear.Load(), Unknown: f.unknown.Load(), Resyncs: f.resyncs.Load(),
		Restarts: f.restarts.Load(), Applied: f.applied.Load(), Foreign: f.foreign.Load(),
		Broken: db.schema.broken.count(), Expired: f.expired.Load(), ExpireFailures: f.unexpired.Load()}
}

// Values returns the figures of [DB.Stats] for monitoring. Give this method to Config.Values of
// package profiling, to [prom.Handler], or to Values of module otel. The metrics begin with
// mvccmap_etcd_.
func (db *DB) Values() []prom.Value { return db.Stats().values() }

func (s Stats) values() []prom.Value {
	one := func(metric, chart, name, help string, v uint64) prom.Value {
		return prom.Value{Metric: "mvccmap_etcd_" + metric, Chart: chart, Name: name, Help: help,
			Value: float64(v)}
	}
	const commits, unusual = "Commits", "Out of the ordinary"
	return []prom.Value{
		one("revision", "", "", "The newest revision that the replica has applied.", s.Revision),
		one("behind_revisions", "Revisions behind", "behind", "How far the newest commit that the last "+
			"heartbeat has found is above the newest revision that is applied.", s.Newest-s.Revision),
		one("commits_total", commits, "commits", "Updates of this process that were committed.", s.Commits),
		one("batches_total", commits, "batches", "Requests of those that have read nothing, which go together.",
			s.Batches),
		one("conflicts_total", commits, "conflicts", "Attempts that others were in the way of.", s.Conflicts),
		one("requests_under_way", "Requests under way", "requests", "Requests to commit that are under way.",
			uint64(max(s.InFlight, 0))),
		one("applied_total", "Records applied", "records", "Records that were applied.", s.Applied),
		one("unclear_total", unusual, "unclear", "Requests to commit that were not answered.", s.Unclear),
		one("unknown_total", unusual, "unknown", "Those of them of which nobody knows what became of them.",
			s.Unknown),
		one("resyncs_total", unusual, "resyncs", "How often everything was loaded anew.", s.Resyncs),
		one("restarts_total", unusual, "restarts", "How often the watch stood still, and began anew.", s.Restarts),
		one("foreign_total", unusual, "foreign", "Records that somebody else than this module has written.",
			s.Foreign),
		one("broken_records", unusual, "broken", "Records that this process cannot decode.", uint64(s.Broken)),
		one("expired_total", "Records expired", "expired", "Records that this process has deleted because "+
			"their time had come.", s.Expired),
		one("expire_failures_total", unusual, "not expired", "How often a record could not be deleted whose "+
			"time had come.", s.ExpireFailures),
	}
}
