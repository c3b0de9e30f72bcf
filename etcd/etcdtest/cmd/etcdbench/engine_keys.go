package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/mvccmap/mvccmap/bench"
)

// A keyspace is keys of etcd, used by its own client: by requests that compare and write, or by the
// transactions of package concurrency.
type keyspace struct {
	at  *place
	ctx context.Context
	stm bool
	bench.Limits
}

func newKeys(c *cluster, setup bench.Setup, stm bool) (bench.Engine, error) {
	at, err := c.place()
	if err != nil {
		return nil, err
	}
	e := &keyspace{at: at, ctx: c.ctx, stm: stm, Limits: setup.Limits}
	for i := range setup.Tables {
		t := &setup.Tables[i]
		err = cmp.Or(err, fill(len(t.Keys), func(low, high int) error {
			var puts []clientv3.Op
			for k := low; k < high; k++ {
				puts = append(puts, clientv3.OpPut(e.key(i, t.Keys[k]), recordText(t.Records[k])))
			}
			_, err := at.client.Txn(c.ctx).Then(puts...).Commit()
			return err
		}))
	}
	if err != nil {
		at.clear()
		return nil, err
	}
	return e, nil
}

// Close implements [bench.Engine].
func (e *keyspace) Close() { e.at.clear() }

// Session implements [bench.Engine].
func (e *keyspace) Session(int) bench.Session { return &keysSession{keyspace: e} }

// key returns a key of etcd; those of a table have the order of the numbers.
func (e *keyspace) key(table int, key int64) string {
	b := append([]byte(e.at.prefix), byte(table))
	return string(binary.BigEndian.AppendUint64(b, uint64(key)^1<<63))
}

type keysSession struct {
	bench.Attempts
	*keyspace
}

// Do implements [bench.Session].
func (s *keysSession) Do(readOnly bool, fn func(tx bench.Access) error) error {
	switch {
	case readOnly:
		r := &reader{keyspace: s.keyspace}
		err := fn(r)
		return cmp.Or(r.err, err)
	case s.stm:
		return s.transact(fn)
	}
	for attempts := 0; ; attempts++ {
		if err := over(&s.Limits, attempts); err != nil {
			return err
		}
		s.Tries++
		tx := &writer{reader{keyspace: s.keyspace}, map[string]int64{}, map[string]clientv3.Op{},
			map[string]bench.Record{}}
		err := fn(tx)
		if err = cmp.Or(tx.err, err); err != nil {
			s.Commits++ // it ends as it was to
			return err
		}
		committed, err := tx.commit()
		if err != nil {
			return err
		}
		if committed {
			s.Commits++
			return nil
		}
	}
}

// Pin implements [bench.Pinner]: a revision, which is not compacted meanwhile.
func (s *keysSession) Pin() (bench.Access, func(), error) {
	r := &reader{keyspace: s.keyspace}
	r.read(s.at.prefix, clientv3.WithCountOnly())
	return pinned{r}, func() {}, r.err
}

// pinned is a reader whose errors end the run: it belongs to no transaction that could return them.
type pinned struct{ *reader }

func (p pinned) Get(table int, key int64) (bench.Record, bool) {
	r, ok := p.reader.Get(table, key)
	if p.err != nil {
		panic(p.err)
	}
	return r, ok
}

// A reader reads as of the revision of its first read. It keeps its first error.
type reader struct {
	*keyspace
	rev int64 // 0: it has read nothing
	err error
}

func (r *reader) read(key string, opts ...clientv3.OpOption) []*mvccpb.KeyValue {
	if r.err != nil {
		return nil
	}
	if r.rev > 0 {
		opts = append(opts, clientv3.WithRev(r.rev))
	}
	resp, err := r.at.client.Get(r.ctx, key, opts...)
	if err != nil {
		r.fail(err)
		return nil
	}
	if r.rev == 0 {
		r.rev = resp.Header.Revision
	}
	return resp.Kvs
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) Get(table int, key int64) (bench.Record, bool) {
	record, ok, _ := r.get(r.key(table, key))
	return record, ok
}

// get returns a record, and the revision that wrote it; 0: it is not there.
func (r *reader) get(key string) (record bench.Record, ok bool, rev int64) {
	kvs := r.read(key)
	if len(kvs) == 0 {
		return record, false, 0
	}
	record, err := recordOf(kvs[0].Value)
	if err != nil {
		r.fail(err)
	}
	return record, err == nil, kvs[0].ModRevision
}

func (r *reader) Put(int, int64, bench.Record) { r.fail(errReads) }
func (r *reader) Add(int, int64, int64)        { r.fail(errReads) }
func (r *reader) Delete(int, int64)            { r.fail(errReads) }

func (r *reader) All(table int, visit func(int64, bench.Record)) {
	r.Range(table, math.MinInt64, func(key int64, record bench.Record) bool {
		visit(key, record)
		return true
	})
}

