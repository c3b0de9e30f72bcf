// Command journeybench relives the steps of a Java MVCC map, see docs/journey.md. It is mvccbench
// with the steps as engines, and with two commands more:
//
//	go run ./cmd/journeybench steps      # every step, ten minutes; --quick: one
//	go run ./cmd/journeybench answers    # what was left open, a minute
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/bench/journey"
	"github.com/mvccmap/mvccmap/internal/cli"
)

func main() { cli.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	engines := bench.Engines()
	for _, s := range journey.Steps() {
		if s.Config != (journey.Config{}) { // else it is there
			engines = append(engines, s.Engine)
		}
	}
	return cli.RunWith(ctx, cli.Program{
		Name:    "journeybench",
		Engines: engines,
		Commands: []cli.Command{{
			Name: "steps",
			Help: "Measure every step, beside the figures of its author, in ten minutes.",
			Args: new(stepsCmd),
		}, {
			Name: "answers",
			Help: "Measure what the post left open, and answer it, in a minute.",
			Args: new(answersCmd),
		}},
	}, args, stdout, stderr)
}

// A flame is a flame graph to be drawn, of the samples that are profiled.
type flame struct {
	journey.Profile
	name, title string
}

// newFlame returns one of what is measured by c.
func newFlame(name, title string, c bench.Config) *flame {
	plural := "s"
	if c.Threads == 1 {
		plural = ""
	}
	return &flame{name: name, title: fmt.Sprintf("%s, %s, %d thread%s", title, c.Workload.Name,
		c.Threads, plural)}
}

// canDraw makes the folder that --flames names, if any.
func canDraw(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return cli.UsageError(fmt.Errorf("--flames: expected a folder that can be written: %w", err))
	}
	return nil
}

// draw writes the files, unless dir is empty. Of what nothing was sampled there is none.
func draw(dir string, list ...*flame) error {
	for _, f := range list {
		if f.Err != nil {
			return fmt.Errorf("profiling: %w", f.Err)
		}
		if dir == "" || f.Empty() {
			continue
		}
		var b bytes.Buffer
		err := f.WriteFlame(&b, f.title)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.name+".svg"), b.Bytes(), 0o666)
		}
		if err != nil {
			return fmt.Errorf("writing the flame graphs: %w", err)
		}
	}
	return nil
}
