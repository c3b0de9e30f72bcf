package etcd

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// A combiner commits transactions that have read nothing, see [replicate.Work.Blind], or merge:
// those that come while a request is on its way go together with the next one, as if one came after
// the other. So many increments of a counter are one put, and none is in the way of another one.
//
//   - B1: a request compares all that its transactions have read, and the values that their merges
//     go on from, as of when it is applied. None of them has read a key that an earlier one in the
//     request writes. So, one after the other, they read and merge the values that it has found.
//   - B2: a second merge of a key goes on from the value that the first one has made.
//   - B3: requests that are under way together write different keys, and nothing that a transaction
//     of another one has read. So transactions of a process over the same key are committed in the
//     order in which they have come, and each knows the values that the one before has written: it
//     is sent once these are applied here. One that has to wait keeps those that come later from
//     its keys. This is for speed: a request that is out of date is refused, by B1.
//   - B4: after a conflict the functions of those transactions run again that have read a key
//     written since. The others are renewed: the values that their merges go on from are compared
//     anew, and their reads as of when they were made.
type combiner struct {
	mu    sync.Mutex
	queue []*job
	busy  bool
	away  map[string]bool // the keys that requests under way write
	sent  int             // how many requests are under way
	moved chan struct{}   // has an element once none is
	took  atomic.Int64    // how long the last one was under way, with its turn
}

// A job is a transaction that is to be committed.
type job struct {
	ctx  context.Context
	work *replicate.Work
	foot footprint
	most int // how many attempts may be made
	done chan struct{}
	o    outcome
	err  error
	// panicked is the value with which a function of the user has panicked, or nil.
	panicked any

	// held says that its functions run, or that a request with it is on its way, or was answered:
	// so it cannot leave. left says that its owner waits for nothing any more. The combiner's mu
	// guards both.
	held, left bool
}

func (j *job) end(o outcome, err error) {
	j.o, j.err = o, err
	close(j.done)
}

// mostJobs is how many transactions go together.
const mostJobs = 64

// commit commits a transaction, and waits for the outcome. It panics if a function of the user
// does. One that has read has a place in the line.
func (c *combiner) commit(
	ctx context.Context, db *DB, w *replicate.Work, foot footprint, most int,
) (outcome, error) {
	j := &job{ctx: ctx, work: w, foot: foot, most: most, done: make(chan struct{})}
	c.mu.Lock()
	if c.away == nil {
		c.away, c.moved = map[string]bool{}, make(chan struct{}, 1)
	}
	c.queue = append(c.queue, j)
	mine := !c.busy
	c.busy = true
	c.mu.Unlock()
	if mine {
		go c.run(db)
	}
	if err := c.wait(ctx, db, j); err != nil {
		return outcome{}, err
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.o, j.err
}

// wait waits until a job has ended, or returns why it has left before.
func (c *combiner) wait(ctx context.Context, db *DB, j *job) error {
	for {
		select {
		case <-j.done:
			return nil
		case <-time.After(db.bound()):
			if err := db.cutOff(); err != nil && c.leave(j) {
				return err
			}
		case <-ctx.Done():
			if c.leave(j) {
				return ended(ctx)
			}
			<-j.done // it has to be found out
			return nil
		}
	}
}

// leave reports whether a job is taken back, since nothing of it is under way.
func (c *combiner) leave(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.held {
		return false
	}
	j.left = true
	if i := slices.Index(c.queue, j); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
	return true
}

// hold returns those of some jobs that go on. They do not leave before they are let go. Others end:
// those that cannot go on, and those that have to run again, after last, an attempt that has come
// to nothing, or because a record that they have read was written.
func (c *combiner) hold(db *DB, jobs []*job, last *outcome) (held []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		if j.left {
			continue
		}
		if err := db.goOn(j.ctx); err != nil {
			j.left = true
			j.end(outcome{}, err)
			continue
		}
		if !j.work.Blind { // B4
			var o *outcome
			if last != nil && j.foot.again {
				o = last
			} else if db.stale(j.work) {
				o = &outcome{conflict: true, rev: db.applied.now()}
			}
			if o != nil {
				j.left = true
				j.end(*o, nil)
				continue
			}
		}
		j.held = true
		held = append(held, j)
	}
	return held
}

// letGo says that nothing of some jobs is under way: those whose contexts have ended leave.
func (c *combiner) letGo(jobs []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		if j.held = false; j.ctx.Err() != nil {
			j.left = true
			j.end(outcome{}, ended(j.ctx))
		}
	}
}

// run commits the jobs of the queue, until it is empty. Jobs that come while requests are under way
// wait until none is, or for half as long as the last one has taken: of more requests each has
// fewer transactions, and costs the servers as much. So those of a request that has ended, which
// come again one by one, do not each go by themselves.
func (c *combiner) run(db *DB) {
	for {
		c.mu.Lock()
		sent := c.sent
		c.mu.Unlock()
		if sent > 0 {
			select {
			case <-c.moved:
			case <-time.After(max(minPause/5, min(time.Duration(c.took.Load())/2, maxPause/5))):
			}
		}
		jobs, more := c.take(db.cfg.MaxTxnOps)
		if !more {
			return
		}
		if len(jobs) > 0 {
			go c.send(db, jobs)
		}
	}
}

