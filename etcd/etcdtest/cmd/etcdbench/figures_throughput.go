package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

const many = 64 // goroutines

// throughput measures how much goroutines do in some time.
type throughput struct {
	took  time.Duration
	calls atomic.Int64
}

func (t *throughput) measure(n int, do func(goroutine int) error) func(d time.Duration) error {
	return func(d time.Duration) error {
		began := time.Now()
		until := began.Add(d)
		failed := make(chan error, n)
		var all sync.WaitGroup
		for g := range n {
			all.Go(func() {
				for time.Now().Before(until) {
					if err := do(g); err != nil {
						failed <- err
						return
					}
					t.calls.Add(1)
				}
			})
		}
		all.Wait()
		t.took += time.Since(began)
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
}

func (t *throughput) perSecond() float64 { return float64(t.calls.Load()) / t.took.Seconds() }

// increment reads and writes the key of a goroutine, and returns the revision.
func (f *figures) increment(r *replica[uint64], g int) (rev uint64, err error) {
	err = r.db.Update(f.ctx, func(tx mvcc.DBTx) error {
		v, _ := r.table.In(tx).Get(name(g))
		r.table.In(tx).Set(name(g), v+1)
		tx.OnCommit(func(at uint64) { rev = at })
		return nil
	})
	return rev, err
}

// writers measures goroutines of one process.
func (f *figures) writers(r *replica[uint64]) error {
	revs := make([]int64, many)
	var own, raw, blind, puts throughput
	if err := f.inTurns(
		own.measure(many, func(g int) error {
			_, err := f.increment(r, g)
			return err
		}),
		raw.measure(many, func(g int) error { return f.again(f.key(name(g)), &revs[g]) }),
		blind.measure(many, func(g int) error {
			return r.db.Update(f.ctx, func(tx mvcc.DBTx) error {
				r.table.In(tx).Set(name(g), 1)
				return nil
			})
		}),
		puts.measure(many, func(g int) error {
			_, err := f.at.client.Put(f.ctx, f.key("put/"+name(g)), "12345678")
			return err
		})); err != nil {
		return err
	}
	f.saturated = own.perSecond()
	f.add(row{name: "64 writers that read", is: own.perSecond(), beside: "Txns", besideIs: raw.perSecond(),
		write: perSecond, least: 0.7})
	f.add(row{name: "64 writers that do not", is: blind.perSecond(), beside: "Puts", besideIs: puts.perSecond(),
		write: perSecond, least: 3})
	return nil
}

// counter measures three processes.
func (f *figures) counter() error {
	var rates [2]float64
	for range 2 {
		for i, kind := range []string{jobMerge, jobSTM} {
			end, err := f.others(3, job{Kind: kind, Goroutines: 16})
			if err != nil {
				return err
			}
			time.Sleep(f.Duration / 2)
			n, err := end()
			if err != nil {
				return err
			}
			rates[i] += n / 2
		}
	}
	f.add(row{name: "one counter, 3 x 16 goroutines", is: rates[0], beside: "STM", besideIs: rates[1],
		write: perSecond, least: 20})
	return nil
}

// sync measures goroutines of one process.
func (f *figures) sync(r *replica[uint64]) error {
	get := func(int) error {
		_, err := f.at.client.Get(f.ctx, f.key("update"))
		return err
	}
	var own, one, all throughput
	if err := f.inTurns(own.measure(many, func(int) error {
		_, err := r.db.Sync(f.ctx)
		return err
	}), one.measure(1, get), all.measure(many, get)); err != nil {
		return err
	}
	f.add(row{name: "Sync, 64 goroutines", is: own.perSecond(), beside: "Gets, one by one",
		besideIs: one.perSecond(), write: perSecond, least: 10})
	f.add(row{name: "Sync, 64 goroutines", is: own.perSecond(), beside: "Gets, 64 goroutines",
		besideIs: all.perSecond(), write: perSecond})
	return nil
}

// lag measures how long after a commit another replica has it.
func (f *figures) lag(r *replica[uint64]) error {
	if f.saturated == 0 {
		if err := f.writers(r); err != nil {
			return err
		}
	}
	other, err := f.numbers()
	if err != nil {
		return err
	}
	defer stop(other.db)
	pace := time.Duration(many / (0.7 * f.saturated) * float64(time.Second))
	var mu sync.Mutex
	var all latencies
	var did throughput
	if err := did.measure(many, func(g int) error {
		began := time.Now()
		rev, err := f.increment(r, g)
		if err != nil {
			return err
		}
		committed := time.Now()
		if err := other.db.WaitFor(f.ctx, rev); err != nil {
			return err
		}
		mu.Lock()
		all = append(all, time.Since(committed))
		mu.Unlock()
		time.Sleep(pace - time.Since(began))
		return nil
	})(f.Duration); err != nil {
		return err
	}
	f.add(row{name: "commits meanwhile", is: did.perSecond(), beside: "what they can do",
		besideIs: f.saturated, write: perSecond})
	f.add(row{name: "lag of another replica, p99", is: all.at(99), write: duration,
		most: float64(10 * time.Millisecond), goalOfItself: true})
	return nil
}

// apply measures how fast a replica catches up.
func (f *figures) apply(r *replica[uint64]) error {
	records := min(200_000, f.Records)
	const me = -1
	endpoints, err := f.net.Endpoints(f.at.cluster.own, me)
	if err != nil {
		return err
	}
	at := *f.at
	at.endpoints = endpoints
	behind, err := openReplica[uint64](&at, false, 0)
	if err != nil {
		return err
	}
	defer stop(behind.db)
	for i := range 3 {
		f.net.Part(me, i)
	}
	f.net.Break(me)
	if err := put(r, records, name, 1); err != nil {
		return err
	}
	last, err := r.db.Sync(f.ctx)
	if err != nil {
		return err
	}
	f.net.Break(me)
	f.net.Heal()
	began, before := time.Now(), behind.db.Stats().Applied
	for behind.db.Stats().Applied == before { // it is not connected yet
		if time.Since(began) > patience {
			return fmt.Errorf("the replica does not go on: %+v", behind.db.Stats())
		}
		time.Sleep(100 * time.Microsecond)
	}
	began, before = time.Now(), behind.db.Stats().Applied
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	if err := behind.db.WaitFor(ctx, last); err != nil {
		return err
	}
	n := behind.db.Stats().Applied - before
	f.add(row{name: "records applied, of 8 bytes", is: float64(n) / time.Since(began).Seconds(),
		write: perSecond, least: 100_000, goalOfItself: true})
	return nil
}

// leader measures the time without commits after the leader's death, and what views take meanwhile.
func (f *figures) leader(r *replica[uint64]) error {
	ctx, cancel := context.WithCancel(f.ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	var mu sync.Mutex
	var last time.Time
	var gap, longest time.Duration
	for g := range 8 {
		work.Go(func() {
			for ctx.Err() == nil {
				if _, err := f.increment(r, g); err == nil {
					mu.Lock()
					if now := time.Now(); !last.IsZero() {
						gap, last = max(gap, now.Sub(last)), now
					} else {
						last = now
					}
					mu.Unlock()
				}
			}
		})
	}
	work.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			_ = r.db.View(func(s mvcc.DBSnapshot) error { r.table.At(s).Get(name(0)); return nil })
			longest = max(longest, time.Since(began))
			time.Sleep(100 * time.Microsecond)
		}
	})
	for range 3 {
		if err := f.killLeader(r); err != nil {
			return err
		}
	}
	cancel()
	work.Wait()
	f.add(row{name: "without commits, leader killed 3 times", is: float64(gap), write: duration,
		most: float64(3 * time.Second), goalOfItself: true})
	f.add(row{name: "longest view meanwhile", is: float64(longest), write: duration,
		most: float64(time.Second), goalOfItself: true})
	return nil
}

