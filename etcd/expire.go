package etcd

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Expire makes the records of the table expire, as [mvcc.Map.Expire] does: each is deleted when its
// time has come, which until returns, for good if that is the zero time. A time that is given with
// the write is a field of the value.
//
// One process of those that have called Expire for the same tables is elected, by a lease in etcd,
// and deletes the records that are due, in transactions like those of [DB.Update]. So a record that
// is written anew meanwhile is deleted only if the time of the new value has come as well, and none
// is deleted twice. The clock that counts is [Config.Now] of the process that deletes, at the time
// of the transaction; and if two take themselves for elected for a while, that which is ahead. A
// record can be read until it is deleted, up to a second after its time by that clock, or later if
// much is due or etcd does not answer. If the elected process dies another one goes on after at
// most 5/4 of [Config.Lease].
//
// until must return the same for the same record, in all processes: it must not ask for the time.
// It must be quick, and not use the tables. A record for which it panics stays until it is written
// again: [Config.Logger] is told at level Error, and [Stats.ExpireFailures] counts it. The elected
// process keeps a key and some 50 bytes for each record that expires.
// Watches are told of a deletion, and not that the record has expired. Expire is called before
// Open, once.
func (t *Table[K, V]) Expire(until func(key K, value V) time.Time) {
	if until == nil {
		panic("etcd: Expire: until is nil")
	}
	t.schema.declare("Expire", func() {
		if t.until != nil {
			panic("etcd: Expire: it was called before")
		}
		t.until = until
	})
}

// OnExpire has fn called for each record that [Table.Expire] deletes, in the transaction that
// deletes it: the writes of fn through tx are committed together with the deletion, or not at all.
// fn finds the record deleted already. If it sets the key again with a later time, the record
// stays; if that time has come by then, fn is called for the record again soon. fn runs in the
// elected process, and again after a conflict, or in a smaller transaction; effects that should
// happen once go to [mvcc.DBTx.OnCommit].
//
// A record for which fn returns an error, or panics, or whose transaction cannot be committed,
// stays: [Config.Logger] is told at level Error, [Stats.ExpireFailures] counts it, and it is tried
// again after a second, and then after twice as long each time, up to a minute. That the cluster is
// full, or does not answer, does not count against a record: all is tried again each second, and
// Logger is told once, at level Warn. OnExpire is called before Open, once.
func (t *Table[K, V]) OnExpire(fn func(tx mvcc.DBTx, key K, value V) error) {
	if fn == nil {
		panic("etcd: OnExpire: fn is nil")
	}
	t.schema.declare("OnExpire", func() {
		if t.onExpire != nil {
			panic("etcd: OnExpire: it was called before")
		}
		t.onExpire = fn
	})
}

func (t *Table[K, V]) expires() bool { return t.until != nil }

// expire deletes the records that are due, until ctx ends.
func (t *Table[K, V]) expire(ctx context.Context, db *DB) {
	d := &dues[K, V]{t: t, db: db, noted: map[K]time.Time{}, tries: map[K]int{}}
	ctx, stop := context.WithCancel(ctx)
	var follower sync.WaitGroup
	defer follower.Wait()
	defer stop()
	follower.Go(func() {
		defer func() {
			if ctx.Err() == nil { // who is elected next begins anew
				db.cfg.Logger.Error("etcd: the function of Expire has called runtime.Goexit", "table", t.Name())
			}
			stop()
		}()
		_ = db.local.Follow(ctx, nil, d.begin, d.apply) // ends with ctx
	})
	for pause := sweepEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		err := d.sweepAll(ctx)
		if err != nil && pause == sweepEvery {
			db.cfg.Logger.Warn("etcd: nothing can be committed, so no record expires", "table", t.Name(),
				"error", err)
		}
		if pause = min(2*pause, maxPause); err == nil {
			pause = sweepEvery
		}
	}
}

// sweepAll sweeps the records that are due, each once: one that OnExpire sets again with a time
// that has come would not let it rest. It ends at an error of the cluster, and returns that.
func (d *dues[K, V]) sweepAll(ctx context.Context) (err error) {
	swept := map[K]bool{}
	var again []due[K]
	for ctx.Err() == nil && err == nil {
		keys := d.take(sweepKeys)
		if len(keys) == 0 {
			break
		}
		some := keys[:0:0]
		for _, key := range keys {
			if swept[key] {
				again = append(again, due[K]{d.db.cfg.Now(), key})
			} else {
				swept[key], some = true, append(some, key)
			}
		}
		if len(some) > 0 {
			err = d.sweep(ctx, some)
		}
		for i := 0; err != nil && i < len(some); i++ {
			again = append(again, due[K]{d.db.cfg.Now(), some[i]})
		}
	}
	d.later(again)
	return err
}

// How often the elected process looks for records that are due, how many of them go in one
// transaction, and how many notes there may be beside twice as many as count.
const (
	sweepEvery = 200 * time.Millisecond
	sweepKeys  = 25
	manyNotes  = 1000
)

// A due is a note that a record is to be looked at at a time.
type due[K comparable] struct {
	at  time.Time
	key K
}

// dues are the notes of the elected process. Each record that expires has one, of its time or an
// earlier one, from when the process knows of it.
type dues[K comparable, V any] struct {
	t  *Table[K, V]
	db *DB

	mu    sync.Mutex
	list  []due[K]        // a heap, also of notes that another one has taken the place of
	noted map[K]time.Time // the times of those that count
	tries map[K]int       // of records that could not be deleted
}

