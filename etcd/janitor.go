package etcd

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Slots of processes that were killed stay, since nobody may make anything of a request of theirs
// that still comes. So one process, which is elected, deletes each that has not been put for its
// age, which is in its name.
//
//   - J1: a request that comes after its slot is deleted finds none, and has no effect: O3.
//   - J2: the age goes by the clock of the janitor, from when it has first seen the slot like that.
//     Its owner takes another one when half the age has passed by its own clock, and never one that
//     may be gone: so clocks may run twice as fast, and need not agree.
//   - J3: an owner that finds its slot gone, and has not put it for so long, has stood still. It
//     says of a request that it does not know, and goes on.

// age is how long a slot of that name stays.
func slotAge(name string, other time.Duration) time.Duration {
	age, err := time.ParseDuration(name[strings.LastIndexByte(name, '/')+1:])
	if err != nil || age <= 0 {
		return other
	}
	return age
}

// idle reports whether the slot may be gone soon, since it was not put for long.
func (s *slot) idle(db *DB) bool {
	wall := time.Now().Round(0).Sub(s.put.Round(0)) // of a machine that was asleep, say
	return max(wall, time.Since(s.put)) > db.cfg.SlotAge/2
}

// clean deletes slots that nobody uses, until ctx ends.
func (db *DB) clean(ctx context.Context) {
	type sight struct {
		rev   int64
		since time.Time
	}
	seen := map[string]sight{}
	tick := time.NewTicker(db.cfg.SlotAge / 8)
	defer tick.Stop()
	for {
		all, err := db.get(ctx, db.keys.slots(), clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err == nil {
			still := map[string]sight{}
			for _, kv := range all.Kvs {
				name, now := string(kv.Key), time.Now()
				one := seen[name]
				if one.rev != kv.ModRevision {
					one = sight{kv.ModRevision, now}
				}
				if now.Sub(one.since) >= slotAge(name, db.cfg.SlotAge) {
					_, _ = db.txn(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(name), "=", one.rev)},
						[]clientv3.Op{clientv3.OpDelete(name)}, nil) // or the next time
				}
				still[name] = one
			}
			seen = still
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
