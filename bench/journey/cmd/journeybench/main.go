// Command journeybench relives the steps of a Java MVCC map, see docs/journey.md. It is mvccbench
// with the steps as engines, and with two commands more:
//
//	go run ./cmd/journeybench steps      # every step, ten minutes; --quick: one
//	go run ./cmd/journeybench answers    # what was left open, a minute
package main

import (
	"context"
	"io"

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
			Examples: []cli.Example{
				{What: "All steps in ten minutes; in one", Args: "steps"},
				{Args: "steps --quick"},
				{What: "Two steps beside each other, for benchstat",
					Args: "steps --step counted,slots -o j.txt"},
				{Args: "$ go tool benchstat -filter .unit:ops/s -col /engine -ignore /retries j.txt"},
			},
			Args: new(stepsCmd),
		}, {
			Name: "answers",
			Help: "Measure what the post and its neighbours left open, and answer it, in a minute.",
			Examples: []cli.Example{
				{What: "What was left open", Args: "answers"},
				{Args: "answers two-threads --flames flames"},
			},
			Args: new(answersCmd),
		}},
	}, args, stdout, stderr)
}
