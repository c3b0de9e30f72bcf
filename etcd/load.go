package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A version of a table has the revision of its record as its epoch, so that a commit can compare
// it. Records that are loaded are committed here one revision after the other for that. There are
// two exceptions, which exact has: those loaded with a revision that the clock had passed when the
// tables were empty; and those that have changed when everything is loaded anew, which become
// visible at once, as one commit.
type exact struct {
	mu  sync.RWMutex
	rev map[string]exactly // by the names of the records
}

type exactly struct{ epoch, rev uint64 }

// of returns the revision of the record name, whose version has an epoch.
func (x *exact) of(name string, epoch uint64) uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e, there := x.rev[name]; there && e.epoch == epoch {
		return e.rev
	}
	return epoch
}

func (x *exact) set(name string, epoch, rev uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rev == nil {
		x.rev = map[string]exactly{}
	}
	x.rev[name] = exactly{epoch, rev}
}

func (x *exact) forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.rev, name)
}

// A loaded is all that is kept, as of a revision.
type loaded struct {
	rev     uint64
	records []*mvccpb.KeyValue // of tables of the schema
	guards  map[string]guard   // by their tables and classes
}

// written returns the revision at which a table was written last.
func (l *loaded) written(table string) (rev uint64) {
	for of, g := range l.guards {
		if tableOf(of) == table {
			rev = max(rev, g.Rev)
		}
	}
	return rev
}

// How many records are asked for at a time: so many that an answer has about pageBytes.
const (
	firstPage = 100
	mostPage  = 10_000
	pageBytes = 4 << 20
)

// load reads everything as of one revision, which is at least that of the newest commit when it was
// called.
func (db *DB) load(ctx context.Context) (*loaded, error) {
	for {
		l, err := db.loadOnce(ctx)
		if isRPC(err, rpctypes.ErrCompacted) && ctx.Err() == nil {
			continue // it took too long
		}
		return l, err
	}
}

