package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mvccmap/mvccmap/internal/replicate"
)

// A combiner commits transactions that have read nothing, see [replicate.Work.Blind]: those that come
// while a request is on its way go together with the next one, as if one came after the other. So
// many increments of a counter are one put.
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
	// panicked is what a function given to Merge has panicked with, or nil.
	panicked any
}

func (j *job) end(o outcome, err error) {
	j.o, j.err = o, err
	close(j.done)
}

// mostJobs is how many transactions go together.
const mostJobs = 64

// commit commits a transaction, and waits for the outcome.
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

// leave takes a job off the queue, if it is still there.
func (c *combiner) leave(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, j)
	if i >= 0 {
		c.queue = slices.Delete(slices.Clone(c.queue), i, i+1)
	}
	return i >= 0
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
	for attempt := range db.cfg.MaxAttempts {
		// Those whose contexts have ended have nothing under way.
		var rest []*job
		for _, j := range jobs {
			if err := db.goOn(j.ctx); err != nil {
				j.end(outcome{}, err)
			} else {
				rest = append(rest, j)
			}
		}
		if jobs = rest; len(jobs) == 0 {
			return
		}
		o, w, err := c.once(db, jobs)
		var tooLarge *TooLargeError
		switch {
		case err != nil && len(jobs) > 1 && !unresolved(err):
			half := len(jobs) / 2
			if !errors.As(err, &tooLarge) {
				half = 1 // it may be the fault of one of them
			}
			c.together(db, jobs[:half])
			c.together(db, jobs[half:])
			return
		case err != nil || o.committed:
			for _, j := range jobs {
				j.end(o, err)
			}
			// What comes next reads what this has written.
			_ = db.applied.wait(db.ctx, o.rev)
			return
		}
		if err := db.pause(db.ctx, attempt, o); err != nil {
			for _, j := range jobs {
				j.end(outcome{}, err)
			}
			return
		}
		if attempt == db.cfg.MaxAttempts-1 {
			for _, j := range jobs {
				j.end(outcome{}, db.conflict(w, o.rev))
			}
		}
	}
}

// once is one attempt.
func (c *combiner) once(db *DB, jobs []*job) (outcome, *replicate.Work, error) {
	works := make([]*replicate.Work, len(jobs))
	for i, j := range jobs {
		works[i] = j.work
	}
	w, err := renewed(db, works)
	var panicked *mergePanic
	if errors.As(err, &panicked) && len(jobs) == 1 {
		jobs[0].panicked = panicked.value
	}
	if err != nil {
		return outcome{}, nil, err
	}
	db.figures.batches.Add(1)
	ctx := db.ctx
	if len(jobs) == 1 {
		ctx = jobs[0].ctx
	}
	o, err := db.commitOne(ctx, w)
	return o, w, err
}

// A mergePanic says that a function given to Merge has panicked, or called runtime.Goexit.
type mergePanic struct{ value any }

func (p *mergePanic) Error() string {
	return fmt.Sprint("etcd: a function given to Merge panicked: ", p.value)
}

// renewed renews works, in a goroutine that a function given to Merge may end.
func renewed(db *DB, works []*replicate.Work) (w *replicate.Work, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = &mergePanic{"it has called runtime.Goexit"}
		defer func() {
			if p := recover(); p != nil {
				err = &mergePanic{p}
			}
		}()
		w, err = db.hooks.Renew(works)
	}()
	<-done
	return w, err
}
