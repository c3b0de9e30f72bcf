package etcd

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/mvccmap/mvccmap/internal/replicate"
)

// A combiner commits transactions that have read nothing, see [replicate.Work.Blind]: those that
// come while a request is on its way go together with the next one, as if one came after the other.
// So many increments of a counter are one put.
type combiner struct {
	mu    sync.Mutex
	queue []*job
	busy  bool
}

// A job is a transaction that is to be committed.
type job struct {
	ctx  context.Context
	work *replicate.Work
	done chan struct{}
	o    outcome
	err  error
	// panicked is what a function of the user has panicked with, or nil.
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
// does.
func (c *combiner) commit(ctx context.Context, db *DB, w *replicate.Work) (outcome, error) {
	j := &job{ctx: ctx, work: w, done: make(chan struct{})}
	c.mu.Lock()
	c.queue = append(c.queue, j)
	mine := !c.busy
	c.busy = true
	c.mu.Unlock()
	if mine {
		go c.run(db)
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		if c.leave(j) {
			return outcome{}, ended(ctx)
		}
		<-j.done // it has to be found out
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.o, j.err
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
		c.queue = slices.Delete(slices.Clone(c.queue), i, i+1)
	}
	return true
}

// hold returns those of some jobs that go on. They do not leave before they are let go.
func (c *combiner) hold(db *DB, jobs []*job) (held []*job) {
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

// run commits what is queued, until nothing is.
func (c *combiner) run(db *DB) {
	for {
		c.mu.Lock()
		n := min(len(c.queue), mostJobs)
		jobs := c.queue[:n:n]
		c.queue = c.queue[n:]
		c.busy = n > 0
		c.mu.Unlock()
		if n == 0 {
			return
		}
		c.together(db, jobs)
	}
}

// together commits some transactions, in one request if that is possible.
func (c *combiner) together(db *DB, jobs []*job) {
	var lost losses
	for attempt := 0; ; {
		if jobs = c.hold(db, jobs); len(jobs) == 0 {
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
		case err != nil && len(jobs) > 1 && !unresolved(err):
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
			// What comes next reads what this has written.
			_ = db.come(db.ctx, o.rev)
			return
		}
		lost.add(o)
		if attempt++; attempt == db.cfg.MaxAttempts {
			err := db.giveUp(w, lost, db.cfg.MaxAttempts)
			for _, j := range jobs {
				j.end(outcome{}, err)
			}
			return
		}
		c.letGo(jobs)
		if db.overtaken(db.ctx, o) == nil {
			_ = db.pause(db.ctx, attempt-1) // hold notices that the replica has ended
		}
	}
}

// errLeft says that a job has left, so that what was made of the jobs is not to be sent.
var errLeft = errors.New("etcd: a transaction was taken back")

// once is one attempt. It returns those of the jobs that it was for, which are held.
func (c *combiner) once(db *DB, jobs []*job) ([]*job, outcome, *replicate.Work, error) {
	works := make([]*replicate.Work, len(jobs))
	for i, j := range jobs {
		works[i] = j.work
	}
	var w *replicate.Work
	var r *request
	err := apart(func() (err error) { // functions given to Merge, and those that encode
		if w, err = db.hooks.Renew(works); err == nil {
			r, err = db.request(w)
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
	held := c.hold(db, jobs)
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
