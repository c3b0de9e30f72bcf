package mvcc

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"weak"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/invariant"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// Stats says how much a map has done so far, and holds now. Fields are read one after the other;
// when nothing is going on they are exact, unless their comments say otherwise. Counters never
// fall, except Commits: it counts a commit from the draw of its epoch, and no longer if
// the commit fails. In JSON durations are in nanoseconds.
type Stats struct {
	// Epoch is the newest epoch drawn; nobody reads below MinVisible.
	Epoch      uint64 `json:"epoch"`
	MinVisible uint64 `json:"min_visible"`
	// LiveTx is how many transactions and snapshots are open, LiveEpochs how many read epochs they
	// have.
	LiveEpochs int `json:"live_epochs"`
	LiveTx     int `json:"live_tx"`
	// OldestPin is the oldest epoch that is being read, or 0. OldestPinAge is for how long the
	// background work has seen it.
	OldestPin    uint64        `json:"oldest_pin"`
	OldestPinAge time.Duration `json:"oldest_pin_age_ns"`
	// Keys is the number of keys with a value; Entries includes entries of indexes, and deleted
	// keys that somebody may still see.
	Keys    int `json:"keys"`
	Entries int `json:"entries"`
	// Versions is the number of versions in memory: estimated from some of the keys until the
	// background work has caught up.
	Versions int `json:"versions"`
	// Bytes estimates the memory of keys, versions and index, not of the targets of pointers.
	Bytes uint64 `json:"bytes"`
	// QueueDepth is how many buckets wait to be pruned.
	QueueDepth int `json:"queue_depth"`
	// Aside is how many old versions and tombstones wait for an old transaction or snapshot.
	Aside int `json:"aside"`

	// Commits counts commits that wrote something, one-key writes included.
	Commits uint64 `json:"commits"`
	// Ended counts transactions and snapshots that have ended.
	Ended uint64 `json:"ended"`
	// Conflicts counts commits that failed, or gave way to others; the next three count those of
	// each [ConflictKind].
	Conflicts      uint64 `json:"conflicts"`
	ReadConflicts  uint64 `json:"read_conflicts"`
	ScanConflicts  uint64 `json:"scan_conflicts"`
	WriteConflicts uint64 `json:"write_conflicts"`
	// Retries counts the further attempts of Update.
	Retries uint64 `json:"retries"`
	// Helped counts writers that another goroutine committed, Pushed writers for which another
	// goroutine drew an epoch, Revoked epochs taken away again, Rivals aborted writers, Reinstalled
	// attempts after such an abort, or after a faster writer.
	Helped      uint64 `json:"helped"`
	Pushed      uint64 `json:"pushed"`
	Revoked     uint64 `json:"revoked"`
	Rivals      uint64 `json:"rivals"`
	Reinstalled uint64 `json:"reinstalled"`
	// Claims counts turns, see [Map.Update], ExpiredClaims counts turns that took too long, and
	// Deferred counts commits that waited for a turn. HeldClaims is how many turns are granted now,
	// and Waiting how many goroutines wait for the begin or end of a turn.
	Claims        uint64 `json:"claims"`
	ExpiredClaims uint64 `json:"expired_claims"`
	Deferred      uint64 `json:"deferred"`
	HeldClaims    int    `json:"held_claims"`
	Waiting       int    `json:"waiting"`
	// Expired counts records deleted by [Map.Expire], ExpireFailures failures of [Map.OnExpire].
	Expired        uint64 `json:"expired"`
	ExpireFailures uint64 `json:"expire_failures"`
	// Watches is how many watches and channels of Changed there are, WatchLag how many epochs they
	// are behind, WatchWaiting how many changes wait for loops. Gaps counts watches that ended
	// because something was too slow.
	Watches      int    `json:"watches"`
	WatchLag     uint64 `json:"watch_lag"`
	WatchWaiting int    `json:"watch_waiting"`
	Gaps         uint64 `json:"gaps"`
	// Backups counts complete backups, see durable.Save, and BackupAge is the age of the last.
	// JournalLag is how many epochs a journal is behind, JournalBehind for how long something has
	// waited for it; JournalFailures counts failed writes, and the first commit after the journal's
	// end. JournalRefused counts the records left out, see durable.CodecError.
	Backups         uint64        `json:"backups"`
	BackupAge       time.Duration `json:"backup_age_ns"`
	JournalLag      uint64        `json:"journal_lag"`
	JournalBehind   time.Duration `json:"journal_behind_ns"`
	JournalFailures uint64        `json:"journal_failures"`
	JournalRefused  uint64        `json:"journal_refused"`
	// Pruned counts versions dropped, as exact as Versions.
	Pruned uint64 `json:"pruned"`
	// Refreshes of the view, by the ticker, by committers and by [Map.Reclaim], and the time that
	// each kind took: of committers it is estimated from one in 64. RefreshTime is the sum.
	TickRefreshes     uint64        `json:"tick_refreshes"`
	CommitRefreshes   uint64        `json:"commit_refreshes"`
	ManualRefreshes   uint64        `json:"manual_refreshes"`
	TickRefreshTime   time.Duration `json:"tick_refresh_time_ns"`
	CommitRefreshTime time.Duration `json:"commit_refresh_time_ns"`
	ManualRefreshTime time.Duration `json:"manual_refresh_time_ns"`
	RefreshTime       time.Duration `json:"refresh_time_ns"`
	// SyncFallbacks counts buckets that found the queue full: their committers pruned two others.
	SyncFallbacks uint64 `json:"sync_fallbacks"`
	// Parks counts the rests of the background work.
	Parks uint64 `json:"parks"`
	// Evicted counts transactions and snapshots older than Options.MaxTxAge, Leaked those that
	// nobody ended.
	Evicted uint64 `json:"evicted"`
	Leaked  uint64 `json:"leaked"`

	_ struct{}
}

