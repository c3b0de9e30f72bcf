package mvcc

import (
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// Stats says what a map has done so far, and what it holds. Counters grow,
// gauges go up and down. Fields are read one after the other, not at one
// instant; when nothing is going on they are exact, unless it says otherwise.
// Commits alone may fall: a commit under way is counted when it has drawn its
// epoch, and no longer if it fails.
//
// It has a form for JSON, and so for expvar: publish
// expvar.Func(func() any { return m.Stats() }). Durations are in nanoseconds there.
type Stats struct {
	// Epoch is the newest epoch drawn (gauge).
	Epoch uint64 `json:"epoch"`
	// MinVisible is the cached min visible epoch: nobody reads below it (gauge).
	MinVisible uint64 `json:"min_visible"`
	// LiveEpochs is the number of distinct read epochs in the newest view,
	// LiveTx that of transactions and snapshots that are open (gauges).
	LiveEpochs int `json:"live_epochs"`
	LiveTx     int `json:"live_tx"`
	// OldestPin is the oldest read epoch that is being read, as seen by the
	// background work, and OldestPinAge for how long it has seen it; both
	// are zero if there is none (gauges).
	OldestPin    uint64        `json:"oldest_pin"`
	OldestPinAge time.Duration `json:"oldest_pin_age_ns"`
	// Keys is the number of keys with a value, Entries that of keys in the
	// index: deleted ones stay there until nobody can see that they were there
	// (gauges).
	Keys    int `json:"keys"`
	Entries int `json:"entries"`
	// Versions is the number of versions in memory: one for each entry, those
	// that are set aside, and those that have not been pruned yet (gauge). It
	// is exact when the background work has caught up and nobody writes; until
	// then the last part is estimated from some of the keys that wait.
	Versions int `json:"versions"`
	// Bytes estimates the memory that keys, versions, index, slots and the
	// background work take, without what keys and values point to (gauge).
	Bytes uint64 `json:"bytes"`
	// QueueDepth is how many buckets of the index wait for a visit, in the queue or in
	// the list of the next ticks: up to six keys in each have more than one version, or
	// are deleted (gauge).
	QueueDepth int `json:"queue_depth"`
	// Aside is how many old versions wait for the end of a transaction or
	// snapshot that three ticks have seen, and how many tombstones for that of
	// such a transaction that may write (gauge).
	Aside int `json:"aside"`

	// Commits counts commits that wrote something, one-key writes included.
	Commits uint64 `json:"commits"`
	// Ended counts transactions and snapshots that have ended, however.
	Ended uint64 `json:"ended"`
	// Conflicts counts commits that failed, or gave way to others, and ReadConflicts, ScanConflicts
	// and WriteConflicts those of each [ConflictKind].
	Conflicts      uint64 `json:"conflicts"`
	ReadConflicts  uint64 `json:"read_conflicts"`
	ScanConflicts  uint64 `json:"scan_conflicts"`
	WriteConflicts uint64 `json:"write_conflicts"`
	// Retries counts the further attempts that Update made.
	Retries uint64 `json:"retries"`
	// Helped counts writers that another goroutine committed, Pushed those
	// for which one drew an epoch, Revoked epochs taken away again, Rivals
	// writers that were aborted because they stood still, Reinstalled the
	// attempts that followed.
	Helped      uint64 `json:"helped"`
	Pushed      uint64 `json:"pushed"`
	Revoked     uint64 `json:"revoked"`
	Rivals      uint64 `json:"rivals"`
	Reinstalled uint64 `json:"reinstalled"`
	// Claims counts claims on keys that Update and commits that had lost often were
	// granted, so that others let them go first, Expired those that were taken away
	// because they took too long, and Deferred how often a commit waited for one.
	// HeldClaims is how many are granted, and Waiting how many goroutines wait for
	// a claim of their own, or for the end of another's (gauges).
	Claims     uint64 `json:"claims"`
	Expired    uint64 `json:"expired_claims"`
	Deferred   uint64 `json:"deferred"`
	HeldClaims int    `json:"held_claims"`
	Waiting    int    `json:"waiting"`
	// Pruned counts versions dropped. It is what was committed less Versions,
	// and as exact as that.
	Pruned uint64 `json:"pruned"`
	// TickRefreshes counts the views made by the ticker, CommitRefreshes those
	// made by committers because the view was too old, and ManualRefreshes
	// those of [Map.Reclaim]. The times are what they took in all; of those of
	// committers one in 64 is timed.
	TickRefreshes     uint64        `json:"tick_refreshes"`
	CommitRefreshes   uint64        `json:"commit_refreshes"`
	ManualRefreshes   uint64        `json:"manual_refreshes"`
	TickRefreshTime   time.Duration `json:"tick_refresh_time_ns"`
	CommitRefreshTime time.Duration `json:"commit_refresh_time_ns"`
	ManualRefreshTime time.Duration `json:"manual_refresh_time_ns"`
	// RefreshTime is the sum of these times.
	RefreshTime time.Duration `json:"refresh_time_ns"`
	// SyncFallbacks counts buckets of the index that were handed over when the queue
	// was full and could not be emptied into the list, because that was very long or
	// locked, or with ManualReclaim: for each the committer pruned two others.
	SyncFallbacks uint64 `json:"sync_fallbacks"`
	// Parks counts how often the background work stopped altogether, because
	// there was nothing to do.
	Parks uint64 `json:"parks"`
	// Evicted counts transactions and snapshots that were older than
	// Options.MaxTxAge, Leaked those that were never ended, and were ended by
	// the garbage collector.
	Evicted uint64 `json:"evicted"`
	Leaked  uint64 `json:"leaked"`

	_ struct{}
}

// Stats returns the present statistics. It looks at every slot, of which there are
// about as many as transactions have been open at once lately, and at some hundred of
// the keys that wait to be pruned. It allocates nothing. It takes a lock for some
// instructions, see the package's doc.
func (m *Map[K, V]) Stats() Stats {
	g := m.gc.Stats()
	live, ended, extra := m.slots.Census()
	f := m.favour.Stats()
	c := m.counters
	wasted := c.wasted.Load()
	now := m.slots.Now()
	drawn := uint64(now - epoch.First)
	if invariant.Enabled && wasted > drawn {
		invariant.Violated("%d epochs were wasted, and %d drawn", wasted, drawn)
	}
	s := Stats{
		Epoch:        uint64(now),
		MinVisible:   uint64(g.MinVisible),
		LiveEpochs:   g.LiveEpochs,
		LiveTx:       live,
		OldestPin:    uint64(g.OldestPin),
		OldestPinAge: g.OldestPinAge,
		Keys:         int(max(c.keys.Value(), 0)),
		Entries:      int(max(m.index.entries.Value(), 0)),
		QueueDepth:   g.Pending,
		Aside:        g.Aside,

		Commits:        drawn - wasted,
		Ended:          ended,
		ReadConflicts:  c.conflicts[ConflictRead].Load(),
		ScanConflicts:  c.conflicts[ConflictScan].Load(),
		WriteConflicts: c.conflicts[ConflictWrite].Load(),
		Retries:        c.retries.Load(),
		Helped:         c.helped.Load(),
		Pushed:         c.pushed.Load(),
		Revoked:        c.revoked.Load(),
		Rivals:         c.rivals.Load(),
		Reinstalled:    c.reinstalled.Load(),
		Claims:         f.Granted,
		Expired:        f.Expired,
		Deferred:       f.Deferrals,
		HeldClaims:     f.Held,
		Waiting:        f.Waiting,

		TickRefreshes:     g.TickRefreshes.N,
		CommitRefreshes:   g.CommitRefreshes.N,
		ManualRefreshes:   g.ManualRefreshes.N,
		TickRefreshTime:   g.TickRefreshes.Time,
		CommitRefreshTime: g.CommitRefreshes.Time,
		ManualRefreshTime: g.ManualRefreshes.Time,
		SyncFallbacks:     g.Fallbacks,
		Parks:             g.Parks,
		Evicted:           g.Evicted,
		Leaked:            m.slots.Leaked(),
	}
	s.Conflicts = s.ReadConflicts + s.ScanConflicts + s.WriteConflicts
	s.RefreshTime = s.TickRefreshTime + s.CommitRefreshTime + s.ManualRefreshTime
	// A key has one version, the superfluous ones, and those that are set aside.
	s.Versions = max(s.Entries+g.Surplus+g.Aside-int(c.tombstones.Load()), s.Keys)
	s.Pruned = uint64(max(int64(s.Commits+extra)-int64(s.Versions), 0))
	s.Bytes = m.index.bytes() + uint64(s.Versions)*m.perVersion +
		uint64(m.slots.Owned())*slotBytes + g.Bytes
	return s
}

// Sub returns what happened since old: its counters are those of s less those of
// old, its gauges are those of s.
func (s Stats) Sub(old Stats) Stats {
	s.Commits -= old.Commits
	s.Ended -= old.Ended
	s.Conflicts -= old.Conflicts
	s.ReadConflicts -= old.ReadConflicts
	s.ScanConflicts -= old.ScanConflicts
	s.WriteConflicts -= old.WriteConflicts
	s.Retries -= old.Retries
	s.Helped -= old.Helped
	s.Pushed -= old.Pushed
	s.Revoked -= old.Revoked
	s.Rivals -= old.Rivals
	s.Reinstalled -= old.Reinstalled
	s.Claims -= old.Claims
	s.Expired -= old.Expired
	s.Deferred -= old.Deferred
	s.Pruned -= old.Pruned
	s.TickRefreshes -= old.TickRefreshes
	s.CommitRefreshes -= old.CommitRefreshes
	s.ManualRefreshes -= old.ManualRefreshes
	s.TickRefreshTime -= old.TickRefreshTime
	s.CommitRefreshTime -= old.CommitRefreshTime
	s.ManualRefreshTime -= old.ManualRefreshTime
	s.RefreshTime -= old.RefreshTime
	s.SyncFallbacks -= old.SyncFallbacks
	s.Parks -= old.Parks
	s.Evicted -= old.Evicted
	s.Leaked -= old.Leaked
	return s
}

// LogValue implements [slog.LogValuer]: a group of what is not zero, under the
// names that the JSON form has.
func (s Stats) LogValue() slog.Value {
	var attrs []slog.Attr
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		if f := v.Field(i); name != "" && !f.IsZero() {
			attrs = append(attrs, slog.Any(strings.TrimSuffix(name, "_ns"), f.Interface()))
		}
	}
	return slog.GroupValue(attrs...)
}