func (db *DB) loadOnce(ctx context.Context) (*loaded, error) {
	l := &loaded{}
	if err := db.pages(ctx, db.keys.records(), &l.rev, func(resp *clientv3.GetResponse) error {
		if l.rev == 0 {
			l.rev = uint64(resp.Header.Revision)
			if resp.Header.ClusterId != db.cluster {
				return db.another(resp.Header)
			}
		}
		for _, kv := range resp.Kvs {
			if table, _, ok := db.keys.record(string(kv.Key)); ok && db.schema.tables[table] != nil {
				l.records = append(l.records, kv)
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return l, db.again(ctx, func() error {
		resp, err := db.get(ctx, db.keys.allGuards(), clientv3.WithPrefix(), clientv3.WithRev(int64(l.rev)))
		if err == nil {
			l.guards = db.guards(resp)
		}
		return err
	})
}

// pages asks for the keys with a prefix, some at a time, as of a revision unless that is 0, and calls
// visit with each answer. It asks for fewer where that is too much for the time that a request has.
func (db *DB) pages(
	ctx context.Context, prefix string, rev *uint64, visit func(resp *clientv3.GetResponse) error,
) error {
	end, page, slow := clientv3.GetPrefixRangeEnd(prefix), firstPage, false
	for from, more := prefix, true; more; {
		var resp *clientv3.GetResponse
		if err := db.again(ctx, func() (err error) {
			for {
				resp, err = db.get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(int64(page)),
					clientv3.WithRev(int64(*rev)))
				tooMuch := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil || overLimit(err)
				if !tooMuch || page == 1 {
					return err
				}
				page, slow = page/2, true
			}
		}); err != nil {
			return err
		}
		if err := visit(resp); err != nil {
			return err
		}
		size := 1
		for _, kv := range resp.Kvs {
			size += len(kv.Key) + len(kv.Value)
		}
		if more = resp.More; more {
			more := 4 * page
			if slow {
				more = page + page/8 + 1
			}
			page = min(max(len(resp.Kvs)*pageBytes/size, 1), more, mostPage)
			from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
		}
	}
	return nil
}

// replay fills the local tables, which are empty, with the records that were loaded.
func (db *DB) replay(l *loaded) error {
	slices.SortFunc(l.records, func(a, b *mvccpb.KeyValue) int {
		return cmp.Compare(a.ModRevision, b.ModRevision)
	})
	first := db.local.Epoch() + 1 // of records whose revisions the clock has passed
	if l.rev > 0 {
		db.hooks.Skip(0, l.rev-1) // versions overwritten or deleted by then are not there
	}
	for len(l.records) > 0 {
		at := max(uint64(l.records[0].ModRevision), first)
		n := 1
		for n < len(l.records) && max(uint64(l.records[n].ModRevision), first) == at {
			n++
		}
		for _, kv := range l.records[:n] {
			if uint64(kv.ModRevision) != at {
				db.exact.set(string(kv.Key), at, uint64(kv.ModRevision))
			}
		}
		if err := db.put(at, l.records[:n], nil); err != nil {
			return err
		}
		l.records = l.records[n:]
	}
	db.history.put(l.guards)
	return db.arrive(l.rev)
}

// put commits records, and the end of others, at a revision.
func (db *DB) put(at uint64, records []*mvccpb.KeyValue, gone []string) error {
	return db.apply(at, func(tx mvcc.DBTx, probe bool) error {
		for _, kv := range records {
			db.putOne(tx, kv, false, probe)
		}
		for _, name := range gone {
			db.putOne(tx, &mvccpb.KeyValue{Key: []byte(name)}, true, probe)
		}
		return nil
	})
}

// errApply says that a commit could not be applied here.
var errApply = errors.New("etcd: a commit could not be applied")

// apply commits the writes of fn at a revision. Its error is an *IndexError or an errApply. If the
// function of an index panics, fn is called again with probe, to find out for which records. If a
// function of the program calls runtime.Goexit the replica fails.
func (db *DB) apply(rev uint64, fn func(tx mvcc.DBTx, probe bool) error) error {
	err, panicked := db.applyOnce(rev, func(tx mvcc.DBTx) error { return fn(tx, false) })
	if panicked {
		err, _ = db.applyOnce(rev, func(tx mvcc.DBTx) error { return fn(tx, true) })
	}
	var index *IndexError
	if err == nil || errors.As(err, &index) {
		return err
	}
	return fmt.Errorf("%w: revision %d: %w", errApply, rev, err)
}

func (db *DB) applyOnce(rev uint64, fn func(tx mvcc.DBTx) error) (err error, panicked bool) {
	done := false
	defer func() {
		if done {
			return
		}
		p := recover()
		err, panicked = fmt.Errorf("a function of the program has panicked: %v", p), true
		db.cfg.Logger.Error("etcd: "+err.Error(), "revision", rev, "stack", string(debug.Stack()))
		if p == nil {
			db.fail(fmt.Errorf("%w: revision %d: %w", errApply, rev, err))
		}
	}()
	err = db.hooks.Apply(rev, fn)
	done = true
	return err, false
}

// putOne writes a record, or deletes it.
func (db *DB) putOne(tx mvcc.DBTx, kv *mvccpb.KeyValue, deleted, probe bool) {
	table, key, _ := db.keys.record(string(kv.Key))
	t := db.schema.tables[table]
	if t == nil {
		return // of a newer version of the program, say
	}
	if err := t.apply(tx, []byte(key), kv.Value, deleted, probe); err != nil && !deleted {
		db.noteBroken(table+"/"+key, uint64(kv.ModRevision), err)
	} else {
		db.schema.broken.forget(table + "/" + key)
	}
}

// arrive makes the clock be at a revision, at which nothing was committed that is not applied.
func (db *DB) arrive(rev uint64) error {
	if rev > db.local.Epoch() {
		if err := db.apply(rev, func(mvcc.DBTx, bool) error { return nil }); err != nil {
			return err
		}
	}
	db.applied.set(rev)
	return nil
}

// reload gives the local tables the records that are kept now, in one commit, because the revisions
// in between were compacted. Snapshots that are open stay as they are.
//
// The records of the cluster must agree with those that were applied: one that has not changed
// since must be there with the revision that it has here, and one that is gone must have gone after
// it. Otherwise the cluster has another history.
func (db *DB) reload(ctx context.Context) error {
	l, err := db.load(ctx)
	if err != nil {
		return err
	}
	if err := db.metaNow(ctx); err != nil {
		return err
	}
	here := db.local.Epoch()
	if err := db.history.agrees(l, here); err != nil {
		return err
	}
	if l.rev == here {
		return nil
	}
	was := map[string]uint64{} // the revisions of the records that are here, by their names
	for name, t := range db.schema.tables {
		versions, err := t.versions(db.hooks)
		if err != nil {
			return err
		}
		for key, epoch := range versions {
			record := db.keys.table(name) + key
			was[record] = db.exact.of(record, epoch)
		}
	}
	db.schema.broken.revisions(db.keys.records(), was)
	var changed []*mvccpb.KeyValue
	for _, kv := range l.records {
		name, rev := string(kv.Key), uint64(kv.ModRevision)
		switch old := was[name]; {
		case old == rev:
		case rev <= here:
			return fmt.Errorf("%w: %s has revision %d, and here %d", ErrHistoryLost, name, rev, old)
		default:
			changed = append(changed, kv)
		}
		delete(was, name)
	}
	var gone []string
	for name := range was {
		if table, _, _ := db.keys.record(name); l.written(table) <= here {
			return fmt.Errorf("%w: %s is gone, and nothing was written to its table", ErrHistoryLost, name)
		}
		gone = append(gone, name)
	}
	for _, kv := range changed {
		db.exact.set(string(kv.Key), l.rev, uint64(kv.ModRevision))
	}
	db.hooks.Skip(here, l.rev-1)
	if err := db.put(l.rev, changed, gone); err != nil {
		return err
	}
	for _, name := range gone {
		db.exact.forget(name)
	}
	db.history.put(l.guards)
	db.figures.resyncs.Add(1)
	db.cfg.Logger.Warn("etcd: everything was loaded anew", "prefix", db.cfg.Prefix, "after", here,
		"revision", l.rev, "changed", len(changed), "deleted", len(gone))
	return db.arrive(l.rev)
}