// counters counts the events of one map off the hot path. Counts of events on it are derived:
// commits from the clock, ended transactions from the generations of the slots.
type counters struct {
	*commonCounters
	name      string                           // of the map in its database
	conflicts [ConflictWrite + 1]atomic.Uint64 // by kind
	// keys changes where a key is inserted or deleted. It is striped.
	keys  *xsync.Counter
	inner bool // of a table of an index
}

// commonCounters counts the events of all maps of a database.
type commonCounters struct {
	_ [128]byte
	chain.Counts
	reinstalled atomic.Uint64
	retries     atomic.Uint64
	expired     atomic.Uint64 // records
	unexpired   atomic.Uint64 // failures of OnExpire
	// tombstones is the number of keys set aside that have only a tombstone left.
	tombstones atomic.Int64
	_          [128]byte
}

// Stats returns the present statistics. It looks at about as many slots as transactions have been
// open at once lately, and at some hundred of the keys that wait to be pruned. It allocates
// nothing. A table of a [DB] has Epoch, Keys, Entries, the conflicts, and Bytes, of the index and
// the newest version of each key. For its other fields, which are zero, see [DB.Stats].
func (m *Map[K, V]) Stats() Stats { return m.engine().stats() }

// stats is [Map.Stats].
func (m *core) stats() Stats {
	if m.db == nil {
		return m.shared.stats()
	}
	own := m.sizes()
	s := Stats{Epoch: uint64(m.Slots.Now()), Keys: own.keys, Entries: own.entries,
		Bytes: own.index + uint64(own.entries)*own.perVersion}
	s.setConflicts(own.conflicts)
	return s
}

// Stats is [Map.Stats] of all tables together.
func (db *DB) Stats() Stats { return dbAt(db).shared.stats() }

// Sources returns functions that return statistics, for package profiling and metrics: of the
// database by its name, and of its present tables as "shop/stock"; zero once a table was closed.
func (db *DB) Sources(name string) map[string]func() Stats {
	dbAt(db).mu.Lock()
	defer dbAt(db).mu.Unlock()
	all := map[string]func() Stats{name: db.Stats}
	for table, m := range dbAt(db).tables {
		all[name+"/"+table] = m.source()
	}
	return all
}

// source returns a function that returns the statistics of the table, or zero once the table is
// closed or gone. The function does not keep the table reachable.
func (m *core) source() func() Stats {
	lasting := weak.Make(m)
	return func() (s Stats) {
		if m := lasting.Value(); m != nil && !m.closed.Load() {
			s = m.stats()
		}
		return s
	}
}

func (s *Stats) setConflicts(of [ConflictWrite + 1]uint64) {
	s.ReadConflicts, s.ScanConflicts, s.WriteConflicts = of[ConflictRead], of[ConflictScan],
		of[ConflictWrite]
	s.Conflicts = s.ReadConflicts + s.ScanConflicts + s.WriteConflicts
}

