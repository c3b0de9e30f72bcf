package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/internal/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// What SaveReplica writes is [savedMagic], a gob stream of a savedHeader and of its records, and
// the SHA-256 of all that. A replica that begins with it has what it had at its revision:
//
//   - W1: it is of the same cluster, prefix and history: the guards of all tables as of the
//     revision are those that the cluster had then, see history. If they cannot be compared it is
//     not used.
//   - W2: the program has the same tables, which encode the same types in the same way: so nothing
//     that this one keeps was left out when it was written.
//   - W3: each record comes with the revision that it was put at, as from etcd.
//   - W4: it need not go through what has happened since, of which something may end every replica
//     that was open then, and none that is opened now: if something cannot be applied everything is
//     loaded.
type savedHeader struct {
	Cluster  uint64
	Prefix   string
	Revision uint64
	Version  int
	Tables   map[string]savedTable
	Guards   map[string]guard
	Records  int
}

type savedTable struct {
	Codec string
	Types []byte // a mvcc.BackupTable in JSON
}

type savedRecord struct {
	Name  string // of the key in etcd, without the prefix
	Value []byte
	Rev   int64
}

const savedMagic = "mvccmap etcd replica 1\n"

// SaveReplica writes all records as of the revision that it returns, with what [Config.Replica]
// needs to begin with them. It waits for a moment at which nothing is being applied, at most until
// ctx ends; meanwhile and afterwards all goes on. All records are in memory twice while it writes,
// to which w should be quick. The error is that of ctx, of w, or a [*CodecError]. The program
// writes to a new file, and renames that.
func (db *DB) SaveReplica(ctx context.Context, w io.Writer) (revision uint64, err error) {
	l, err := db.collect(ctx)
	if err != nil {
		return 0, err
	}
	h := savedHeader{Cluster: db.cluster, Prefix: db.cfg.Prefix, Revision: l.rev, Version: db.cfg.Version,
		Tables: map[string]savedTable{}, Guards: l.guards, Records: len(l.records)}
	for name, t := range db.schema.tables {
		if h.Tables[name], err = db.savedTable(name, t); err != nil {
			return 0, err
		}
	}
	sum := sha256.New()
	all := io.MultiWriter(w, sum)
	if _, err := io.WriteString(all, savedMagic); err != nil {
		return 0, err
	}
	to := gob.NewEncoder(all)
	if err := to.Encode(h); err != nil {
		return 0, err
	}
	for _, kv := range l.records {
		if err := to.Encode(savedRecord{string(kv.Key[len(db.cfg.Prefix):]), kv.Value, kv.ModRevision}); err != nil {
			return 0, err
		}
	}
	_, err = w.Write(sum.Sum(nil))
	return l.rev, err
}

func (db *DB) savedTable(name string, t table) (savedTable, error) {
	types := db.hooks.Described(name, "json").(mvcc.BackupTable)
	types.ID = 0
	text, err := json.Marshal(types)
	return savedTable{t.codec(), text}, err
}

// collect returns what is applied, as of one revision.
func (db *DB) collect(ctx context.Context) (*loaded, error) {
	for ; ; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		here := db.applied.now()
		guards, exact := db.history.now(), db.exact.clone()
		if db.local.Epoch() != here { // a revision is being applied; must follow
			continue
		}
		var w *replicate.Work
		err := db.local.View(func(s mvcc.DBSnapshot) (err error) {
			w, err = db.hooks.Attempt(func(tx mvcc.DBTx) error {
				if s.Epoch() != here || tx.Epoch() != here {
					return errMoved
				}
				for _, t := range db.schema.tables {
					t.readAll(tx, s)
				}
				return nil
			})
			return err
		})
		if errors.Is(err, errMoved) {
			continue
		} else if err != nil {
			return nil, err
		}
		l := &loaded{rev: here, guards: guards}
		for i := range w.Tables {
			if err := db.encodeAll(&w.Tables[i], exact, l); err != nil {
				return nil, err
			}
		}
		return l, nil
	}
}

// errMoved says that the tables have come further.
var errMoved = errors.New("etcd: a revision was applied meanwhile")

func (db *DB) encodeAll(t *replicate.Table, exact map[string]exactly, l *loaded) error {
	at := db.keys.table(t.Name)
	return db.schema.tables[t.Name].encoded(t.Reads, func(i int, key, value []byte) {
		name, rev := at+string(key), t.Epochs[i]
		if e, there := exact[name]; there && e.epoch == rev {
			rev = e.rev
		}
		l.records = append(l.records, &mvccpb.KeyValue{Key: []byte(name), Value: value, ModRevision: int64(rev)})
	})
}

