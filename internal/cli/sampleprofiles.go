package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling"
)

// profileFlags say whether the samples are profiled.
type profileFlags struct {
	Profile bool `help:"Profile the measured part of every sample: processor time, allocations, and the waits for locks and channels. The profiles of all samples of a combination are merged, those of processor time of the whole run as well, and are kept in the results, which must be JSON: \"serve FILE\" shows them, subtracts those of two runs, and gives them to go tool pprof. The CPU profiler takes about 1 % of the time meanwhile, and each sample some 0.2 s more that are not measured; the results say so. Profiles of processor time cannot be captured in the browser meanwhile." group:"Profiles"`
}

// profiled is what the head of the results says.
const profiled = "the measured part of every sample, by the CPU profiler at 100 Hz, which takes " +
	"about 1 % of the time, and by the allocs, mutex and block profiles"

// sampleProfiles takes the profiles of a run's samples. A nil sampleProfiles takes
// none.
type sampleProfiles struct {
	recorder *profiling.Recorder
	of       map[string]*combinationProfiles
	last     profiling.Profiles // of the sample that was measured last
	failure  error              // of taking them
}

// combinationProfiles are the merged profiles of the samples of a combination.
type combinationProfiles struct {
	profiling.Profiles
	samples int
	wall    time.Duration
}

// start takes the CPU profiler if samples are to be profiled, whose results go into that format. An
// error names the flag, and then nothing has been touched.
func (f profileFlags) start(program, format string) (*sampleProfiles, error) {
	switch {
	case !f.Profile:
		return nil, nil
	case format != "json":
		return nil, usagef("--profile: there is nowhere to keep the profiles; expected --format json, or " +
			"--output FILE.json, with it")
	}
	recorder, err := profiling.NewRecorder(program + " run --profile")
	if err != nil {
		return nil, usagef("--profile: %w", err)
	}
	return &sampleProfiles{recorder: recorder, of: map[string]*combinationProfiles{}}, nil
}

// close gives the CPU profiler back.
func (p *sampleProfiles) close() {
	if p != nil {
		p.recorder.Close()
	}
}

// running makes the trial's next measured run a profiled one.
func (p *sampleProfiles) running(t *bench.Trial) {
	if p == nil {
		return
	}
	p.last = nil
	t.Around(func() func() {
		stop, err := p.recorder.Start()
		p.failure = cmp.Or(p.failure, err)
		return func() {
			if err == nil {
				p.last, err = stop()
				p.failure = cmp.Or(p.failure, err)
			}
		}
	})
}

// sample adds the profiles of the sample that was measured last.
func (p *sampleProfiles) sample(s *results.Sample) error {
	if p == nil {
		return nil
	}
	if p.failure != nil {
		return fmt.Errorf("profiling: %w", p.failure)
	}
	name := s.FileName()
	c := p.of[name]
	if c == nil {
		c = new(combinationProfiles)
		p.of[name] = c
	}
	var err error
	if c.Profiles, err = c.Merge(p.last); err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	p.last = nil
	c.samples++
	c.wall += s.Wall
	return nil
}

// files returns all profiles by the names of their files.
func (p *sampleProfiles) files() (map[string][]byte, error) {
	if len(p.of) == 0 {
		return nil, nil
	}
	files := map[string][]byte{}
	all := new(combinationProfiles)
	add := func(name string, c *combinationProfiles) error {
		list, err := c.Comment(fmt.Sprintf("%s: %d samples, %v in total, without warm-up",
			name, c.samples, c.wall.Round(time.Millisecond)))
		for kind, data := range list {
			files[name+"."+kind+results.ProfileExtension] = data
		}
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		c := p.of[name]
		errs = append(errs, add(name, c))
		all.samples += c.samples
		all.wall += c.wall
		if cpu := c.Profiles["cpu"]; cpu != nil {
			var err error
			all.Profiles, err = all.Merge(profiling.Profiles{"cpu": cpu})
			errs = append(errs, err)
		}
	}
	errs = append(errs, add(results.WholeRun, all))
	return files, errors.Join(errs...)
}

// finish gives the CPU profiler back, and the profiles to the run.
func (p *sampleProfiles) finish(out *output) (err error) {
	if p == nil {
		return nil
	}
	p.close()
	if out.run.Profiles, err = p.files(); err != nil {
		err = fmt.Errorf("merging the profiles: %w", err)
	}
	return err
}
