package etcd

import (
	"context"
	"time"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
	"github.com/mvccmap/mvccmap/mvcc"
)

// An observation is an Update that [mvcc.Options.Observe] is told of. A nil one is told of nothing.
type observation struct {
	tell     func(mvcc.Attempt)
	now      mvcc.Attempt
	since    time.Time // the end of the attempt before, or the call
	stopped  time.Time // when the attempt ended of which nobody is told yet
	running  bool
	finished bool
}

// observed is update, with Options.Observe told of it, between the two calls of Options.Around.
func (db *DB) observed(
	ctx context.Context, own mvcc.TxOptions, fn func(tx mvcc.DBTx) error,
) (err error) {
	if db.schema.around != nil {
		inside, after := db.schema.around(ctx, own.Name, "")
		if after != nil {
			defer after()
		}
		if ctx = inside; ctx == nil {
			panic("etcd: Options.Around: inside is nil")
		}
	}
	if db.schema.observe == nil {
		return db.update(ctx, nil, own.MaxAttempts, fn)
	}
	o := &observation{tell: db.schema.observe, since: time.Now()}
	o.now.Context, o.now.Name = ctx, own.Name
	defer func() {
		if !o.finished { // it has panicked, or the goroutine ends
			o.now.Panicked = o.now.Epoch == 0
			o.end(nil, true)
		}
	}()
	err = db.update(ctx, o, own.MaxAttempts, fn)
	o.end(err, true)
	return err
}

// begin says that an attempt begins.
func (o *observation) begin() {
	if o == nil {
		return
	}
	now := time.Now()
	o.running = true
	o.now.Number++
	o.now.Began, o.now.Waited = now, now.Sub(o.since)
}

// committed says at which revision.
func (o *observation) committed(rev uint64) {
	if o != nil {
		o.now.Epoch = rev
	}
}

// stop says that an attempt has ended, and that somebody is to be told later.
func (o *observation) stop() {
	if o != nil {
		o.stopped = time.Now()
	}
}

// lost says that an attempt has come to nothing, and that there will be another one.
func (o *observation) lost(db *DB, w *replicate.Work, one outcome) {
	if o == nil {
		return
	}
	var l losses
	l.add(one)
	o.end(db.giveUp(w, l, o.now.Number), false)
}

// end says that an attempt, or the Update, has ended.
func (o *observation) end(err error, last bool) {
	now := o.stopped
	if now.IsZero() {
		now = time.Now()
	}
	if o.running {
		o.now.Took = now.Sub(o.now.Began)
	} else { // it has given up while it waited
		o.now.Began, o.now.Waited, o.now.Took = now, now.Sub(o.since), 0
	}
	o.now.Err, o.now.Last = err, last
	o.since, o.stopped, o.running, o.finished = now, time.Time{}, false, last
	o.tell(o.now)
}