func (x *exact) clone() map[string]exactly {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.rev)
}

// warm returns what Config.Replica has, nil if it is not there or will not do, which the logger is
// told.
func (db *DB) warm(ctx context.Context) *loaded {
	if db.cfg.Replica == nil {
		return nil
	}
	l, err := db.saved()
	if err == nil {
		err = db.sameHistory(ctx, l)
	}
	if err != nil {
		db.cfg.Logger.Warn("etcd: Config.Replica is not used, everything is loaded", "prefix", db.cfg.Prefix,
			"error", err)
		return nil
	}
	return l
}

// saved reads Config.Replica, and checks W2.
func (db *DB) saved() (*loaded, error) {
	text, err := io.ReadAll(db.cfg.Replica)
	if err != nil {
		return nil, err
	}
	n := len(text) - sha256.Size
	if n < 0 || !bytes.HasPrefix(text, []byte(savedMagic)) {
		return nil, errors.New("it is not what SaveReplica writes")
	}
	if sum := sha256.Sum256(text[:n]); !bytes.Equal(sum[:], text[n:]) {
		return nil, errors.New("it is damaged")
	}
	from := gob.NewDecoder(bytes.NewReader(text[len(savedMagic):n]))
	h := savedHeader{Guards: map[string]guard{}}
	if err := from.Decode(&h); err != nil {
		return nil, err
	}
	switch {
	case h.Cluster != db.cluster || h.Prefix != db.cfg.Prefix:
		return nil, fmt.Errorf("it is of prefix %q of the cluster with ID %x, and this is %q of %x", h.Prefix,
			h.Cluster, db.cfg.Prefix, db.cluster)
	case h.Version != db.cfg.Version:
		return nil, fmt.Errorf("it was written with Config.Version %d, and this is %d", h.Version, db.cfg.Version)
	case h.Revision <= db.local.Epoch()+1:
		return nil, fmt.Errorf("its revision, %d, is too low", h.Revision)
	}
	for name, t := range db.schema.tables {
		is, err := db.savedTable(name, t)
		if was, there := h.Tables[name]; err != nil || !there || was.Codec != is.Codec ||
			!bytes.Equal(was.Types, is.Types) {
			return nil, fmt.Errorf("table %q is not in it, or has other types", name)
		}
	}
	l := &loaded{rev: h.Revision, guards: h.Guards}
	for range h.Records {
		var r savedRecord
		if err := from.Decode(&r); err != nil {
			return nil, err
		}
		kv := &mvccpb.KeyValue{Key: []byte(db.cfg.Prefix + r.Name), Value: r.Value, ModRevision: r.Rev}
		if table, _, ok := db.keys.record(string(kv.Key)); ok && db.schema.tables[table] != nil {
			l.records = append(l.records, kv)
		}
	}
	return l, nil
}

// sameHistory checks W1.
func (db *DB) sameHistory(ctx context.Context, l *loaded) error {
	resp, err := db.guardsAt(ctx, l.rev)
	switch {
	case isRPC(err, rpctypes.ErrFutureRev):
		return fmt.Errorf("the cluster has not come to its revision, %d: it has another history", l.rev)
	case isRPC(err, rpctypes.ErrCompacted):
		return fmt.Errorf("its revision, %d, is compacted", l.rev)
	case err != nil:
		return err
	case resp.Header.ClusterId != db.cluster:
		return db.another(resp.Header)
	}
	if then := db.guards(resp); !maps.Equal(then, l.guards) {
		return fmt.Errorf("the cluster has another history: at revision %d its tables were written last by %v, "+
			"and here by %v", l.rev, then, l.guards)
	}
	return nil
}

// catchUp waits until the replica has all that there was when it was called, also what somebody
// else has written: it puts a key, and waits until the watch has told of it.
func (db *DB) catchUp(ctx context.Context) error {
	var rev uint64
	err := db.again(ctx, func() error {
		resp, err := db.txn(ctx, nil, []clientv3.Op{clientv3.OpPut(db.keys.wake(), db.self)}, nil)
		if err == nil {
			rev = uint64(resp.Header.Revision)
		}
		return err
	})
	if isRPC(err, rpctypes.ErrNoSpace) || definite(err) { // it is full, say, or may only be read
		_, err = db.Sync(ctx)
		return err
	} else if err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for db.seen.Load() < rev {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ended(ctx)
		case <-db.applied.endedAt:
			return db.applied.err()
		}
	}
	return nil
}
