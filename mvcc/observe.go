package mvcc

import (
	"context"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/seam"
)

// An Attempt is one attempt of an Update, for [Options.Observe].
type Attempt struct {
	// Context is the Update's: a span of a trace may be in it.
	Context context.Context
	Name    string // TxOptions.Name
	Number  int    // of the attempt, from 1
	Last    bool   // Update returns now: there is no further attempt
	// Err is a [*ConflictError], the error of the Update, or nil after a commit.
	Err error
	// Panicked: the function has panicked, or called runtime.Goexit, and Err is nil.
	Panicked bool
	// Epoch is the commit epoch, or 0; the read epoch if nothing was written.
	Epoch uint64
	// Began is when the function was called. Took is the time of the function and the commit.
	// Waited is how long Update had waited before.
	Began        time.Time
	Took, Waited time.Duration
}

// An observation is an Update that is observed.
type observation struct {
	tell     func(Attempt) // Options.Observe, or nil
	look     func(any)     // of a looker, or nil
	now      Attempt
	since    time.Time // when the attempt before ended, or Update was called
	running  bool
	finished bool
}

// observed is update that tells Options.Observe, and look unless that is nil, of each attempt.
func (m *core) observed(
	ctx context.Context, opts *TxOptions, fn func(tx DBTx) error, look *seam.Looker,
) (err error) {
	var own TxOptions
	if opts != nil {
		own = *opts
	}
	o := &observation{tell: m.shared.observe, since: time.Now()}
	if look != nil {
		o.look = look.Lost(m.lookID())
	}
	o.now.Context, o.now.Name = ctx, own.Name
	own.seen = o
	defer o.panicked()
	err = m.update(ctx, &own, func(tx DBTx) error {
		o.begin(tx)
		return fn(tx)
	})
	o.end(err, true)
	return err
}

// around is update, between the two calls of Options.Around. If Around itself had to call Update,
// Around would keep fn: then each Update would allocate its fn, even without an Around.
func (m *core) around(ctx context.Context, opts *TxOptions, fn func(tx DBTx) error) error {
	var own TxOptions
	if opts != nil {
		own = *opts
	}
	own.inside = true
	inside, after := m.shared.around(ctx, own.Name, m.counters.name)
	if after != nil {
		defer after()
	}
	checkContext("Options.Around: inside", inside)
	return m.update(inside, &own, fn)
}

// panicked ends the observation if the function has panicked, or if the goroutine ends.
func (o *observation) panicked() {
	if !o.finished {
		o.now.Panicked = true
		o.end(nil, true)
	}
}

// begin notes that an attempt begins. A rehearsal, see strict, is part of the attempt after it.
func (o *observation) begin(tx DBTx) {
	tx.OnCommit(func(epoch uint64) { o.now.Epoch = epoch })
	if o.running {
		return
	}
	now := time.Now()
	o.running = true
	o.now.Number++
	o.now.Began, o.now.Waited = now, now.Sub(o.since)
}

// end tells that an attempt, or with last the Update, has ended. A panic of tell goes on.
func (o *observation) end(err error, last bool) {
	now := time.Now()
	if o.running {
		o.now.Took = now.Sub(o.now.Began)
	} else { // it has given up while it waited
		o.now.Began, o.now.Waited, o.now.Took = now, now.Sub(o.since), 0
	}
	o.now.Err, o.now.Last = err, last
	o.since, o.running, o.finished = now, false, last
	if o.look != nil {
		o.look(&o.now)
	}
	if o.tell != nil {
		o.tell(o.now)
	}
}

// setApart reports whether the options set Updates apart.
func (m *core) setApart() bool {
	return m.strict || m.shared.observe != nil || m.shared.around != nil
}

// noteLoss is called when an attempt was lost. If somebody looks (see [seam.Look]), all Updates of
// the database or map are set apart from now on. So a look costs an Update nothing until there is
// something to see: each Update loads apart in any case.
func (m *core) noteLoss() {
	if seam.Look.Load() == nil || m.apart.Load() {
		return
	}
	m.shared.each(func(other *member) bool {
		if c := other.of.Value(); c != nil {
			c.apart.Store(true)
		}
		return false
	})
}

// looker returns the looker to tell of an Update, or nil. Once nobody looks, later Updates are not
// set apart. If this undoes the noteLoss of a new look, the next loss sets them apart again.
func (m *core) looker() *seam.Looker {
	look := seam.Look.Load()
	if look == nil {
		m.apart.Store(m.setApart())
	}
	return look
}

// lookID names the map or database for a looker.
func (m *core) lookID() uintptr { return uintptr(unsafe.Pointer(m.shared)) }

// retryBefore is retry that a looker sees: the first attempt, which began at began, was lost.
func (m *core) retryBefore(
	look *seam.Looker, began time.Time, name string, level Level, attempts int, b *bid, c *conflict,
	fn func(tx DBTx) error,
) (err error) {
	o := &observation{look: look.Lost(m.lookID()), running: true}
	o.now = Attempt{Context: b.ctx, Name: name, Number: 1, Began: began}
	b.seen = o
	defer o.panicked()
	err = m.retry(level, attempts, b, c, func(tx DBTx) error {
		o.begin(tx)
		return fn(tx)
	})
	o.end(err, true)
	return err
}

// lostByHand tells the looker, if any, of err, the conflict of a commit by hand, and returns err.
func (m *core) lostByHand(err error) error {
	m.noteLoss()
	if look := m.looker(); look != nil {
		look.Lost(m.lookID())(&Attempt{Number: 1, Last: true, Err: err})
	}
	return err
}
