package etcd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A DB is a replica: the tables of a [Schema], as they are kept in etcd for all processes that have
// opened them. Use [Open]. Methods may be called by any number of goroutines.
type DB struct {
	cfg    Config
	keys   keys
	client *clientv3.Client
	schema *Schema
	local  *mvcc.DB
	hooks  replicate.DB
	self   string // names the process in slots and guards

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	workers sync.WaitGroup
	closing atomic.Bool
	applied *applied

	cluster uint64          // the ID
	checked map[string]bool // endpoints whose version will do: of Open, and then of beatServers
	history history
	exact   exact
	slots   slots
	blind   combiner
	line    line
	barrier barrier
	figures figures

	patience patience
	heard    atomic.Pointer[time.Time] // when something was answered last
	warned   sync.Map                  // the last errors of warn, by its messages
	agreed   atomic.Int64              // the revision of the meta that was accepted last
	less     sync.Map                  // of tables, by their names: see narrow
}

// Open connects to etcd, loads all records under the prefix, and follows the commits of all
// processes there, until [DB.Close], or until the replica fails, see [DB.Err]. It waits until the
// records are loaded, at most until ctx ends, also for an etcd that is started later: a request
// that one member does not answer within [Config.RequestTimeout] goes to others. A mistake in the
// certificates, and a user or password that etcd does not take, it returns at once.
//
// If it fails it may be called again, with the same schema, unless records could not be applied. It
// refuses servers with a [*VersionError], and the tables kept there with a [*SchemaError], if the
// program could not decode their records, or would lose something of them. New tables are added.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if ctx == nil {
		panic("etcd: Open: ctx is nil, want context.Background() or another one")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := cfg.Schema.open(); err != nil {
		return nil, err
	}
	empty := cfg.Schema.db.Epoch()
	db := &DB{cfg: cfg, checked: map[string]bool{}}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	db.keys, db.schema, db.local = keys{cfg.Prefix}, cfg.Schema, cfg.Schema.db
	db.hooks, db.self, db.applied = replicate.Of(db.local), hex.EncodeToString(id[:]), db.schema.applied
	db.ctx, db.stop = context.WithCancel(context.Background())
	db.slots.init(db)
	if err := db.begin(ctx); err != nil {
		db.stop()
		if db.local.Epoch() == empty {
			cfg.Schema.reopen()
		}
		err = fmt.Errorf("etcd: Open: %w", err)
		if db.client != nil {
			err = errors.Join(err, db.client.Close())
		}
		return nil, err
	}
	db.workers.Go(db.follow)
	db.workers.Go(func() { db.beat(db.beatOnce) })
	db.workers.Go(func() { db.beat(db.beatServers) })
	db.workers.Go(db.campaigns)
	return db, nil
}

// begin does the steps that Open has to wait for.
func (db *DB) begin(ctx context.Context) error {
	if err := db.connect(ctx); err != nil {
		return err
	}
	if err := db.agree(ctx); err != nil {
		return err
	}
	l, err := db.load(ctx)
	if err != nil {
		return err
	}
	if err := db.metaNow(ctx); err != nil { // a program may have been opened while this one loaded
		return err
	}
	return db.replay(l)
}

// Close ends the replica: Updates that are under way find out their outcomes, for up to
// [Config.ResolveTimeout], and others return [ErrClosed]. The local tables stay, and can be read.
func (db *DB) Close() error {
	if db.closing.Swap(true) {
		return nil
	}
	db.applied.end(ErrClosed)
	db.slots.drain()
	db.stop()
	db.workers.Wait()
	err := db.client.Close()
	db.local.Close()
	if errors.Is(err, context.Canceled) {
		err = nil // as of a connection that is given up
	}
	return err
}

// Err returns why the replica has failed or was closed, nil if it goes on. One that has failed can
// be read: it stays as it is. Every Update and Sync returns the same error. The program opens
// another one, with another Schema, or ends.
func (db *DB) Err() error { return db.applied.err() }

// Failed is closed when the replica has failed or was closed.
func (db *DB) Failed() <-chan struct{} { return db.applied.endedAt }

// warn tells of an error, once if the same comes again and again.
func (db *DB) warn(message string, err error, args ...any) {
	if last, _ := db.warned.Swap(message, err.Error()); last != err.Error() {
		db.cfg.Logger.Warn(message, append([]any{"prefix", db.cfg.Prefix, "error", err}, args...)...)
	}
}

// fail ends the replica.
func (db *DB) fail(why error) {
	if db.applied.end(why) {
		db.cfg.Logger.Error("etcd: the replica has failed", "prefix", db.cfg.Prefix, "error", why)
	}
}

// View calls fn with a snapshot of the tables as of one revision: the newest that this process has
// applied, which may be behind the commits of others. It never waits for the network, and works
// while etcd does not. It is [mvcc.DB.View] in every respect.
func (db *DB) View(fn func(s mvcc.DBSnapshot) error) error { return db.local.View(fn) }

// Snapshot opens a snapshot, which the caller closes, see [mvcc.DB.Snapshot].
func (db *DB) Snapshot() mvcc.DBSnapshot { return db.local.Snapshot() }

// SnapshotAt opens a snapshot as of a revision that this process still has, see
// [mvcc.DB.SnapshotAt] and [mvcc.Options.Retain].
func (db *DB) SnapshotAt(revision uint64) (mvcc.DBSnapshot, error) {
	return db.local.SnapshotAt(revision)
}

// Watch watches all tables, see [mvcc.DB.Watch]. The epochs of the commits are revisions. When
// everything was loaded anew, the changes come as one commit. When the replica fails or is closed
// it ends with the error of [DB.Err]; so do [Table.Watch] and Follow.
func (db *DB) Watch(
	ctx context.Context, opts *mvcc.DBWatchOptions,
) iter.Seq2[mvcc.DBCommit, error] {
	return watchUntil(ctx, db.applied, func(ctx context.Context) iter.Seq2[mvcc.DBCommit, error] {
		return db.local.Watch(ctx, opts)
	})
}

// Position returns the position of this replica at a revision, for [mvcc.FollowOptions]. Another
// process, or another replica, knows of none of it: there a follower begins anew.
func (db *DB) Position(revision uint64) mvcc.Position { return db.local.Position(revision) }

// Follow keeps something that is derived from the tables in step, see [mvcc.DB.Follow]. When the
// replica fails or is closed it returns the error of [DB.Err].
func (db *DB) Follow(
	ctx context.Context, opts *mvcc.FollowOptions,
	begin func(s mvcc.DBSnapshot) error, apply func(c mvcc.DBCommit) error,
) error {
	until, stop := db.applied.until(ctx)
	defer stop()
	err := db.local.Follow(until, opts, begin, apply)
	return db.applied.why(ctx, until, err)
}

// Diff returns the differences between two snapshots, see [mvcc.DB.Diff].
func (db *DB) Diff(newer, older mvcc.DBSnapshot) mvcc.DBCommit { return db.local.Diff(newer, older) }

// Save writes the tables as of one revision as a backup, see [durable.Save]: for other programs. A
// replica is not loaded from it.
func (db *DB) Save(
	ctx context.Context, w io.Writer, codec durable.Codec, opts *durable.SaveOptions,
) (durable.Backup, error) {
	return durable.Save(ctx, db.local, w, codec, opts)
}

// Epoch returns the newest revision that this process has applied.
func (db *DB) Epoch() uint64 { return db.local.Epoch() }

// Sources returns the figures of the local tables, for package profiling and module otel, see
// [mvcc.DB.Sources].
func (db *DB) Sources(name string) map[string]func() mvcc.Stats { return db.local.Sources(name) }