// take returns jobs that go together, and not before those that are under way: B1, B3. It returns
// false if nothing is queued.
func (c *combiner) take(most int) (jobs []*job, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.busy = false
		return nil, false
	}
	kept, written, size := map[string]bool{}, map[string]bool{}, 0
	goes := func(j *job) bool {
		all := slices.Concat(j.foot.reads, j.foot.written())
		if len(jobs) == mostJobs ||
			len(jobs) > 0 && (len(j.foot.wide) > 0 || size+len(all) > most-most/8) ||
			slices.ContainsFunc(all, func(name string) bool { return c.away[name] || kept[name] }) {
			return false
		}
		return !slices.ContainsFunc(j.foot.reads, func(name string) bool { return written[name] })
	}
	c.queue = slices.DeleteFunc(c.queue, func(j *job) bool {
		if !goes(j) {
			for _, name := range slices.Concat(j.foot.reads, j.foot.written()) {
				kept[name] = true
			}
			return false
		}
		size += len(j.foot.reads)
		for _, name := range j.foot.written() {
			if !written[name] {
				size++
			}
			written[name] = true
		}
		jobs = append(jobs, j)
		return true
	})
	for name := range written {
		c.away[name] = true
	}
	if c.sent += min(len(jobs), 1); len(c.moved) > 0 {
		<-c.moved // it was of before
	}
	return jobs, true
}

// send commits jobs, from one place in the line.
func (c *combiner) send(db *DB, jobs []*job) {
	began := time.Now()
	var tables, written []string
	for _, j := range jobs {
		tables, written = append(tables, j.foot.tables...), append(written, j.foot.written()...)
	}
	at, before := db.line.enter(append(tables, written...), written, true)
	db.behind(db.ctx, before)
	c.together(db, jobs)
	db.line.leave(at)
	c.took.Store(int64(time.Since(began)))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range written {
		delete(c.away, name)
	}
	if c.sent--; c.sent == 0 && len(c.moved) == 0 {
		c.moved <- struct{}{}
	}
}

// together commits some transactions, in one request if that is possible.
func (c *combiner) together(db *DB, jobs []*job) {
	var lost losses
	var last *outcome
	for attempt := 0; ; {
		if jobs = c.hold(db, jobs, last); len(jobs) == 0 {
			return
		}
		var o outcome
		var w *replicate.Work
		var err error
		jobs, o, w, err = c.once(db, jobs)
		var tooLarge *TooLargeError
		switch {
		case errors.Is(err, errLeft):
			continue
		case err != nil && len(jobs) > 1 && !unresolved(err) && !errors.Is(err, ErrUnanswered):
			half := len(jobs) / 2
			if !errors.As(err, &tooLarge) {
				half = 1 // it may be the fault of one of them
			}
			c.letGo(jobs)
			c.together(db, jobs[:half])
			c.together(db, jobs[half:])
			return
		case err != nil || o.committed:
			for _, j := range jobs {
				j.end(o, err)
			}
			// The jobs that come next read the values that these have written.
			_ = db.come(db.ctx, o.rev)
			return
		}
		lost.add(o)
		last = &o
		attempt++
		jobs = slices.DeleteFunc(jobs, func(j *job) bool {
			last := attempt >= j.most
			if last {
				j.end(outcome{}, db.giveUp(w, lost, attempt))
			}
			return last
		})
		c.letGo(jobs)
		if db.overtaken(db.ctx, o) == nil {
			_ = db.pause(db.ctx, attempt-1) // hold notices that the replica has ended
		}
	}
}

// errLeft says that a job has left, so that the request made of the jobs is not to be sent.
var errLeft = errors.New("etcd: a transaction was taken back")

// once is one attempt. It returns those of the jobs that it was for, which are held.
func (c *combiner) once(db *DB, jobs []*job) ([]*job, outcome, *replicate.Work, error) {
	works, readers := make([]*replicate.Work, len(jobs)), []*replicate.Work(nil)
	for i, j := range jobs {
		if works[i] = j.work; !j.work.Blind {
			readers = append(readers, j.work)
		}
	}
	var w *replicate.Work
	var r *request
	err := apart(func() (err error) { // functions given to Merge, and those that encode
		if w, err = db.hooks.Renew(works); err == nil {
			r, err = db.request(w, readers...)
		}
		return err
	})
	var panicked *userPanic
	if errors.As(err, &panicked) && len(jobs) == 1 {
		jobs[0].panicked = panicked.value
	}
	if err != nil {
		return jobs, outcome{}, nil, err
	}
	// A slot may be had only after etcd is back. Meanwhile the jobs can leave.
	c.letGo(jobs)
	s, err := db.slots.take(db.ctx)
	held := c.hold(db, jobs, nil)
	if err != nil {
		return held, outcome{}, w, err
	}
	defer func() { db.slots.give(s) }()
	if len(held) < len(jobs) {
		return held, outcome{}, w, errLeft
	}
	db.figures.batches.Add(1)
	ctx := db.ctx
	if len(jobs) == 1 {
		ctx = jobs[0].ctx
	}
	o, err := db.commit(ctx, &s, r)
	return held, o, w, err
}

// A userPanic says that a function of the user has panicked, or called runtime.Goexit.
type userPanic struct {
	value any
	stack []byte
}

func (p *userPanic) Error() string {
	return fmt.Sprintf("etcd: a function of the program panicked: %v\n%s", p.value, p.stack)
}

// apart calls fn in a goroutine that a function of the user may end.
func apart(fn func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = &userPanic{value: "it has called runtime.Goexit"}
		defer func() {
			if p := recover(); p != nil {
				err = &userPanic{p, debug.Stack()}
			}
		}()
		err = fn()
	}()
	<-done
	return err
}
