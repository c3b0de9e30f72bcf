package etcd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Slots of processes that were killed stay, since nobody may make anything of a request of theirs
// that still comes. So one process, which is elected, deletes each that has not been put for its
// age, which is in its name.
//
//   - J1: a request that comes after its slot is deleted finds none, and has no effect: O3.
//   - J2: the age goes by the clock of the servers: there are marks, each a key that names a revision,
//     with a lease that was granted after the cluster was at that revision. The time that the lease
//     has used up is the least for which nobody has put a slot that was put last at the revision, or
//     before. Marks stay when the process ends that has made them. If another server leads its
//     leases begin anew, so slots stay longer.
//   - J3: an owner takes another slot when half the age has passed by its own clock, and never one
//     that may be gone: so clocks may run twice as fast, and need not agree.
//   - J4: an owner that finds its slot gone, and has not put it for so long, has stood still. It
//     says of a request that it does not know, and goes on.

// idle reports whether the slot may be gone soon, since it was not put for long.
func (s *slot) idle(db *DB) bool {
	wall := time.Now().Round(0).Sub(s.put.Round(0)) // of a machine that was asleep, say
	return max(wall, time.Since(s.put)) > db.cfg.SlotAge/2
}

// clean deletes slots that nobody uses, until ctx ends.
func (db *DB) clean(ctx context.Context) {
	tick := time.NewTicker(db.cfg.SlotAge / 8)
	defer tick.Stop()
	for {
		_ = db.cleanOnce(ctx) // or the next time
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// cleanOnce deletes the slots that are older than their age by the marks, and makes a mark if there
// is no young one. Slots that older programs have named in another way stay.
func (db *DB) cleanOnce(ctx context.Context) error {
	slots, err := db.get(ctx, db.keys.slots(), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	marks, err := db.marks(ctx)
	if err != nil {
		return err
	}
	longest, now := db.cfg.SlotAge, slots.Header.Revision
	for _, kv := range slots.Kvs {
		name := string(kv.Key)
		age, ok := db.keys.slot(name)
		if !ok {
			continue // of somebody else
		}
		longest = max(longest, age)
		if slices.ContainsFunc(marks, func(m mark) bool { return m.rev >= kv.ModRevision && m.age >= age }) {
			_, _ = db.txn(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(name), "=", kv.ModRevision)},
				[]clientv3.Op{clientv3.OpDelete(name)}, nil) // or the next time
		}
	}
	young := func(m mark) bool { return m.age < db.cfg.SlotAge/8 }
	if len(slots.Kvs) == 0 || slices.ContainsFunc(marks, young) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
	defer cancel()
	lease, err := db.client.Grant(ctx, int64(2*longest/time.Second)+2)
	if err != nil {
		return err
	}
	_, err = db.client.Put(ctx, fmt.Sprintf("%s%016x", db.keys.marks(), now), "", clientv3.WithLease(lease.ID))
	return err
}

// A mark says for how long, at least, there has been a revision.
type mark struct {
	rev int64
	age time.Duration
}

// marks returns those that there are.
func (db *DB) marks(ctx context.Context) (all []mark, err error) {
	got, err := db.get(ctx, db.keys.marks(), clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	for _, kv := range got.Kvs {
		rev, err := strconv.ParseInt(strings.TrimPrefix(string(kv.Key), db.keys.marks()), 16, 64)
		if err != nil || kv.Lease == 0 {
			continue // of somebody else
		}
		ask, cancel := context.WithTimeout(ctx, db.cfg.RequestTimeout)
		lease, err := db.client.TimeToLive(ask, clientv3.LeaseID(kv.Lease))
		cancel()
		if err != nil {
			return nil, err
		}
		if lease.TTL > 0 { // in whole seconds, rounded down
			all = append(all, mark{rev, time.Duration(lease.GrantedTTL-lease.TTL-1) * time.Second})
		}
	}
	return all, nil
}
