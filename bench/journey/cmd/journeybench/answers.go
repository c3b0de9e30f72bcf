package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench/journey"
	"github.com/mvccmap/mvccmap/internal/cli"
)

// answersCmd is "journeybench answers".
type answersCmd struct {
	Question []string `arg:"" optional:"" help:"Questions to answer. All if none is named."`

	lengthFlags `embed:""`

	Flames string `help:"Draw the CPU profile of the last row of two-threads, as a flame graph, in the folder DIR: two-threads.svg." placeholder:"DIR" group:"Output"`
}

// Help ends the help of the command.
func (*answersCmd) Help() string {
	text := "The questions:\n"
	for _, q := range questions {
		text += fmt.Sprintf("\n%s: %s\n", q.name, q.asks)
	}
	return text
}

// Run answers the questions.
func (c *answersCmd) Run(e *cli.Env) error {
	var names []string
	for _, q := range questions {
		names = append(names, q.name)
	}
	if len(c.Question) == 0 {
		c.Question = names
	}
	err := cmp.Or(cli.CheckNames("answers", "question", c.Question, names), canDraw(c.Flames))
	if err != nil {
		return err
	}
	var sets [][]*cli.Form
	fall := newFlame("two-threads", "two-threads, and aborted ones stay: processor time",
		hot(journey.StepByName("counted").Engine, 2).Config)
	for _, q := range questions {
		if !slices.Contains(c.Question, q.name) {
			continue
		}
		form := q.form(fall)
		form.Title, form.Left = q.name+": "+q.asks, 1
		if c.Format == "markdown" {
			form.Title = fmt.Sprintf("**%s**: %s", q.name, q.asks)
		}
		form.Notes = []string{q.says}
		sets = append(sets, []*cli.Form{form})
	}
	return cmp.Or(e.Fill(c.filling(3, 100*time.Millisecond), sets...), draw(c.Flames, fall))
}
