package etcd

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/mvcc"
)

// RewriteOptions configures [DB.Rewrite]. A nil *RewriteOptions, and every field that is zero,
// means the default.
type RewriteOptions struct {
	// Progress is called before the first and after each transaction, in the goroutine that has
	// called Rewrite, with how many records it has looked at, and how many of these it has written.
	// While it does not return nothing is written: so it may make Rewrite slower.
	Progress func(looked, written int)

	_ struct{}
}

// What one transaction of Rewrite writes at most.
const (
	rewriteRecords = 25
	rewriteBytes   = 256 << 10
)

// Rewrite writes all records of a table anew that are not as [TableOptions.Encode] makes them now,
// while programs go on to read and write. Afterwards the cluster has no record in an encoding of
// before, and notes none: a program may be opened whose [TableOptions.Codecs] has none of them.
//
// No program must write an older encoding any more, by its [TableOptions.Codec]. One that runs
// nonetheless commits nothing from then on: it fails with a [*SchemaError] as soon as it hears of
// it. If one is opened while Rewrite runs that returns a *SchemaError. So it does if a program was
// opened that keeps more of the records than this one, or in an encoding that this one does not
// decode; but not if it keeps more by [Config.Rolling], of which the cluster knows nothing.
//
// It reads the records from etcd, some at a time, and writes those that are to be written in
// transactions like those of [DB.Update], of up to 25 records: what others write meanwhile stays,
// and watches are told of records whose values are what they were. It waits for all that, until ctx
// ends, and asks other members where one does not answer. After any error, and if the process was
// killed, it may be called again, here or in another process: it passes over what was written
// already. Two may run at the same time. An error is that of ctx or of etcd, or what Update returns
// for a single record, say a [*CodecError] for one that Encode refuses.
func (db *DB) Rewrite(ctx context.Context, table string, opts *RewriteOptions) error {
	t := db.schema.tables[table]
	if t == nil {
		return fmt.Errorf("etcd: Rewrite: there is no table %q in the schema", table)
	}
	if err := db.goOn(ctx); err != nil {
		return err
	}
	r := &rewriting{db: db, t: t, table: table, at: db.keys.table(table)}
	if opts != nil {
		r.progress = opts.Progress
	}
	// R1: from here on nobody writes anything else: who has not heard of it conflicts, see commit.
	by := ""
	if _, err := db.changeMeta(ctx, func(m *meta, _ uint64) (bool, bool, error) {
		kept := m.Tables[table]
		if err := db.acceptsTable(table, t, kept); err != nil {
			return false, false, err
		}
		begin := kept.Only != t.codec() && !slices.Equal(kept.Codecs, []string{t.codec()})
		if begin {
			kept.Only, kept.By = t.codec(), rand.Text()
			m.Tables[table] = kept
		}
		by = kept.By
		return begin, begin, nil
	}); err != nil {
		return err
	}
	// R2: all that was committed before is among what is read now, or was written anew since.
	r.told()
	if err := db.pages(ctx, r.at, new(uint64), func(resp *clientv3.GetResponse) error {
		return r.some(ctx, resp.Kvs)
	}); err != nil {
		return err
	}
	// R3: if nobody who writes something else was opened meanwhile there is nothing else.
	_, err := db.changeMeta(ctx, func(m *meta, _ uint64) (bool, bool, error) {
		kept := m.Tables[table]
		done := slices.Equal(kept.Codecs, []string{t.codec()})
		if !done && (kept.Only != t.codec() || kept.By != by) {
			return false, false, &SchemaError{Table: table, Want: t.codec(), Kept: fmt.Sprint(kept.Codecs,
				", as a program was opened, while Rewrite has run, that writes something else")}
		}
		kept.Codecs, kept.Only, kept.By = []string{t.codec()}, "", ""
		m.Tables[table] = kept
		return !done, false, nil
	})
	return err
}

// A rewriting is a Rewrite.
type rewriting struct {
	db              *DB
	t               table
	table           string // its name
	at              string // what the names of its records begin with
	progress        func(looked, written int)
	looked, written int
}

func (r *rewriting) told() {
	if r.progress != nil {
		r.progress(r.looked, r.written)
	}
}

// some writes those of some records that are to be written.
func (r *rewriting) some(ctx context.Context, records []*mvccpb.KeyValue) error {
	if err := r.db.come(ctx, guardedAt(records)); err != nil { // they are here
		return err
	}
	var keys [][]byte
	size := 0
	for i, kv := range records {
		key := kv.Key[len(r.at):]
		stale, err := r.t.stale(key, kv.Value)
		if err != nil {
			return err
		}
		if stale {
			keys = append(keys, key)
			size += len(kv.Key) + len(kv.Value)
		}
		r.looked++
		if len(keys) == rewriteRecords || size >= rewriteBytes || len(keys) > 0 && i == len(records)-1 {
			if err := r.write(ctx, keys); err != nil {
				return err
			}
			r.told()
			keys, size = nil, 0
		}
	}
	return nil
}

// write writes some records anew, fewer at a time if they cannot be written together.
func (r *rewriting) write(ctx context.Context, keys [][]byte) error {
	n := 0
	err := r.db.update(ctx, nil, func(tx mvcc.DBTx) (err error) {
		if err := r.less(); err != nil { // it is noted before what the other program has written is seen
			return err
		}
		n, err = r.t.again(tx, keys)
		return err
	})
	switch {
	case err == nil:
		r.written += n
		return nil
	case len(keys) == 1 || ctx.Err() != nil || r.db.Err() != nil || r.less() != nil:
		return err
	}
	half := len(keys) / 2
	return errors.Join(r.write(ctx, keys[:half]), r.write(ctx, keys[half:]))
}

// less returns a *SchemaError if a program was opened that keeps more of the records.
func (r *rewriting) less() error {
	if err, there := r.db.less.Load(r.table); there {
		return err.(error)
	}
	return nil
}

// stale reports whether a record is encoded in another way than it would be now.
func (t *Table[K, V]) stale(name, value []byte) (bool, error) {
	key, err := t.key.decode(name)
	if err != nil {
		return false, t.failed(string(name), err)
	}
	if is, err := t.key.encode(key); err != nil || !bytes.Equal(is, name) {
		return false, t.failed(key, fmt.Errorf("the key is kept as %q, and encoded as %q (%v): equal keys must "+
			"have equal bytes in all versions of a program", name, is, err))
	}
	v, err := t.value.decode(value)
	if err != nil {
		return false, t.failed(key, err)
	}
	is, err := t.value.encode(v)
	if err != nil {
		return false, t.failed(key, err)
	}
	return !bytes.Equal(is, value), nil
}

// again writes records as they are, and returns how many of them there are.
func (t *Table[K, V]) again(tx mvcc.DBTx, names [][]byte) (n int, err error) {
	in := t.m.In(tx)
	for _, name := range names {
		key, err := t.key.decode(name)
		if err != nil {
			return 0, t.failed(string(name), err)
		}
		if v, ok := in.Get(key); ok {
			in.Set(key, v)
			n++
		}
	}
	return n, nil
}
