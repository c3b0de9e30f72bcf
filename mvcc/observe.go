package mvcc

import (
	"context"
	"time"
)

// An Attempt is one attempt of an Update, for [Options.Observe].
type Attempt struct {
	// Context is that of the Update: a span of a trace may be in it.
	Context context.Context
	Name    string // TxOptions.Name
	Number  int    // of the attempt, from 1
	Last    bool   // Update returns now: there is no further attempt
	// Err is nil if the attempt has committed. Otherwise it is a [*ConflictError] or the error of
	// the Update.
	Err error
	// Panicked: the function has panicked, or called runtime.Goexit, and Err is nil.
	Panicked bool
	// Epoch is that of the commit, or 0; the read epoch if the transaction has written nothing.
	Epoch uint64
	// Began is when the function was called, Took how long it and the commit took, and Waited how
	// long Update had waited before.
	Began        time.Time
	Took, Waited time.Duration
}

// An observation is an Update that is observed.
type observation struct {
	tell     func(Attempt)
	now      Attempt
	since    time.Time // the end of the attempt before, or the call
	running  bool
	finished bool
}

// observed is update, with Options.Observe told of it.
func (m *core) observed(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) (err error) {
	var own TxOptions
	if opts != nil {
		own = *opts
	}
	o := &observation{tell: m.shared.observe, since: time.Now()}
	o.now.Context, o.now.Name = ctx, own.Name
	own.seen, own.own = o, !m.strict // which runs it as its own afterwards
	defer func() {
		if !o.finished { // it has panicked, or the goroutine ends
			o.now.Panicked = true
			o.end(nil, true)
		}
	}()
	err = m.update(ctx, &own, func(tx DBTx) error {
		o.begin()
		tx.OnCommit(func(epoch uint64) { o.now.Epoch = epoch })
		return fn(tx)
	})
	o.end(err, true)
	return err
}

// around is update, between the two calls of Options.Around. One function that calls Update would
// keep fn: the compiler would have each Update allocate its function, also without an Around.
func (m *core) around(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) error {
	var own TxOptions
	if opts != nil {
		own = *opts
	}
	own.inside, own.own = true, m.shared.observe == nil && !m.strict // see observed
	inside, after := m.shared.around(ctx, own.Name, m.counters.name)
	if after != nil {
		defer after()
	}
	checkContext("Options.Around: inside", inside)
	return m.update(inside, &own, fn)
}

// begin says that an attempt begins. A rehearsal, see strict, is part of the attempt after it.
func (o *observation) begin() {
	if o.running {
		return
	}
	now := time.Now()
	o.running = true
	o.now.Number++
	o.now.Began, o.now.Waited = now, now.Sub(o.since)
}

// end says that an attempt, or the Update, has ended. What tell does is the program's: if it panics
// that goes on.
func (o *observation) end(err error, last bool) {
	now := time.Now()
	if o.running {
		o.now.Took = now.Sub(o.now.Began)
	} else { // it has given up while it waited
		o.now.Began, o.now.Waited, o.now.Took = now, now.Sub(o.since), 0
	}
	o.now.Err, o.now.Last = err, last
	o.since, o.running, o.finished = now, false, last
	o.tell(o.now)
}
