package soak

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/internal/proof/history"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Config is that of [Run]. A zero field means the default, but a zero Snapshot means none. The
// limits of a Config from a user must be checked before.
type Config struct {
	Duration time.Duration // how long; default: until ctx ends
	Rounds   int           // how many rounds at most; default: no limit
	Seed     uint64        // of the first round; later ones count on from there
	Repeat   bool          // every round has the parameters of the first

	Kinds    []Kind // default: all
	Workers  int    // goroutines; default: drawn
	Keys     int    // default: drawn
	Snapshot int    // percentage of transactions at snapshot level; negative: drawn

	// Dir is where violations are saved, each in a folder of its own, which is
	// created then. Empty: they are not saved.
	Dir string

	// Patience is how long a round may go without progress before it counts as
	// hung. Default: 5 minutes.
	Patience time.Duration

	// Start is told of each round before it begins, and Done afterwards. They
	// are called by the goroutine that called Run.
	Start func(r Round, so Totals)
	Done  func(r Round, o Outcome)

	// Target is the map under test.
	Target Target
}

// Limits of a [Config].
const (
	MaxWorkers = 1000
	MaxKeys    = 100_000
)

// Run does rounds, at least one, until the duration is over, a violation is found, or ctx ends.
// The work of a round by then is checked too. Rounds change GOMAXPROCS, which is of the whole
// process; it is put back at the end. Run returns the results so far together with any error:
// ctx's, or that of a check that could not be made. A violation is no error; it is in the
// report.
func Run(ctx context.Context, c Config) (*Report, error) {
	start := time.Now()
	report := new(Report)
	if len(c.Kinds) == 0 {
		c.Kinds = Kinds()
	}
	for _, k := range c.Kinds {
		report.Kinds = append(report.Kinds, KindTotals{Kind: k})
	}
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)

	limit := ctx
	if c.Duration > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	target := c.Target.orDefault()
	patience := cmp.Or(c.Patience, 5*time.Minute)
	all := rounds{c: &c, seed: c.Seed}
	for ctx.Err() == nil {
		if report.Rounds > 0 && (limit.Err() != nil || report.Rounds == c.Rounds) {
			break
		}
		r := all.next()
		if c.Start != nil {
			c.Start(r, report.Totals())
		}
		o := target.watched(limit, r, patience)
		report.Elapsed = time.Since(start)
		if o.Violation != nil {
			o.Violation.Round = r
			if c.Dir != "" {
				o.Violation.save(c.Dir)
			}
		}
		report.add(r, o)
		if c.Done != nil {
			c.Done(r, o)
		}
		if o.Violation != nil {
			break
		}
	}
	return report, ctx.Err()
}

// watched does a round, and gives it up if it makes no progress.
func (t Target) watched(ctx context.Context, r Round, patience time.Duration) Outcome {
	runtime.GOMAXPROCS(r.Procs)
	start := time.Now()
	defer disturb(r)()
	done := make(chan Outcome, 1)
	go func() { done <- t.do(ctx, r) }()
	watchdog := time.NewTimer(patience)
	defer watchdog.Stop()
	var o Outcome
	select {
	case o = <-done:
	case <-watchdog.C:
		stacks := make([]byte, 1<<22)
		stacks = stacks[:runtime.Stack(stacks, true)]
		o.Violation = &Violation{
			Summary: fmt.Sprintf("the round did not end within %v: somebody waits for ever", patience),
			Detail:  string(stacks),
		}
	}
	o.Time = time.Since(start)
	return o
}

// A Target is the map under test. A field that is nil means the map of package mvcc; tests put
// something faulty there.
type Target struct {
	// Record records the work of goroutines on a new map.
	Record func(ctx context.Context, c history.Config) (*history.History, error)
	// Hold is called with each map of the reclaim check before its end.
	Hold func(m *mvcc.Map[*Thing, *Thing])
	// Copied is called with each copy, and the name of its maker, before it is compared.
	Copied func(by string, accounts map[int]int64)
	// Stats returns the statistics of a map of the growth check.
	Stats func(m *mvcc.Map[int, int64]) mvcc.Stats
}

func (t Target) orDefault() Target {
	if t.Record == nil {
		t.Record = history.Record
	}
	if t.Hold == nil {
		t.Hold = func(*mvcc.Map[*Thing, *Thing]) {}
	}
	if t.Stats == nil {
		t.Stats = (*mvcc.Map[int, int64]).Stats
	}
	return t
}

// Totals count the checks.
type Totals struct {
	Rounds       int
	Transactions int // that committed, one-key operations outside of any included
	Operations   int // reads and writes in them
	Aborted      int // attempts that did not commit
	// pairs of transactions found to be ordered, among which cycles were looked for
	Dependencies int
	Audits       int           // copies that were compared
	Undecided    int           // keys whose operations could not be judged in time
	Violations   int           // rounds in which something was wrong
	Time         time.Duration // checking included
}

func (t *Totals) add(u Totals) {
	t.Rounds += u.Rounds
	t.Transactions += u.Transactions
	t.Operations += u.Operations
	t.Aborted += u.Aborted
	t.Dependencies += u.Dependencies
	t.Audits += u.Audits
	t.Undecided += u.Undecided
	t.Violations += u.Violations
	t.Time += u.Time
}

// KindTotals are the totals of a kind of check.
type KindTotals struct {
	Kind Kind
	Totals
}

// An Outcome is the end of a round.
type Outcome struct {
	Totals
	Violation *Violation // nil if all was well
}

// A Report is the outcome of all rounds.
type Report struct {
	Kinds     []KindTotals
	Violation *Violation // nil if there was none
	Rounds    int
	Elapsed   time.Duration
}

// Totals returns the totals over all kinds.
func (r *Report) Totals() (t Totals) {
	for _, k := range r.Kinds {
		t.add(k.Totals)
	}
	return t
}

func (r *Report) add(round Round, o Outcome) {
	r.Rounds++
	o.Rounds = 1
	if o.Violation != nil {
		o.Violations = 1
		r.Violation = o.Violation
	}
	i := slices.IndexFunc(r.Kinds, func(k KindTotals) bool { return k.Kind == round.Kind })
	r.Kinds[i].add(o.Totals)
}

// Err returns an error of the violation, or nil if there was none.
func (r *Report) Err() error {
	if r.Violation == nil {
		return nil
	}
	return &Error{r.Violation}
}

// An Error says that something was violated.
type Error struct{ Violation *Violation }

// Error names the violation.
func (e *Error) Error() string { return "verification violated: " + e.Violation.Error() }
