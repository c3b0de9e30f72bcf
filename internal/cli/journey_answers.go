package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/results"
)

// journeyAnswers is "mvccbench journey answers".
type journeyAnswers struct {
	Question []string `arg:"" optional:"" help:"Questions to answer: ${enum_questions}. All if none is named."`

	Quick    bool           `help:"One short sample of each figure: ten seconds for all." group:"How long"`
	Count    *int           `help:"Samples of each figure; medians are shown. Default: 3, with --quick 1." placeholder:"N" group:"How long"`
	Duration *time.Duration `help:"Length of a sample. Default: 500ms, with --quick 100ms." placeholder:"TIME" group:"How long"`

	Format string `help:"Format: table, for a terminal, or markdown, as it stands in docs/journey.md." enum:"table,markdown" default:"table" placeholder:"FORMAT" group:"Output"`
	Flames string `help:"Draw the CPU profile of the last row of two-threads, as a flame graph, in the folder DIR: two-threads.svg." placeholder:"DIR" group:"Output"`
	Seed   uint64 `help:"Seed of all random choices." default:"1" placeholder:"N" group:"Output"`
	Quiet  bool   `help:"Report no progress." short:"q" group:"Output"`
}

// A question is one that the post, or a neighbour, left open.
type question struct {
	name, asks string
	answer     func(a *answering) (answer, error)
}

// answer is a table, of which the first row is the header, and what follows from it.
type answer struct {
	rows [][]string
	says string
}

func questions() []question {
	return []question{
		{"two-threads", "Why did the map from epochs to counts fall at two threads?",
			(*answering).twoThreads},
		{"retry-memory", "What memory do retries take, and what does using states again save?",
			(*answering).retryMemory},
		{"guard", "What did the guard do that never let anything be pruned?", (*answering).guard},
		{"holding", "What should a read transaction keep the few things in that it holds?",
			(*answering).holding},
		{"second-lock", "What did it bring to take the second lock out of begin, after the first?",
			(*answering).secondLock},
		{"cleanup-workers", "How many workers should clean up after commits that delete much?",
			(*answering).cleanupWorkers},
		{"os-threads", "Goroutines or OS threads?", (*answering).osThreads},
	}
}

func questionNames() []string {
	return namesOf(questions(), func(q question) string { return q.name })
}

// answering is the questions under way.
type answering struct {
	env      *env
	count    int
	duration time.Duration
	seed     uint64
	said     io.Writer
	flames   string // a folder, or ""
	question string
}

// Run answers the questions.
func (c *journeyAnswers) Run(e *env) error {
	list := questions()
	if len(c.Question) > 0 {
		if err := checkList("answers", "question", c.Question, questionNames()); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(q question) bool {
			return !slices.Contains(c.Question, q.name)
		})
	}
	a := &answering{
		env: e, count: 3, duration: 500 * time.Millisecond, seed: c.Seed,
		said: e.said(c.Quiet), flames: c.Flames,
	}
	if c.Quick {
		a.count, a.duration = 1, 100*time.Millisecond
	}
	a.count, a.duration = given(c.Count, a.count), given(c.Duration, a.duration)
	err := cmp.Or(
		checkCount(a.count),
		checkRun(a.duration, 0))
	if err != nil {
		return err
	}
	if c.Flames != "" {
		if err := canCreate("--flames", c.Flames); err != nil {
			return err
		}
	}
	h := e.header(c.Quiet)
	text := &textWriter{w: e.stdout, width: terminalWidth(e.stdout)}
	for i, q := range list {
		a.question = q.name
		got, err := q.answer(a)
		if err != nil {
			if context.Cause(e.ctx) != nil {
				fmt.Fprintf(e.stderr, "interrupted after %d of %d questions\n", i, len(list))
			}
			return err
		}
		if err := got.print(text, c.Format == "markdown", q); err != nil {
			return err
		}
	}
	text.measuredBy(c.Format == "markdown", append(results.DescribeMachine(h), h.CPU,
		fmt.Sprintf("seed %d, %d x %v", a.seed, a.count, a.duration)))
	return text.err
}

// print writes question, figures and answer.
func (a *answer) print(text *textWriter, markdown bool, q question) error {
	head, form := q.name+": "+q.asks, results.Plain
	if markdown {
		head, form = fmt.Sprintf("**%s**: %s", q.name, q.asks), results.Markdown
	}
	text.line(head)
	text.line("")
	if err := form.Write(text.w, a.rows, func(column int) bool { return column == 0 }); err != nil {
		return writing("table", err)
	}
	text.line("")
	text.line(a.says)
	text.line("")
	return text.err
}

// A side is what is set beside others in an answer.
type side struct {
	name   string // says in the progress what is measured
	config bench.Config
	around func() (end func())

	got []bench.Measurement
}

// measure takes the samples of all sides in turns.
func (a *answering) measure(sides []*side) error {
	for i := range a.count {
		for _, s := range sides {
			if err := a.sample(s, i); err != nil {
				return fmt.Errorf("%s, %s: %w", a.question, s.name, err)
			}
		}
	}
	return nil
}

// say tells which sample is being taken.
func (a *answering) say(name string, i int) {
	fmt.Fprintf(a.said, "%s: %s, sample %d of %d\n", a.question, name, i+1, a.count)
}

func (a *answering) sample(s *side, i int) error {
	a.say(s.name, i)
	c := s.config
	c.Seed, c.Sample = a.seed, i
	if c.Rate == 0 {
		c.LatencySample = bench.NoLatency
	}
	return runTrial(a.env.ctx, c, func(t *bench.Trial) error {
		if s.around != nil {
			t.Around(s.around)
		}
		m, err := warmRun(a.env.ctx, t, max(a.duration/10, 1), a.duration)
		s.got = append(s.got, m)
		return err
	})
}

// median returns the median of a figure of the samples of a side.
func (s *side) median(figure func(m bench.Measurement) float64) float64 {
	list := make([]float64, len(s.got))
	for i, m := range s.got {
		list[i] = figure(m)
	}
	return results.Median(list)
}

func (s *side) ops() float64 { return s.median(bench.Measurement.OpsPerSecond) }

// workload returns a workload of package bench, with so many keys if keys is not 0.
func workload(name string, keys int) bench.Workload {
	w, _ := bench.WorkloadByName(name)
	if keys != 0 {
		w.Params.Keys = keys
	}
	return w
}