func (s *shared) stats() Stats {
	g := s.gc.Stats()
	live, ended, extra := s.slots.Census()
	f := s.favour.Stats()
	var all mapSizes
	newest := uint64(0) // bytes of the newest versions
	visible := 0        // keys, and entries of indexes
	s.gone.Lock()       // so that no table goes between the two reads
	all.conflicts = s.gone.conflicts
	gonePruned := s.gone.entries
	s.each(func(m *member) bool {
		one := m.sizes()
		if visible += one.keys; !m.counters.inner {
			all.keys += one.keys
		}
		all.entries += one.entries
		all.index += one.index
		newest += uint64(one.entries) * one.perVersion
		all.perVersion = max(all.perVersion, one.perVersion)
		for kind, n := range one.conflicts {
			all.conflicts[kind] += n
		}
		return false
	})
	s.gone.Unlock()
	c := &s.counters
	wasted := c.Wasted.Load()
	now := s.slots.Now()
	drawn := uint64(now - epoch.First)
	if invariant.Enabled && wasted > drawn {
		invariant.Violated("%d epochs were wasted, and %d drawn", wasted, drawn)
	}
	sum := Stats{
		Epoch:        uint64(now),
		MinVisible:   uint64(g.MinVisible),
		LiveEpochs:   g.LiveEpochs,
		LiveTx:       live,
		OldestPin:    uint64(g.OldestPin),
		OldestPinAge: g.OldestPinAge,
		Keys:         all.keys,
		Entries:      all.entries,
		QueueDepth:   g.Pending,
		Aside:        g.Aside,

		Commits:       drawn - wasted,
		Ended:         ended,
		Retries:       c.retries.Load(),
		Helped:        c.Helped.Load(),
		Pushed:        c.Pushed.Load(),
		Revoked:       c.Revoked.Load(),
		Rivals:        c.Rivals.Load(),
		Reinstalled:   c.reinstalled.Load(),
		Claims:        f.Granted,
		ExpiredClaims: f.Expired,
		Expired:       c.expired.Load(),

		ExpireFailures: c.unexpired.Load(),

		Deferred:     f.Deferrals,
		HeldClaims:   f.Held,
		Waiting:      f.Waiting,
		Watches:      int(s.hub.listening.Load()),
		WatchWaiting: int(s.hub.waiting.Load()),
		Gaps:         s.hub.gaps.Load(),

		TickRefreshes:     g.TickRefreshes.N,
		CommitRefreshes:   g.CommitRefreshes.N,
		ManualRefreshes:   g.ManualRefreshes.N,
		TickRefreshTime:   g.TickRefreshes.Time,
		CommitRefreshTime: g.CommitRefreshes.Time,
		ManualRefreshTime: g.ManualRefreshes.Time,
		SyncFallbacks:     g.Fallbacks,
		Parks:             g.Parks,
		Evicted:           g.Evicted,
		Leaked:            s.slots.Leaked(),
	}
	sum.WatchLag = s.hub.lag(now)
	s.kept.describe(&sum)
	sum.setConflicts(all.conflicts)
	sum.RefreshTime = sum.TickRefreshTime + sum.CommitRefreshTime + sum.ManualRefreshTime
	// A key has one version, the superfluous ones, and those that are set aside.
	sum.Versions = max(sum.Entries+g.Surplus+g.Aside-int(c.tombstones.Load()), visible)
	sum.Pruned = uint64(max(int64(sum.Commits+extra)-int64(sum.Versions)-int64(gonePruned), 0))
	older := uint64(max(sum.Versions-sum.Entries, 0))
	if sum.Entries > 0 {
		older *= newest / uint64(sum.Entries) // as large as the newest, on average
	} else {
		older *= all.perVersion
	}
	sum.Bytes = all.index + newest + older + uint64(s.slots.Owned())*slotBytes + g.Bytes
	return sum
}

// maxReaders bounds [seam.Description].Readers, and maxDistinct the search for IndexInfo.Keys.
const (
	maxReaders  = 32
	maxDistinct = 10_000
)

func (db door) Describe() seam.Description {
	d := seam.Description{Tables: dbAt(db.DB).describeTables()}
	s := dbAt(db.DB).shared
	d.Watches = s.hub.describe()
	for _, r := range s.gc.Readers(maxReaders) {
		d.Readers = append(d.Readers,
			seam.ReaderInfo{Epoch: uint64(r.Epoch), Age: r.Age, Began: r.Began})
	}
	return d
}

func (db *database) describeTables() (list []seam.TableInfo) {
	for _, c := range db.list.Load().tables {
		is := c.stats()
		t := seam.TableInfo{Name: c.counters.name, Key: c.types.key, Value: c.types.value,
			Ordered: c.order != nil, Natural: c.order != nil && c.order.natural,
			Expires: c.expiryAt.Load() != nil,
			Keys:    is.Keys, Entries: is.Entries, Bytes: is.Bytes, Conflicts: is.Conflicts}
		if s := c.schema.Load(); s != nil {
			for _, ix := range s.indexes {
				key, table, unique, ordered := ix.describe()
				one := seam.IndexInfo{Name: ix.named(), Key: key, Unique: unique, Ordered: ordered,
					Entries: table.len(), Keys: table.len()}
				if !unique {
					one.Keys = ix.distinct(maxDistinct)
				}
				t.Indexes = append(t.Indexes, one)
			}
		}
		slices.SortFunc(t.Indexes, func(a, b seam.IndexInfo) int {
			return strings.Compare(a.Name, b.Name)
		})
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b seam.TableInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// describe returns the watches.
func (h *hub) describe() (list []seam.WatchInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.listeners {
		s, ok := w.(*subscription)
		if !ok {
			continue
		}
		s.mu.Lock()
		info := seam.WatchInfo{Epoch: uint64(h.at), Waiting: s.changes, Buffer: s.limit}
		s.mu.Unlock()
		if s.of != nil {
			info.Table = s.of.counters.name
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b seam.WatchInfo) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), cmp.Compare(b.Waiting, a.Waiting))
	})
	return list
}
