package mvcctest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mvccmap/mvccmap/internal/debug/trial"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Config says how hard a trial is. A nil *Config, and every field that is zero, means the default.
type Config struct {
	// Conflicts is how many attempts of each Update conflict, except the last that MaxAttempts
	// allows, and how often the function of OnExpire runs for a record before it counts. Negative
	// means none: then the trial runs no function twice, except those of Compute and DeleteFunc,
	// and those that must be pure. Default: 1.
	Conflicts int

	// Chance is the probability of a conflict for each other attempt of an Update that could
	// conflict, also the last: with 1 such an Update always returns the *[mvcc.ConflictError]. A
	// Commit by hand conflicts with the same probability. Default: 0, no other attempt; but of the
	// commits by hand that could conflict every eighth does.
	Chance float64

	// Seed begins the random numbers of Chance. The same test has the same conflicts as long as its
	// transactions come in the same order. Default: 0, which is a seed as any other.
	Seed uint64

	_ struct{}
}

// A Harness is the handle of a test on the maps and databases that were made with its options. Its
// methods may be called by any number of goroutines.
type Harness struct {
	t     testing.TB
	inner *trial.TestHooks

	mu       sync.Mutex
	random   *rand.Rand
	ahead    time.Duration
	subjects []trial.Subject
	told     map[string]bool // failures told so far
	over     bool            // the test has ended
}

// Options returns options for maps and databases of the test, see [New] and [Harness.Options].
func Options(t testing.TB, c *Config) *mvcc.Options { return New(t, c).Options() }

// New returns a Harness for the test t. c may be nil. When the test ends, after the Cleanup
// functions that are registered later, the Harness ends all that was left open, and the test fails
// if there was any. New panics if t is nil, or if a field of c has no meaning.
func New(t testing.TB, c *Config) *Harness {
	if t == nil {
		panic("mvcctest: New: t is nil, want that of the test")
	}
	var o Config
	if c != nil {
		o = *c
	}
	if !(o.Chance >= 0 && o.Chance <= 1) {
		panic(fmt.Sprintf("mvcctest: Config.Chance is %v, want 0 to 1", o.Chance))
	}
	if o.Conflicts == 0 {
		o.Conflicts = 1
	}
	r := &Harness{t: t, random: rand.New(rand.NewPCG(o.Seed, 0)), told: map[string]bool{}}
	r.inner = &trial.TestHooks{Conflicts: o.Conflicts, Now: r.Now, Fail: r.noteMistake,
		Made: r.noteSubject}
	if o.Chance > 0 {
		r.inner.Chance = func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.random.Float64() < o.Chance
		}
	}
	t.Cleanup(r.endAll)
	return r
}

// Options returns new options for maps and databases of the trial. The caller may set other fields
// of them, and copy them. Strict and TracePins are on, also if the caller sets them to false.
func (r *Harness) Options() *mvcc.Options {
	o := &mvcc.Options{Strict: true, TracePins: true}
	trial.Attach(o, r.inner)
	return o
}

// Step does the background work of all maps and databases of the trial, as a tick does: records
// whose time has come expire, watches are told of the commits before the call, and versions that
// nobody can see are dropped. Step waits for a goroutine that does this work already. Ages,
// warnings and evictions need several steps, see [mvcc.Options].ManualReclaim. Functions given to
// Expire are called; if one panics, so does Step.
func (r *Harness) Step() { r.eachSubject(trial.Subject.Step) }

// Advance moves the time by which records expire on by d, and deletes the records whose time has
// come. It waits for a goroutine that deletes them already. A record that others write meanwhile is
// left for the next time. MaxTxAge and Retain have another clock: for them there is
// testing/synctest. Advance panics if d is negative.
func (r *Harness) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("mvcctest: Advance: d is %v, want 0 or more", d))
	}
	r.mu.Lock()
	r.ahead += d
	r.mu.Unlock()
	r.eachSubject(trial.Subject.Expire)
}

// Now returns the time by which records expire: that of time.Now, plus the durations that
// [Harness.Advance] has added. A program that compares times when it reads such records can be
// given Now as its clock.
func (r *Harness) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.ahead)
}

// eachSubject calls do for each map and database of the trial.
func (r *Harness) eachSubject(do func(s trial.Subject, ctx context.Context) error) {
	r.mu.Lock()
	subjects := r.subjects[:len(r.subjects):len(r.subjects)]
	r.mu.Unlock()
	for _, s := range subjects {
		_ = do(s, context.Background()) // which has no end, so there is no error
	}
}

func (r *Harness) noteSubject(s trial.Subject) {
	r.mu.Lock()
	over := r.over
	r.subjects = append(r.subjects, s)
	r.mu.Unlock()
	if over {
		r.t.Errorf("mvcctest: a map or database is made after the end of the test: " +
			"nobody looks whether it is closed")
	}
}

// noteMistake tells the test of a mistake, unless it has been told.
func (r *Harness) noteMistake(mistake string, calls []runtime.Frame) {
	at := callsText(calls)
	key, _, _ := strings.Cut(mistake, " returns ") // the result differs from time to time
	if at != "" {
		key = at
	}
	r.mu.Lock()
	again := r.told[key]
	r.told[key] = true
	r.mu.Unlock()
	if !again {
		r.t.Errorf("mvcctest: %s%s", mistake, at)
	}
}

// endAll ends all that is left.
func (r *Harness) endAll() {
	r.mu.Lock()
	subjects := r.subjects
	r.subjects, r.over = nil, true
	r.mu.Unlock()
	var order []string
	times := map[string]int{}
	for _, s := range subjects {
		for _, left := range s.End() {
			what := left.What + callsText(left.Began)
			if times[what]++; times[what] == 1 {
				order = append(order, what)
			}
		}
	}
	for _, what := range order {
		if n := times[what]; n > 1 {
			what = fmt.Sprintf("%d times: %s", n, what)
		}
		r.t.Errorf("mvcctest: at the end of the test: %s", what)
	}
}

// callsText says which calls led somewhere, up to those of package testing.
func callsText(calls []runtime.Frame) string {
	var b strings.Builder
	for _, f := range calls {
		if strings.HasPrefix(f.Function, "testing.") || f.Function == "runtime.goexit" {
			break
		}
		fmt.Fprintf(&b, "\n\tat %s (%s:%d)", f.Function, f.File, f.Line)
	}
	return b.String()
}
