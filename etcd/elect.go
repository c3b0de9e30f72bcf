package etcd

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// campaigns does the tasks that one process does for all, whenever this is the one: it deletes
// slots that nobody uses, and the records of all tables that expire, for which there is one
// election. Those that have Expire for other tables, say of an older version of the program, have
// an election of their own, so that each table has a process: where two have the same one both
// work, as when two take themselves for elected.
func (db *DB) campaigns() {
	var names []string
	for name, t := range db.schema.tables {
		if t.expires() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	db.elected("tasks/"+strings.Join(names, "/"), func(ctx context.Context) {
		ctx, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		task := func(do func()) {
			all.Go(func() {
				defer stop() // if one ends, who is elected next begins all anew
				do()
			})
		}
		task(func() { db.clean(ctx) })
		for _, name := range names {
			task(func() { db.schema.tables[name].expire(ctx, db) })
		}
		all.Wait()
	})
}

// elected calls work whenever this process is the one of all to do a task, with a context that ends
// when it is not any more, until the replica ends. The key of the task has a lease, which goes soon
// after its process has. Two processes may take themselves for elected for a while, say because one
// stood still: the effects of work must be right nonetheless.
func (db *DB) elected(task string, work func(ctx context.Context)) {
	key := db.keys.task(task)
	for {
		if s, err := db.campaign(key); err != nil && db.ctx.Err() == nil {
			db.warn("etcd: nobody could be elected, it is tried again", err, "task", task)
		} else if s != nil {
			db.serve(key, s, work)
		}
		select {
		case <-time.After(db.cfg.Lease / 4):
		case <-db.applied.endedAt:
			return
		case <-db.ctx.Done():
			return
		}
	}
}

// campaign returns the session that the key has a lease of, or nil if another process has been
// elected.
func (db *DB) campaign(key string) (*concurrency.Session, error) {
	ctx, cancel := context.WithTimeout(db.ctx, db.cfg.RequestTimeout)
	defer cancel()
	got, err := db.get(ctx, key, clientv3.WithKeysOnly())
	if err != nil || len(got.Kvs) > 0 {
		return nil, err
	}
	ttl := int64((db.cfg.Lease + time.Second - 1) / time.Second)
	lease, err := db.client.Grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	s, err := concurrency.NewSession(db.client, concurrency.WithLease(lease.ID), concurrency.WithTTL(int(ttl)),
		concurrency.WithContext(db.ctx))
	if err != nil || s == nil {
		return nil, err
	}
	won, err := db.txn(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		[]clientv3.Op{clientv3.OpPut(key, db.self, clientv3.WithLease(lease.ID))}, nil)
	if err != nil || !won.Succeeded {
		db.resign(s)
		return nil, err
	}
	return s, nil
}

// serve calls work as long as the key has the lease of a session.
func (db *DB) serve(key string, s *concurrency.Session, work func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(s.Ctx())
	defer db.resign(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	defer func() { <-done }()
	defer cancel()
	tick := time.NewTicker(db.cfg.Lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			got, err := db.get(db.ctx, key) // without its value there might be no lease
			if err == nil && (len(got.Kvs) == 0 || got.Kvs[0].Lease != int64(s.Lease())) {
				return
			}
		case <-done:
			return
		case <-s.Done():
			return
		case <-db.applied.endedAt:
			return
		}
	}
}

// resign gives up a lease, if etcd can be asked; else it goes by itself.
func (db *DB) resign(s *concurrency.Session) {
	s.Orphan()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = db.client.Revoke(ctx, s.Lease())
}
