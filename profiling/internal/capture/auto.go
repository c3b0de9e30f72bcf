package capture

import (
	"cmp"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// minEvery is the shortest time between two captures of a rule.
const minEvery = 10 * time.Second

// A Rule says when captures are taken without being asked for.
type Rule struct {
	Kinds      []string
	Window     time.Duration
	Every      time.Duration
	Above      time.Duration // 0: on a schedule
	Percentile float64
}

// withDefaults returns r with its zero fields filled in, and an error that says what is wrong
// with it.
func (r Rule) withDefaults() (Rule, error) {
	if len(r.Kinds) == 0 {
		r.Kinds = []string{CPU}
	}
	every := time.Minute
	if r.Above == 0 {
		every = 10 * time.Minute
	}
	r.Every = cmp.Or(r.Every, every)
	r.Percentile = cmp.Or(r.Percentile, 99)
	for _, kind := range r.Kinds {
		if !IsTimed(kind) && kind != contentionKind && pprof.Lookup(kind) == nil {
			return r, fmt.Errorf("this program has no profile named %q", kind)
		}
	}
	switch {
	case r.Window < 0 || r.Above < 0:
		return r, fmt.Errorf("a duration is negative: %v", min(r.Window, r.Above))
	case r.Every < minEvery:
		return r, fmt.Errorf("the time between two captures must be at least %v, not %v",
			minEvery, r.Every)
	case !(r.Percentile > 0 && r.Percentile < 100):
		return r, fmt.Errorf("percentile must be above 0 and below 100, not %v", r.Percentile)
	}
	return r, nil
}

// String says the rule in words.
func (r Rule) String() string {
	kinds := strings.Join(r.Kinds, ", ")
	if r.Above == 0 {
		return fmt.Sprintf("%s: every %v", kinds, r.Every)
	}
	return fmt.Sprintf("%s: when p%v of an operation is above %v, at most once in %v",
		kinds, r.Percentile, r.Above, r.Every)
}

// window is for how long a capture of the kind is taken.
func (r Rule) window(kind string) time.Duration {
	switch {
	case kind == contentionKind && r.Window > 0:
		return min(r.Window, MaxTrace)
	case kind == contentionKind:
		return time.Second
	case IsTimed(kind) && r.Window == 0:
		return DefaultWindow
	}
	return r.Window
}

// An Auto takes captures by rules, one after the other.
type Auto struct {
	Captures *Captures
	Rules    []Rule
	Wrong    error // with the rules; if there is one, none of them counts
	// Slowest returns the operation with the largest such percentile of late, "" if none is
	// known, that percentile, and whether it may have been larger than took.
	Slowest func(percentile float64) (op string, took time.Duration, less bool)

	problem atomic.Value // a string, see Problem
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// Start takes captures by the rules until Close.
func (a *Auto) Start(rules []Rule) {
	for i, r := range rules {
		r, err := r.withDefaults()
		if err != nil {
			a.Wrong, a.Rules = fmt.Errorf("rule %d of captures: %w", i+1, err), nil
			break
		}
		a.Rules = append(a.Rules, r)
	}
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	if len(a.Rules) > 0 {
		a.wg.Go(func() { a.run(ctx) })
	}
}

// Close ends a capture that is being taken, and waits until it has ended.
func (a *Auto) Close() {
	a.cancel()
	a.wg.Wait()
}

// Problem says what could not be taken when a rule held last, and why; "" if nothing.
func (a *Auto) Problem() string {
	text, _ := a.problem.Load().(string)
	return text
}

func (a *Auto) run(ctx context.Context) {
	last := make([]time.Time, len(a.Rules)) // when each rule last held
	for i, r := range a.Rules {
		if r.Above == 0 {
			last[i] = time.Now()
		}
	}
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		for i, r := range a.Rules {
			now := time.Now()
			if !last[i].IsZero() && now.Sub(last[i]) < r.Every {
				continue
			}
			reason := a.reason(r)
			if reason == "" || len(Running()) > 0 {
				continue // a requested capture goes first; try again in a second
			}
			last[i] = now
			a.take(ctx, r, reason)
		}
	}
}

// reason says why it is time for a rule's captures, "" if it is not.
func (a *Auto) reason(r Rule) string {
	if r.Above == 0 {
		return fmt.Sprintf("every %v", r.Every)
	}
	op, took, less := a.Slowest(r.Percentile)
	if op == "" || took <= r.Above {
		return ""
	}
	atLeast := ""
	if less {
		atLeast = "at least "
	}
	return fmt.Sprintf("p%v of %s was %s%s, above %v",
		r.Percentile, op, atLeast, brief.Time(took), r.Above)
}

// take takes and keeps the captures of a rule.
func (a *Auto) take(ctx context.Context, r Rule, reason string) {
	a.problem.Store("")
	for _, kind := range r.Kinds {
		c, err := a.Captures.unasked(ctx, kind, min(r.window(kind), a.Captures.Longest), reason)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			a.problem.Store(fmt.Sprintf("%s at %s: %v", kind, time.Now().Format(time.TimeOnly), err))
			continue
		}
		a.Captures.Keep(c)
	}
}

// unasked takes a capture by a rule.
func (s *Captures) unasked(
	ctx context.Context, kind string, d time.Duration, reason string,
) (c *Capture, err error) {
	if kind == contentionKind {
		c, err = s.Waits(ctx, Mode{Traced: true, Window: d}, reason)
	} else {
		c, err = s.Take(ctx, kind, d, false, reason)
	}
	if c != nil {
		c.Unasked = true
	}
	return c, err
}
