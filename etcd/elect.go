package etcd

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

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
// when it is not any more, until the replica ends. Each process has a key with a lease, which goes
// soon after it has; the oldest key is of the one that is elected. Two processes may take themselves
// for elected for a while, say because one stood still: the effects of work must be right
// nonetheless.
func (db *DB) elected(task string, work func(ctx context.Context)) {
	for {
		if err := db.campaign(task, work); err != nil && db.applied.err() == nil {
			db.warn("etcd: nobody could be elected, it is tried again", err, "task", task)
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

// campaign waits until this process is elected, and calls work then.
func (db *DB) campaign(task string, work func(ctx context.Context)) error {
	ttl := int64((db.cfg.Lease + time.Second - 1) / time.Second)
	ask, cancel := context.WithTimeout(db.ctx, db.cfg.RequestTimeout)
	defer cancel()
	lease, err := db.client.Grant(ask, ttl)
	if err != nil {
		return err
	}
	s, err := concurrency.NewSession(db.client, concurrency.WithLease(lease.ID), concurrency.WithTTL(int(ttl)),
		concurrency.WithContext(db.ctx))
	if err != nil || s == nil {
		return err
	}
	defer db.resign(s)
	ctx, stop := db.applied.until(s.Ctx())
	defer stop()
	won := make(chan error, 1)
	// If ctx ends it withdraws its key, for which etcd may not answer; it ends with the client.
	go func() { won <- concurrency.NewElection(s, db.keys.task(task)).Campaign(ctx, db.self) }()
	select {
	case err = <-won:
	case <-ctx.Done():
		return nil
	}
	if err == nil {
		work(ctx)
	}
	return err
}

// resign gives up a lease, if etcd can be asked; else it goes by itself.
func (db *DB) resign(s *concurrency.Session) {
	s.Orphan()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = db.client.Revoke(ctx, s.Lease())
}