func (d *dues[K, V]) Len() int           { return len(d.list) }
func (d *dues[K, V]) Less(i, j int) bool { return d.list[i].at.Before(d.list[j].at) }
func (d *dues[K, V]) Swap(i, j int)      { d.list[i], d.list[j] = d.list[j], d.list[i] }
func (d *dues[K, V]) Push(x any)         { d.list = append(d.list, x.(due[K])) }
func (d *dues[K, V]) Pop() (x any) {
	last := len(d.list) - 1
	x, d.list = d.list[last], d.list[:last]
	return x
}

// note notes a time for a record, unless it has an earlier one. The caller has locked mu.
func (d *dues[K, V]) note(key K, at time.Time) {
	if before, there := d.noted[key]; !there || at.Before(before) {
		d.noted[key] = at
		heap.Push(d, due[K]{at, key})
		if len(d.list) > 2*len(d.noted)+manyNotes {
			d.tidy()
		}
	}
}

// tidy drops the notes that do not count: there are many where records are deleted, and made again,
// long before their time.
func (d *dues[K, V]) tidy() {
	d.list = make([]due[K], 0, len(d.noted)+manyNotes)
	for key, at := range d.noted {
		d.list = append(d.list, due[K]{at, key})
	}
	heap.Init(d)
}

// begin and apply are those of [mvcc.DB.Follow].
func (d *dues[K, V]) begin(s mvcc.DBSnapshot) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list, d.noted = nil, map[K]time.Time{}
	for key, v := range d.t.m.At(s).All() {
		if at := d.expiry(key, v); !at.IsZero() {
			d.note(key, at)
		}
	}
	return nil
}

// expiry returns the time of a record, and the zero time if its function panics.
func (d *dues[K, V]) expiry(key K, value V) (at time.Time) {
	if err := guarded(func() error {
		at = d.t.until(key, value)
		return nil
	}); err != nil {
		d.db.figures.unexpired.Add(1)
		d.db.cfg.Logger.Error("etcd: a record stays, it has no time", "table", d.t.Name(), "key", key,
			"error", err)
	}
	return at
}

func (d *dues[K, V]) apply(c mvcc.DBCommit) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, change := range d.t.m.Changes(c) {
		d.changed(change)
	}
	return nil
}

// changed notes the new time of a record, or drops its note. The caller has locked mu.
func (d *dues[K, V]) changed(change mvcc.Change[K, V]) {
	if delete(d.tries, change.Key); !change.Has {
		delete(d.noted, change.Key)
	} else if at := d.expiry(change.Key, change.New); !at.IsZero() {
		d.note(change.Key, at)
	}
}

// take returns the keys of some records whose notes are due, and drops these.
func (d *dues[K, V]) take(most int) (keys []K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for now := d.db.cfg.Now(); len(keys) < most && len(d.list) > 0 && !d.list[0].at.After(now); {
		one := heap.Pop(d).(due[K])
		if at, there := d.noted[one.key]; there && at.Equal(one.at) {
			delete(d.noted, one.key)
			keys = append(keys, one.key)
		}
	}
	return keys
}

// later notes records for a time.
func (d *dues[K, V]) later(notes []due[K]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range notes {
		d.note(n.key, n.at)
	}
}

// sweep deletes those of some records whose time has come. If they cannot be deleted together it
// tries fewer. An error of the cluster it returns: nothing can be said of the records.
func (d *dues[K, V]) sweep(ctx context.Context, keys []K) error {
	var gone int
	var notes []due[K]
	var own error // of OnExpire
	try := func(tx mvcc.DBTx) error {
		gone, notes, own = 0, nil, nil
		in, now, deleted := d.t.m.In(tx), d.db.cfg.Now(), keys[:0:0]
		for _, key := range keys {
			v, ok := in.Get(key)
			if !ok {
				continue
			}
			switch at := d.t.until(key, v); {
			case at.IsZero():
				continue
			case at.After(now):
				notes = append(notes, due[K]{at, key})
				continue
			}
			in.Delete(key)
			deleted = append(deleted, key)
			if d.t.onExpire != nil {
				if own = d.t.onExpire(tx, key, v); own != nil {
					return own
				}
			}
		}
		for _, key := range deleted { // which OnExpire may have set again
			if v, ok := in.Get(key); ok {
				if at := d.t.until(key, v); !at.IsZero() {
					notes = append(notes, due[K]{at, key})
				}
			} else {
				gone++
			}
		}
		return nil
	}
	err := apart(func() error { return d.db.update(ctx, nil, d.db.cfg.MaxAttempts, try) })
	switch {
	case err == nil:
		d.later(notes)
		d.db.figures.expired.Add(uint64(gone))
	case ctx.Err() != nil || d.db.Err() != nil: // who is elected next finds them
	case own == nil && ofCluster(err):
		return err
	case len(keys) > 1:
		if err := d.sweep(ctx, keys[:len(keys)/2]); err != nil {
			return err
		}
		return d.sweep(ctx, keys[len(keys)/2:])
	default:
		d.refused(keys[0], err)
	}
	return nil
}

// refused notes that a record could not be deleted.
func (d *dues[K, V]) refused(key K, err error) {
	d.mu.Lock()
	tries := d.tries[key]
	d.tries[key] = tries + 1
	d.note(key, d.db.cfg.Now().Add(min(time.Second<<min(tries, 10), time.Minute)))
	d.mu.Unlock()
	d.db.figures.unexpired.Add(1)
	d.db.cfg.Logger.Error("etcd: a record stays although its time has come", "table", d.t.Name(), "key", key,
		"tries", tries+1, "error", err)
}
