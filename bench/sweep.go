package bench

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// A Sweep measures every combination of its lists, such as workloads, engines and numbers of
// goroutines, several times. An empty list stands for the default alone. Samples of different
// engines alternate, and so do those of different values in the lists after Threads, so that a
// machine that grows slower or faster meanwhile is equally unfair to all of them. Every sample has
// a new map and is verified.
type Sweep struct {
	Workloads []Workload // variants of one, with [Workload.With], next to each other
	Engines   []EngineSpec
	Threads   []int // empty: 1, 2, 4 and 8

	Rates      []float64
	Isolations []Isolation // for the engines that have a choice

	Count    int           // samples of each combination
	Warmup   time.Duration // before each sample; may be 0
	Duration time.Duration // of each sample, unless Ops is given
	Ops      uint64        // operations of each sample; 0 if Duration is given

	Arrival       Arrival
	Attempts      int
	Seed          uint64
	LatencySample int // see [Config]
	AuditInterval time.Duration
}

// A Step is one sample of a [Sweep].
type Step struct {
	Index, Of int // which step it is, from 0, and of how many
	Config    Config
}

// A Skip is a combination that a [Sweep] leaves out.
type Skip struct {
	Workload, Engine string
	Why              string
}

// Steps returns the samples in the order in which they are taken, and the combinations
// that no engine can run.
func (s Sweep) Steps() (steps []Step, skips []Skip) {
	return slices.Collect(s.all()), s.skips()
}

// Combinations returns the first sample of each combination, and the combinations that no
// engine can run. However many samples there are, it costs no more.
func (s Sweep) Combinations() ([]Step, []Skip) {
	s.Count = min(s.Count, 1)
	return s.Steps()
}

// skips returns the combinations that engines cannot run.
func (s Sweep) skips() (skips []Skip) {
	for _, w := range s.Workloads {
		for _, e := range s.Engines {
			skip := Skip{Workload: w.Name, Engine: e.Name}
			var ok bool
			if skip.Why, ok = e.Runs(w); !ok && !slices.Contains(skips, skip) {
				skips = append(skips, skip)
			}
		}
	}
	return skips
}

// all yields the samples in their order, each made when its turn comes.
func (s Sweep) all() iter.Seq[Step] {
	type round struct {
		threads []int
		configs []Config // in each of them, one after the other
	}
	var rounds []round
	step := Step{}
	for variants := range sameName(s.Workloads) {
		r := round{s.Threads, s.configs(variants)}
		if len(r.threads) == 0 {
			r.threads = []int{1, 2, 4, 8}
		}
		rounds = append(rounds, r)
		step.Of += len(r.threads) * s.Count * len(r.configs)
	}
	return func(yield func(Step) bool) {
		step := step
		for _, r := range rounds {
			for _, threads := range r.threads {
				for sample := range s.Count {
					for _, step.Config = range r.configs {
						step.Config.Threads, step.Config.Sample = threads, sample
						if !yield(step) {
							return
						}
						step.Index++
					}
				}
			}
		}
	}
}

// Levels returns the levels of isolation that are measured.
func (s Sweep) Levels() []Isolation {
	if len(s.Isolations) > 0 {
		return s.Isolations
	}
	return []Isolation{Serializable}
}

// sameName yields the stretches of list whose workloads have the same name.
func sameName(list []Workload) iter.Seq[[]Workload] {
	return func(yield func([]Workload) bool) {
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n].Name == list[0].Name {
				n++
			}
			if !yield(list[:n:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// configs returns the configurations of some variants of one workload, without the
// numbers of goroutines and samples. An engine that has no choice in something is
// measured with the first choice only.
func (s Sweep) configs(variants []Workload) []Config {
	var list []Config
	swept := s.swept(variants)
	for _, w := range variants {
		for _, rate := range orDefault(s.Rates) {
			for i, isolation := range orDefault(s.Isolations) {
				for _, e := range s.Engines {
					if _, ok := e.Runs(w); !ok || i > 0 && len(e.Levels) == 0 {
						continue
					}
					list = append(list, Config{
						Workload:      w,
						Engine:        e,
						Isolation:     isolation,
						Rate:          rate,
						Arrival:       s.Arrival,
						Attempts:      s.Attempts,
						Seed:          s.Seed,
						LatencySample: s.LatencySample,
						AuditInterval: s.AuditInterval,
						Swept:         swept,
					})
				}
			}
		}
	}
	return list
}

// orDefault returns list or, if it is empty, a list of the zero value, which
// everywhere means the default.
func orDefault[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

// An Observer is told how a [Sweep] goes on. Its methods are called by the
// goroutine that runs the sweep, and never while a sample is being measured.
type Observer interface {
	// Start is called before a sample; next is nil before the last.
	Start(step Step, next *Step)
	// Running is called when the sample's map has been filled. Until Done or Start is called, other
	// goroutines may ask t how far it is, with [Trial.Live], [Trial.Elapsed] and [Trial.ReadLive].
	// Running itself may call [Trial.Around], [Trial.Watch] and [Trial.LabelOperations]; other
	// goroutines may call LabelOperations, too. Nothing else is allowed with t.
	Running(step Step, t *Trial)
	// Done is called after a sample that has been verified.
	Done(step Step, m Measurement) error
}

// Run takes all samples. It returns the first error: a [*Violation], a failure of an
// engine, or the error of the observer. When ctx ends it stops within an operation,
// verifies the sample that was under way and hands it to the observer, marked as
// interrupted, unless it was still warming up; Run then returns the cause.
func (s Sweep) Run(ctx context.Context, o Observer) error {
	follow, stop := iter.Pull(s.all())
	defer stop()
	step, more := follow()
	if !more {
		return errors.New("bench: nothing to run")
	}
	for more {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var following Step
		var next *Step
		if following, more = follow(); more {
			next = &following
		}
		o.Start(step, next)
		if err := s.sample(ctx, step, o); err != nil {
			return err
		}
		step = following
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (s Sweep) sample(ctx context.Context, step Step, o Observer) error {
	t, err := New(step.Config)
	if err != nil {
		return err
	}
	defer t.Close()
	o.Running(step, t)
	if s.Warmup > 0 {
		if _, err := t.RunFor(ctx, s.Warmup, false); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return t.Verify()
	}
	var m Measurement
	if s.Ops > 0 {
		m, err = t.RunOps(ctx, s.Ops)
	} else {
		m, err = t.RunFor(ctx, s.Duration, true)
	}
	if err != nil {
		return err
	}
	if err := t.Verify(); err != nil {
		return err
	}
	return o.Done(step, m)
}
