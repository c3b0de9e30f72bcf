package bench

import (
	"context"
	"errors"
	"time"
)

// A Sweep measures every one of some workloads with every one of some engines at
// every one of some numbers of goroutines, several times. Samples of different
// engines alternate, so that a machine that grows slower or faster meanwhile is
// equally unfair to all of them; every sample has a new map and is verified.
type Sweep struct {
	Workloads []Workload
	Engines   []EngineSpec
	Threads   []int
	Count     int // samples of each combination

	Warmup   time.Duration // before each sample; may be 0
	Duration time.Duration // of each sample

	Isolation     Isolation
	Seed          uint64
	LatencySample int
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

// Steps returns the samples in the order in which they are taken, and what the
// engines cannot run.
func (s Sweep) Steps() (steps []Step, skips []Skip) {
	for _, w := range s.Workloads {
		var able []EngineSpec
		for _, e := range s.Engines {
			if why, ok := e.Runs(w); ok {
				able = append(able, e)
			} else {
				skips = append(skips, Skip{Workload: w.Name, Engine: e.Name, Why: why})
			}
		}
		for _, threads := range s.Threads {
			for sample := range s.Count {
				for _, e := range able {
					steps = append(steps, Step{Index: len(steps), Config: Config{
						Workload:      w,
						Engine:        e,
						Threads:       threads,
						Isolation:     s.Isolation,
						Seed:          s.Seed,
						Sample:        sample,
						LatencySample: s.LatencySample,
						AuditInterval: s.AuditInterval,
					}})
				}
			}
		}
	}
	for i := range steps {
		steps[i].Of = len(steps)
	}
	return steps, skips
}

// An Observer is told how a [Sweep] goes on. Its methods are called by the
// goroutine that runs the sweep, and never while a sample is being measured.
type Observer interface {
	// Start is called before a sample; next is nil before the last.
	Start(step Step, next *Step)
	// Running is called when the sample's map has been filled, with the
	// means to ask, from any goroutine, for the operations done so far.
	Running(step Step, live func() uint64)
	// Done is called after a sample that has been verified.
	Done(step Step, m Measurement) error
}

// Run takes all samples. It returns the first error: a [*Violation], a failure of
// an engine, or what the observer returned. When ctx ends it stops within an
// operation, verifies the sample that was under way and hands it to the
// observer, marked as interrupted, unless it was still warming up; Run then
// returns the cause.
func (s Sweep) Run(ctx context.Context, o Observer) error {
	steps, _ := s.Steps()
	if len(steps) == 0 {
		return errors.New("bench: nothing to run")
	}
	for i, step := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var next *Step
		if i+1 < len(steps) {
			next = &steps[i+1]
		}
		o.Start(step, next)
		if err := s.sample(ctx, step, o); err != nil {
			return err
		}
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
	o.Running(step, t.Live)
	if s.Warmup > 0 {
		if _, err := t.RunFor(ctx, s.Warmup, false); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return t.Verify()
	}
	m, err := t.RunFor(ctx, s.Duration, true)
	if err != nil {
		return err
	}
	if err := t.Verify(); err != nil {
		return err
	}
	return o.Done(step, m)
}
