package cli

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/bench/results"
	"github.com/mvccmap/mvccmap/internal/proof/soak"
)

// verifyCmd is "mvccbench verify". The fields are the flags.
type verifyCmd struct {
	Duration time.Duration `help:"How long." default:"30s" placeholder:"TIME" group:"What to check"`

	Kind      []string `help:"Checks to make, in random order." default:"${enum_kinds}" placeholder:"NAME" group:"What to check"`
	Workers   *int     `help:"Number of goroutines; by default it varies from round to round." placeholder:"N" group:"What to check"`
	Keys      *int     `help:"Number of keys; by default it varies." placeholder:"N" group:"What to check"`
	Isolation string   `help:"Level of read-write transactions: serializable, snapshot or mixed." enum:"serializable,snapshot,mixed" default:"mixed" placeholder:"LEVEL" group:"What to check"`
	Seed      *uint64  `help:"Seed of the first round; those after it count on. By default another one each time." placeholder:"N" group:"What to check"`
	Repeat    bool     `help:"Repeat the parameters of the first round: with --seed, those of a round that was violated." group:"What to check"`
	Check     string   `help:"Run nothing, but judge a history that was saved." placeholder:"FILE" group:"What to check"`

	Out   string `help:"Save what was violated below the folder DIR, which is created then." default:"${program}-violations" placeholder:"DIR" group:"Output"`
	Quiet bool   `help:"Report no progress." short:"q" group:"Output"`

	HTTP string `name:"http" help:"Serve profiles of the running program on ADDR; auto is ${http_addr}, or a free port if that is taken; \"off\" or an empty address for none." default:"auto" placeholder:"ADDR" group:"Profiles in the browser"`
}

// Help is the text of --help beside the flags of the command.
func (c *verifyCmd) Help() string {
	var b strings.Builder
	b.WriteString("Runs random load on the map for a while and checks what it did, in rounds with " +
		"parameters of their own:\n\n")
	for _, k := range soak.Kinds() {
		fmt.Fprintf(&b, "    %-8s %s\n", k, k.Doc())
	}
	b.WriteString("\nThe exit code is 3 if something was violated. Then the history, an explanation " +
		"and the parameters have been saved.\n\n" +
		"As a soak; the parameters of one round, over and over:\n\n" +
		"    mvccbench verify --duration 10m\n" +
		"    mvccbench verify --seed 7 --repeat --duration 1m")
	return b.String()
}

// config returns the configuration of the flags.
func (c *verifyCmd) config() (soak.Config, error) {
	cfg := soak.Config{
		Duration: c.Duration, Repeat: c.Repeat, Dir: c.Out,
		Snapshot: map[string]int{"serializable": 0, "snapshot": 100, "mixed": -1}[c.Isolation],
	}
	if err := CheckNames("--kind", "check", c.Kind, kindNames()); err != nil {
		return cfg, err
	}
	for _, k := range soak.Kinds() {
		if slices.Contains(c.Kind, string(k)) {
			cfg.Kinds = append(cfg.Kinds, k)
		}
	}
	err := cmp.Or(
		numbers("--duration", listOf(&c.Duration), "a time above 0, such as 30s",
			within(1, forever)),
		numbers("--workers", listOf(c.Workers),
			fmt.Sprintf("a number from 1 to %d", soak.MaxWorkers), within(1, soak.MaxWorkers)),
		numbers("--keys", listOf(c.Keys),
			fmt.Sprintf("a number from 1 to %d", soak.MaxKeys), within(1, soak.MaxKeys)))
	if err != nil {
		return cfg, err
	}
	cfg.Workers, cfg.Keys = given(c.Workers, 0), given(c.Keys, 0)
	// Small numbers are easier to type again.
	cfg.Seed = given(c.Seed, rand.Uint64N(1_000_000_000))
	return cfg, nil
}

