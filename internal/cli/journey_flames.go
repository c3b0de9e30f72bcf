package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/journey"
	"github.com/mvccmap/mvccmap/profiling"
)

// journeyFlames takes profiles of samples, and draws a flame graph of each step. A nil one does
// nothing.
type journeyFlames struct {
	dir      string
	recorder *profiling.Recorder
	of       map[string]*journeyFlame
	failure  error
}

// journeyFlame is what has been profiled of a step.
type journeyFlame struct {
	profiling.Profiles
	title string
}

// startFlames takes the CPU profiler, unless dir is empty. An error names the flag.
func startFlames(program, dir string) (*journeyFlames, error) {
	if dir == "" {
		return nil, nil
	}
	if err := canCreate("--flames", dir); err != nil {
		return nil, err
	}
	recorder, err := profiling.NewRecorder(program + " journey --flames")
	if err != nil {
		return nil, usagef("--flames: %w", err)
	}
	return &journeyFlames{dir: dir, recorder: recorder, of: map[string]*journeyFlame{}}, nil
}

func (f *journeyFlames) close() {
	if f != nil {
		f.recorder.Close()
	}
}

// running makes the trial's next measured run a profiled one.
func (f *journeyFlames) running(c bench.Config, t *bench.Trial) {
	if f == nil {
		return
	}
	step := f.of[c.Engine.Name]
	if step == nil {
		step = &journeyFlame{title: fmt.Sprintf("%s: processor time, %s, %s",
			c.Engine.Name, c.Workload.Name, threads(c.Threads))}
		f.of[c.Engine.Name] = step
	}
	t.Around(around(f.recorder, &f.failure, func(got profiling.Profiles) (err error) {
		step.Profiles, err = step.Merge(got)
		return err
	}))
}

// draw writes the files. A step of which nothing was sampled has none.
func (f *journeyFlames) draw() error {
	if f == nil {
		return nil
	}
	if f.failure != nil {
		return fmt.Errorf("profiling: %w", f.failure)
	}
	for name, step := range f.of {
		if step.Profiles["cpu"] == nil {
			continue
		}
		if err := drawFlame(f.dir, name, step.title, step.Profiles["cpu"]); err != nil {
			return err
		}
	}
	return nil
}

// drawFlame draws a CPU profile as the file name.svg in a folder.
func drawFlame(dir, name, title string, cpu []byte) error {
	p, err := journey.ReadProfile(cpu)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := p.WriteFlame(&b, title); err != nil {
		return err
	}
	err = os.MkdirAll(dir, 0o777)
	if err == nil {
		err = replaceFile(filepath.Join(dir, name+".svg"), b.Bytes())
	}
	return writing("flame graphs", err)
}