func (r *reader) Range(table int, low int64, visit func(int64, bench.Record) bool) {
	const page = 100
	end := clientv3.GetPrefixRangeEnd(r.at.prefix + string([]byte{byte(table)}))
	for from := r.key(table, low); ; {
		kvs := r.read(from, clientv3.WithRange(end), clientv3.WithLimit(page))
		for _, kv := range kvs {
			record, err := recordOf(kv.Value)
			if err != nil {
				r.fail(err)
				return
			}
			key := binary.BigEndian.Uint64(kv.Key[len(kv.Key)-8:])
			if !visit(int64(key^1<<63), record) {
				return
			}
		}
		if len(kvs) < page {
			return
		}
		from = string(kvs[page-1].Key) + "\x00"
	}
}

// A writer is a transaction by requests of its own: it reads key by key as of one revision, and
// commits by one request, if the records that it has read are still there as they were.
type writer struct {
	reader
	seen   map[string]int64 // the revisions that have written the records that were read
	writes map[string]clientv3.Op
	values map[string]bench.Record // of those that are not deleted
}

func (w *writer) Get(table int, key int64) (bench.Record, bool) {
	name := w.key(table, key)
	if _, written := w.writes[name]; written {
		record, ok := w.values[name]
		return record, ok
	}
	record, ok, rev := w.get(name)
	w.seen[name] = rev
	return record, ok
}

func (w *writer) Put(table int, key int64, r bench.Record) {
	name := w.key(table, key)
	w.writes[name], w.values[name] = clientv3.OpPut(name, recordText(r)), r
}

func (w *writer) Add(table int, key, delta int64) {
	r, _ := w.Get(table, key)
	r.Number += delta
	w.Put(table, key, r)
}

func (w *writer) Delete(table int, key int64) {
	name := w.key(table, key)
	w.writes[name] = clientv3.OpDelete(name)
	delete(w.values, name)
}

func (w *writer) All(int, func(int64, bench.Record))               { w.fail(errRange) }
func (w *writer) Range(int, int64, func(int64, bench.Record) bool) { w.fail(errRange) }

// commit reports whether all was as it had been read.
func (w *writer) commit() (bool, error) {
	var same []clientv3.Cmp
	for key, rev := range w.seen {
		same = append(same, clientv3.Compare(clientv3.ModRevision(key), "=", rev))
	}
	var writes []clientv3.Op
	for _, op := range w.writes {
		writes = append(writes, op)
	}
	resp, err := w.at.client.Txn(w.ctx).If(same...).Then(writes...).Commit()
	return err == nil && resp.Succeeded, err
}

// transact is Do by a transaction of package concurrency.
func (s *keysSession) transact(fn func(tx bench.Access) error) error {
	attempts := 0
	err := atomically(s.ctx, s.at.client, func(tx concurrency.STM) error {
		if err := over(&s.Limits, attempts); err != nil {
			return err
		}
		attempts++
		s.Tries++
		a := &stmAccess{keyspace: s.keyspace, tx: tx}
		err := fn(a)
		return cmp.Or(a.err, err)
	})
	if err == nil || err == bench.ErrRollBack {
		s.Commits++
	}
	return err
}

// atomically runs a transaction of package concurrency. It begins again after an error that says that
// a member is behind: its reads after the first one ask any member for the revision of that (etcd
// issue 11963).
func atomically(ctx context.Context, client *clientv3.Client, fn func(tx concurrency.STM) error) error {
	for {
		_, err := concurrency.NewSTM(client, fn, concurrency.WithAbortContext(ctx))
		if !errors.Is(err, rpctypes.ErrFutureRev) {
			return err
		}
	}
}

// stmAccess is a transaction of package concurrency. It keeps its first error.
type stmAccess struct {
	*keyspace
	tx  concurrency.STM
	err error
}

// Get implements [bench.Access]: a key that is absent has "" there, and no record is empty.
func (a *stmAccess) Get(table int, key int64) (bench.Record, bool) {
	text := a.tx.Get(a.key(table, key))
	if text == "" {
		return bench.Record{}, false
	}
	r, err := recordOf([]byte(text))
	a.err = cmp.Or(a.err, err)
	return r, err == nil
}

func (a *stmAccess) Put(table int, key int64, r bench.Record) {
	a.tx.Put(a.key(table, key), recordText(r))
}

func (a *stmAccess) Add(table int, key, delta int64) {
	r, _ := a.Get(table, key)
	r.Number += delta
	a.Put(table, key, r)
}

func (a *stmAccess) Delete(table int, key int64) { a.tx.Del(a.key(table, key)) }

func (a *stmAccess) All(int, func(int64, bench.Record)) { a.err = cmp.Or(a.err, errRange) }
func (a *stmAccess) Range(int, int64, func(int64, bench.Record) bool) {
	a.err = cmp.Or(a.err, errRange)
}