// Run carries "mvccbench verify" out; the parser calls it.
func (c *verifyCmd) Run(e *Env) error {
	if c.Check != "" {
		return c.checkFile(e)
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	profiles, err := serve(served{program: e.Name, addr: c.HTTP})
	if err != nil {
		return err
	}
	defer profiles.close()
	if profiles != nil {
		fmt.Fprintf(e.stderr, "profiles: %s\n", profiles.url())
	}
	said := e.statusOut(c.Quiet)
	fmt.Fprintf(said, "seed %d\n", cfg.Seed)
	p := newProgress(said, 5*time.Second)
	cfg.Target = e.target
	cfg.Start = func(r soak.Round, so soak.Totals) {
		if profiles != nil {
			profiles.phase("verify, " + r.String())
		}
		p.set(func(now time.Time) string {
			return fmt.Sprintf("[%v/%v] %s transactions checked; %v",
				now.Sub(p.started).Truncate(time.Second), c.Duration, humanize.Count(so.Transactions), r)
		})
	}
	cfg.Done = func(r soak.Round, o soak.Outcome) {
		if o.Violation != nil {
			p.aside(func() {
				describeViolation(e.stderr, o.Violation, true)
				fmt.Fprintf(e.stderr, "repeat it: %s\n", c.repeat(e.Name, r))
			})
		}
	}
	report, err := soak.Run(e.ctx, cfg)
	p.close()
	if w := writeReport(e.stdout, report, fmt.Sprintf("%s from seed %d: ", roundsIn(report),
		cfg.Seed)); w != nil && err == nil {
		err = fmt.Errorf("writing the results: %w", w)
	}
	if e.ctx.Err() != nil && !c.Quiet {
		fmt.Fprintf(e.stderr, "interrupted after %s\n", roundsIn(report))
	}
	return cmp.Or(report.Err(), err, verified(report))
}

// verified returns an error if there was nothing that could have been violated.
func verified(r *soak.Report) error {
	if t := r.Totals(); t.Transactions == 0 {
		return fmt.Errorf("%w: no transaction was verified", errCannotTell)
	}
	return nil
}

// repeat returns the command line of program that repeats a round's parameters.
func (c *verifyCmd) repeat(program string, r soak.Round) string {
	s := fmt.Sprintf("%s verify --seed %d --repeat", program, r.Seed)
	if c.Workers != nil {
		s += fmt.Sprintf(" --workers %d", *c.Workers)
	}
	if c.Keys != nil {
		s += fmt.Sprintf(" --keys %d", *c.Keys)
	}
	if c.Isolation != "mixed" {
		s += " --isolation " + c.Isolation
	}
	return s
}

// checkFile judges a history that was saved.
func (c *verifyCmd) checkFile(e *Env) error {
	f, err := os.Open(c.Check)
	if err != nil {
		return usagef("--check: expected a file with a history: %w", err)
	}
	defer f.Close()
	report, err := soak.CheckFile(f)
	if err != nil {
		return usagef("--check: %s: %w", c.Check, err)
	}
	if v := report.Violation; v != nil {
		describeViolation(e.stderr, v, false)
	}
	if err := writeReport(e.stdout, report, ""); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return cmp.Or(report.Err(), verified(report))
}

// shownLines is how much of an explanation is shown if all of it was saved.
const shownLines = 24

func describeViolation(w io.Writer, v *soak.Violation, saved bool) {
	fmt.Fprintf(w, "\nVIOLATED: %s\n", v.Summary)
	if saved {
		fmt.Fprintf(w, "in %v\n", v.Round)
	}
	lines := strings.Split(strings.TrimSpace(v.Detail), "\n")
	if saved && v.SaveErr == nil && len(lines) > shownLines {
		lines = append(lines[:shownLines], fmt.Sprintf("... and %d more lines", len(lines)-shownLines))
	}
	fmt.Fprintf(w, "%s\n\n", strings.Join(lines, "\n"))
	switch {
	case v.SaveErr != nil:
		fmt.Fprintf(w, "could not be saved: %v\n", v.SaveErr)
	case v.Folder != "":
		fmt.Fprintf(w, "saved in: %s\n", v.Folder)
	}
}

// writeReport writes the table of the checks and, after head, the verdict.
func writeReport(w io.Writer, r *soak.Report, head string) error {
	rows := [][]string{{"check", "rounds", "transactions", "ops", "aborted", "dependencies",
		"violated", "time"}}
	row := func(name string, t soak.Totals) {
		rows = append(rows, []string{name, fmt.Sprint(t.Rounds), fmt.Sprint(t.Transactions),
			humanize.Count(t.Operations),
			fmt.Sprint(t.Aborted), humanize.Count(t.Dependencies), fmt.Sprint(t.Violations),
			humanize.Time(t.Time)})
	}
	for _, k := range r.Kinds {
		row(string(k.Kind), k.Totals)
	}
	total := r.Totals()
	if len(r.Kinds) > 1 {
		row("total", total)
	}
	var b strings.Builder
	_ = results.Plain.Write(&b, rows, func(column int) bool { return column == 0 })
	if total.Undecided > 0 {
		fmt.Fprintf(&b, "%d keys of %s could not be judged in time, and count neither way\n",
			total.Undecided, soak.OneKey)
	}
	var left []string
	for _, k := range r.Kinds {
		if k.Transactions == 0 {
			left = append(left, string(k.Kind))
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "nothing was checked by %s\n", strings.Join(left, ", "))
	}
	verdict := "nothing was violated"
	if r.Violation != nil {
		verdict = "VIOLATED: " + r.Violation.Error()
	}
	fmt.Fprintf(&b, "%s%s\n", head, verdict)
	_, err := io.WriteString(w, b.String())
	return err
}

// roundsIn says how many rounds there were, and how long they took.
func roundsIn(r *soak.Report) string {
	rounds := "rounds"
	if r.Rounds == 1 {
		rounds = "round"
	}
	return fmt.Sprintf("%d %s in %s", r.Rounds, rounds, humanize.Time(r.Elapsed))
}
