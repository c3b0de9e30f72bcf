package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mvccmap/mvccmap/mvcc"
)

// follow applies the commits, until the replica ends.
func (db *DB) follow() {
	for pause := minPause; db.ctx.Err() == nil && db.applied.err() == nil; pause = min(2*pause, maxPause) {
		before := db.local.Epoch()
		err := db.watchOnce(before)
		if quiet := db.history.quiet.Load(); isRPC(err, rpctypes.ErrCompacted) && quiet > db.local.Epoch() {
			err = db.watchOnce(quiet) // heartbeats have found that nothing was committed up to there
		}
		if isRPC(err, rpctypes.ErrCompacted) {
			err = db.reload(db.ctx)
		}
		if db.local.Epoch() > before {
			pause = minPause
			db.warned.Delete(watchEnded)
		}
		switch {
		case db.ctx.Err() != nil || db.applied.err() != nil:
			return
		case fatal(err):
			db.fail(err)
			return
		case err != nil:
			db.warn(watchEnded, err)
		}
		select {
		case <-time.After(pause):
		case <-db.ctx.Done():
		}
	}
}

const watchEnded = "etcd: the watch has ended, it begins anew"

// fatal reports whether an error of a watch, or of loading everything anew, ends the replica.
func fatal(err error) bool {
	var index *IndexError
	var schema *SchemaError
	return errors.Is(err, ErrHistoryLost) || errors.Is(err, errApply) || errors.As(err, &index) ||
		errors.As(err, &schema)
}

// How long to wait before something is tried again.
const (
	minPause = 10 * time.Millisecond
	maxPause = time.Second
)

// watchOnce watches from after a revision on, until the watch ends.
func (db *DB) watchOnce(after uint64) error {
	ctx, cancel := context.WithCancel(withOneStream(clientv3.WithRequireLeader(db.ctx)))
	defer cancel()
	db.figures.rewatch.Store(&cancel)
	from, to := db.keys.watched()
	opts := []clientv3.OpOption{clientv3.WithRange(to), clientv3.WithRev(int64(after) + 1),
		clientv3.WithCreatedNotify()}
	if !db.figures.whole.Load() {
		opts = append(opts, clientv3.WithFragment())
	}
	// A watcher of its own has a stream of its own, which ends here. The client's would go on with
	// the one that hangs: a watch that was never answered stays in it, and keeps others from being
	// sent.
	watcher := clientv3.NewWatcher(db.client)
	defer func() { _ = watcher.Close() }()
	watch := watcher.Watch(ctx, from, opts...)
	for {
		select {
		case resp, open := <-watch:
			switch {
			case !open:
				return nil
			case resp.CompactRevision != 0:
				return rpctypes.ErrCompacted
			case resp.Err() != nil:
				return resp.Err()
			case resp.Created:
				if err := db.checkPast(0); err != nil {
					return err
				}
			}
			db.answer(nil)
			if err := db.events(resp.Events); err != nil {
				return err
			}
		case <-db.applied.endedAt:
			return nil
		}
	}
}

// A watch of the client goes on by itself over another stream if its connection breaks, and says
// nothing of it. The cluster may have gone back meanwhile, and have got further than this replica
// with other commits: then the stream begins right after the last commit that is applied here, as
// if nothing was missing. So each watch has one stream, and ends with it: see [DB.watchOnce], which
// compares the newest guard that is known once a stream has answered.
type oneStream struct{}

// withOneStream returns a context for a watch with one stream.
func withOneStream(ctx context.Context) context.Context {
	return context.WithValue(ctx, oneStream{}, new(atomic.Bool))
}

// openOnce refuses the second stream of such a context.
func openOnce(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if opened, ok := ctx.Value(oneStream{}).(*atomic.Bool); ok && opened.Swap(true) {
		return nil, status.Error(codes.Aborted, "the stream of the watch has ended")
	}
	return open(ctx, desc, cc, method, opts...)
}

// rewatch has the watch begin anew.
func (db *DB) rewatch() {
	if cancel := db.figures.rewatch.Load(); cancel != nil {
		(*cancel)()
	}
}

// events applies the events of a watch: whole revisions, in their order, by the revision of each
// event. (That of the response may be above them.) Events that are applied already come again where
// a member was behind.
func (db *DB) events(list []*clientv3.Event) error {
	for len(list) > 0 {
		rev, n := list[0].Kv.ModRevision, 1
		for n < len(list) && list[n].Kv.ModRevision == rev {
			n++
		}
		if uint64(rev) > db.local.Epoch() {
			if err := db.revision(uint64(rev), list[:n]); err != nil {
				return err
			}
		}
		list = list[n:]
	}
	return nil
}

// revision applies the events of one revision.
func (db *DB) revision(rev uint64, events []*clientv3.Event) error {
	guarded, records := map[string]guard{}, 0
	tables := map[string]bool{}
	for _, e := range events {
		name := string(e.Kv.Key)
		if name == db.keys.meta() && e.Type == clientv3.EventTypePut {
			if e.Kv.ModRevision > db.agreed.Load() {
				if err := db.metaChanged(e.Kv); err != nil {
					return err
				}
			}
			return db.arrive(rev) // nothing else is put with it
		}
		if of, ok := db.keys.guarded(name); ok {
			guarded[of] = guardOf(e.Kv)
			tables[tableOf(of)] = true
			if err := db.history.follows(of, guarded[of]); err != nil {
				return err
			}
		}
	}
	for _, e := range events {
		table, _, ok := db.keys.record(string(e.Kv.Key))
		if !ok {
			continue
		}
		if !tables[table] {
			db.foreign(e.Kv)
		}
		records++
	}
	if len(guarded) == 0 && records == 0 {
		return nil // of somebody else
	}
	err := db.apply(rev, func(tx mvcc.DBTx, probe bool) error {
		for _, e := range events {
			if _, _, ok := db.keys.record(string(e.Kv.Key)); ok {
				db.putOne(tx, e.Kv, e.Type == clientv3.EventTypeDelete, probe)
			}
		}
		return db.checkIndexes(db.hooks.Indexed(tx), events)
	})
	if err != nil {
		return err
	}
	for _, e := range events {
		db.exact.forget(string(e.Kv.Key))
	}
	db.history.put(guarded)
	db.figures.applied.Add(uint64(records))
	db.applied.set(rev)
	return nil
}

// foreign tells of a record that somebody else than this module has written. It is applied like all
// others, so the replica stays in step; but a transaction that has read a range may have missed it.
func (db *DB) foreign(kv *mvccpb.KeyValue) {
	if n := db.figures.foreign.Add(1); n <= mostLogged {
		db.cfg.Logger.Error("etcd: a record was written by somebody else than this module, no transaction "+
			"has compared it", "key", string(kv.Key), "revision", kv.ModRevision, "foreign", n)
	}
}

// mostLogged bounds how many records are logged one by one that are foreign or broken.
const mostLogged = 100

func isVersion(err error) bool {
	var v *VersionError
	return errors.As(err, &v)
}
