// Package nemesis checks module etcd while members, clients and the networks between them fail. A
// round starts a cluster of three members and three clients, each a process of its own, makes
// faults of one kind again and again while the clients work, and then judges their reports:
//
//   - the history of transactions over lists must be strictly serializable, see package history;
//     those that may have been committed are in it, if anybody has seen their appends;
//   - each view of each client must be whole, and no older than the one before it, whatever fails;
//   - who looks for bookings by index keys must find all of them, or that there are none: no hall
//     has too many, no seat is given twice, and no more are heavy than may be, in each view;
//   - leases, which are renewed when they are about to expire, go when their time has come and not before,
//     and OnExpire has counted each of them once, in each view; at the end none stays;
//   - a process reads its own commits, and no request that comes late changes them;
//   - at the end all replicas must have the records of one that is opened then.
package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/internal/proof/history"
)

// A RoundConfig configures a round.
type RoundConfig struct {
	Fault    string
	Seed     uint64 // of random choices; the same seed is not the same schedule
	Duration time.Duration
	Server   string // see [etcdtest.Options]
}

// String names the round.
func (c RoundConfig) String() string { return fmt.Sprintf("%s, seed %d", c.Fault, c.Seed) }

// An Outcome is the result of a round.
type Outcome struct {
	RoundConfig
	Transactions int // of the history, which were checked
	Commits      int // of all kinds
	// Wrong has the violations, in one line each, and Detail explains those in the history.
	Wrong   []string
	Detail  string
	History *history.History
	// Unclear requests were not answered, and Unknown is how many of them stayed so. Resyncs is how
	// often a client has loaded everything anew.
	Unclear, Unknown, Resyncs uint64
	// Gap is the longest time without a commit of any client, and LongestView that of a view.
	Gap, LongestView time.Duration
}

// String returns the figures in the form of Go benchmarks.
func (o Outcome) String() string {
	return fmt.Sprintf("BenchmarkVerify/fault=%s/seed=%d 1 %d transactions %d commits %d violations %d unclear "+
		"%d unknown %d resyncs %d gap-ns %d longest-view-ns", o.Fault, o.Seed, o.Transactions, o.Commits,
		len(o.Wrong), o.Unclear, o.Unknown, o.Resyncs, o.Gap, o.LongestView)
}

// A Config configures [Run].
type Config struct {
	Faults   []string // all if there are none
	Seed     uint64   // of the first round; those after it count on
	Duration time.Duration
	Round    time.Duration // how long faults are made in one round
	Server   string        // see [etcdtest.Options]
}

// Run plays rounds of all faults in turn, in random order, until the time is over, and each at least
// once; or ctx ends, whose error it returns; or something is violated. It calls done with each round.
func Run(ctx context.Context, cfg Config, done func(Outcome)) error {
	names := cfg.Faults
	if len(names) == 0 {
		names = FaultNames()
	}
	order := slices.Clone(names)
	r := rand.New(rand.NewPCG(cfg.Seed, 3))
	until := time.Now().Add(cfg.Duration)
	for n := 0; n < len(names) || time.Now().Before(until); n++ {
		if n%len(names) == 0 {
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		c := RoundConfig{Fault: order[n%len(names)], Seed: cfg.Seed + uint64(n), Duration: cfg.Round,
			Server: cfg.Server}
		o, err := play(ctx, c, "")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("nemesis: %v: %w", c, err)
		}
		if done(o); len(o.Wrong) > 0 {
			return &Violation{o}
		}
	}
	return nil
}

// A Violation is the error of a run in which something happened that must not.
type Violation struct{ Outcome }

func (v *Violation) Error() string { return fmt.Sprintf("%v: %s", v.RoundConfig, v.Wrong[0]) }
