package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
	"github.com/mvccmap/mvccmap/profiling"
)

// profileFlags say whether the samples are profiled, and where the profiles go.
type profileFlags struct {
	Profile profileFlag `help:"Profile the measured part of every sample: processor time, allocations, and the waits for locks and channels. The profiles of all samples of a combination are merged, those of processor time of the whole run as well, and kept with the run that --save keeps: see \"runs\" in the browser. --profile=DIR writes them to the folder DIR, for go tool pprof: transfer-mvcc-threads=4.cpu.pb.gz, .allocs, .mutex, .block, and whole-run.cpu.pb.gz. Files of these names are replaced; where nothing was sampled there is no file, and an older one of that name is deleted. The CPU profiler takes about 1 % of the time meanwhile, and each sample some 0.2 s more that are not measured; the results say so. Profiles of processor time cannot be captured in the browser meanwhile." group:"Profiles"`
}

// profileFlag is --profile or --profile=DIR.
type profileFlag struct {
	on  bool
	dir string
}

// IsBool and Decode implement [kong.BoolMapperValue].
func (*profileFlag) IsBool() bool { return true }

func (f *profileFlag) Decode(ctx *kong.DecodeContext) error {
	f.on = true
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	switch f.dir = ctx.Scan.Pop().String(); f.dir {
	case "":
		return errors.New("nothing given; expected a folder, or --profile alone")
	case "true", "false": // in a file of --config
		f.on, f.dir = f.dir == "true", ""
	}
	return nil
}

// profiled is what the head of the results says.
const profiled = "the measured part of every sample, by the CPU profiler at 100 Hz, which takes " +
	"about 1 % of the time, and by the allocs, mutex and block profiles"

// sampleProfiles takes the profiles of a run's samples. A nil sampleProfiles takes
// none.
type sampleProfiles struct {
	recorder *profiling.Recorder
	dir      string // "" if they are only kept with the run
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

// start takes the CPU profiler if samples are to be profiled. An error names the
// flag, and then nothing has been touched.
func (f profileFlags) start(program, save string) (*sampleProfiles, error) {
	dir := f.Profile.dir
	switch {
	case dir != "":
		if err := canCreate("--profile", dir); err != nil {
			return nil, err
		}
	case !f.Profile.on:
		return nil, nil
	case save == "":
		return nil, usagef("--profile: there is nowhere to keep the profiles; expected --save with it, " +
			"or --profile=DIR")
	}
	recorder, err := profiling.NewRecorder(program + " run --profile")
	if err != nil {
		return nil, usagef("--profile: %w", err)
	}
	return &sampleProfiles{recorder: recorder, dir: dir, of: map[string]*combinationProfiles{}}, nil
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
	files := map[string][]byte{}
	if len(p.of) == 0 {
		return files, nil
	}
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

// write writes the files to the folder that was asked for, and returns what must be
// said about it. What an earlier run left there of the same combinations goes, also
// where this one has no file: it would be taken for this one's.
func (p *sampleProfiles) write(files map[string][]byte) (note string, err error) {
	if p.dir == "" || len(p.of) == 0 {
		return "", nil
	}
	for _, name := range p.names() {
		if _, ok := files[name]; ok {
			continue
		}
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if len(files) == 0 {
		return "", nil
	}
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := replaceFile(filepath.Join(p.dir, name), files[name]); err != nil {
			return "", err
		}
	}
	example := results.WholeRun + ".cpu" + results.ProfileExtension
	if files[example] == nil { // too short a run for the CPU profiler
		example = slices.Min(slices.Collect(maps.Keys(files)))
	}
	return fmt.Sprintf("profiles: %d files in %s, such as %s", len(files), p.dir, example), nil
}

// names returns what the files of the combinations and of the whole run are called,
// whether there is anything to be written to them or not.
func (p *sampleProfiles) names() []string {
	list := []string{results.WholeRun + ".cpu" + results.ProfileExtension}
	for name := range p.of {
		for _, kind := range []string{"cpu", "allocs", "mutex", "block"} {
			list = append(list, name+"."+kind+results.ProfileExtension)
		}
	}
	return list
}

// replaceFile writes a file: a reader finds the old one or the new one meanwhile.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".mvccbench-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// finish writes the profiles and hands them to the output, which keeps them with
// the run.
func (p *sampleProfiles) finish(out *output) (note string, err error) {
	if p == nil {
		return "", nil
	}
	p.close()
	if out.profiles, err = p.files(); err == nil {
		note, err = p.write(out.profiles)
	}
	if err != nil {
		err = fmt.Errorf("writing the profiles: %w", err)
	}
	return note, err
}
