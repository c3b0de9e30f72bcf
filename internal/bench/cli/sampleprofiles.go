package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/profiling"
)

// profileFlags say whether the samples are profiled.
type profileFlags struct {
	Profile bool `help:"Profile the measured part of every sample: processor time, allocations, and the waits for locks and channels. The profiles of all samples of a combination are merged, those of processor time of the whole run as well, and are kept in the results, which must be JSON: \"serve FILE\" shows them, subtracts those of two runs, and gives them to go tool pprof. The CPU profiler takes about 1 % of the time meanwhile, and each sample some 0.2 s more that are not measured; the results say so. Profiles of processor time cannot be captured in the browser meanwhile." group:"Profiles"`
}

// profiled is the note in the head of the results.
const profiled = "the measured part of every sample, by the CPU profiler at 100 Hz, which takes " +
	"about 1 % of the time, and by the allocs, mutex and block profiles"

// sampleProfiles takes the profiles of a run's samples. A nil sampleProfiles takes
// none.
type sampleProfiles struct {
	recorder *profiling.Recorder
	of       combinations
	last     profiling.Profiles // of the sample that was measured last
	failure  error              // of taking them
}

// combinations are the merged profiles of each combination's samples, by the names of its files.
type combinations map[string]*combinationProfiles

// combinationProfiles are the merged profiles of the samples of a combination.
type combinationProfiles struct {
	profiling.Profiles
	of      string // the name of its benchmark
	samples int
	ops     uint64
	wall    time.Duration
}

// add adds the profiles of a sample.
func (c combinations) add(s *results.Sample, p profiling.Profiles) (err error) {
	name := s.FileName()
	m := c[name]
	if m == nil {
		m = &combinationProfiles{of: s.Name(1)}
		c[name] = m
	}
	m.samples++
	m.ops += s.Ops
	m.wall += s.Wall
	m.Profiles, err = m.Merge(p)
	return err
}

// files returns the profiles by the names of their files. A comment in each profile names its
// samples, and whose they are.
func (c combinations) files(whose string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		m := c[name]
		list, err := m.Comment(fmt.Sprintf("%s%s: %d samples, %d operations, %v in total, without warm-up",
			name, whose, m.samples, m.ops, m.wall.Round(time.Millisecond)))
		if err != nil {
			return nil, err
		}
		for kind, data := range list {
			files[name+"."+kind+results.ProfileExtension] = data
		}
	}
	return files, nil
}

// start takes the CPU profiler if samples are to be profiled. The results of the run go to out. An
// error names the flag, and then nothing has been touched.
func (f profileFlags) start(program string, out outputFlags) (*sampleProfiles, error) {
	switch {
	case !f.Profile:
		return nil, nil
	case !out.json():
		return nil, usagef("--profile: there is nowhere to keep the profiles; expected " +
			"--output FILE.json with it")
	}
	recorder, err := profiling.NewRecorder(program + " run --profile")
	if err != nil {
		return nil, usagef("--profile: %w", err)
	}
	return &sampleProfiles{recorder: recorder, of: combinations{}}, nil
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
	if err := p.of.add(s, p.last); err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	p.last = nil
	return nil
}

// finish gives the CPU profiler back, and the profiles to the run, among them one of the processor
// time of all combinations.
func (p *sampleProfiles) finish(out *output) (err error) {
	if p == nil || len(p.of) == 0 {
		return nil
	}
	p.close()
	whole := new(combinationProfiles)
	for _, c := range p.of {
		whole.samples, whole.ops, whole.wall = whole.samples+c.samples, whole.ops+c.ops, whole.wall+c.wall
		if cpu := c.Profiles["cpu"]; cpu != nil && err == nil {
			whole.Profiles, err = whole.Merge(profiling.Profiles{"cpu": cpu})
		}
	}
	p.of[results.WholeRun] = whole
	if err == nil {
		out.run.Profiles, err = p.of.files("")
	}
	if err != nil {
		err = fmt.Errorf("merging the profiles: %w", err)
	}
	return err
}