func (f *figures) killLeader(r *replica[uint64]) error {
	c := f.at.cluster.own
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	i, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	if err := c.Kill(i); err != nil {
		return err
	}
	for until := r.db.Stats().Commits + 100; r.db.Stats().Commits < until; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			return fmt.Errorf("nothing is committed any more: %w", ctx.Err())
		}
	}
	if err := c.Run(i); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	time.Sleep(time.Second) // it catches up
	return nil
}

// start measures how long it takes to open a replica.
func (f *figures) start() error {
	at, err := f.at.cluster.place()
	if err != nil {
		return err
	}
	r, err := openReplica[[]byte](at, false, 0)
	if err != nil {
		return err
	}
	defer at.clear()
	err = put(r, f.Records, name, []byte(strings.Repeat("x", 100)))
	stop(r.db)
	if err != nil {
		return err
	}
	began := time.Now()
	cold, err := openReplica[[]byte](at, false, 0)
	if err != nil {
		return err
	}
	took := time.Since(began)
	defer stop(cold.db)
	if n := cold.table.Len(); n != f.Records {
		return fmt.Errorf("%d records are there, want %d", n, f.Records)
	}
	f.add(row{name: fmt.Sprintf("Open with %d records of 100 bytes", f.Records), is: float64(took),
		write: duration, most: float64(15 * time.Second), goalOfItself: true})
	return nil
}
