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
	var forms []*form
	fall := newFlame("two-threads", "two-threads, and aborted ones stay: processor time",
		hot(journey.StepByName("counted").Engine, 2).Config)
	for _, q := range questions {
		if !slices.Contains(c.Question, q.name) {
			continue
		}
		form := q.form(fall)
		form.title, form.note = q.name+": "+q.asks, q.says
		if c.Format == "markdown" {
			form.title = fmt.Sprintf("**%s**: %s", q.name, q.asks)
		}
		forms = append(forms, form)
	}
	return cmp.Or(c.fill(e, 3, 100*time.Millisecond, forms), draw(c.Flames, fall))
}
