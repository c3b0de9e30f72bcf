package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/etcd/etcdtest/nemesis"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/cli"
	"github.com/mvccmap/mvccmap/internal/results"
)

// verifyCmd is "etcdbench verify".
type verifyCmd struct {
	cluster *cluster

	Duration time.Duration `help:"How long; each fault has one round in any case." default:"30s" placeholder:"TIME" group:"How long"`
	Round    time.Duration `help:"How long faults are made in one round." default:"10s" placeholder:"TIME" group:"How long"`

	Engine string   `help:"What to check." enum:"etcd" default:"etcd" placeholder:"NAME" group:"What to check"`
	Fault  []string `help:"Faults to make, in random order; by default all." placeholder:"NAME" group:"What to check"`
	Seed   *uint64  `help:"Seed of the first round; those after it count on. By default another one each time." placeholder:"N" group:"What to check"`

	Out   string `help:"Save what was violated below the folder DIR, which is created then." default:"etcdbench-violations" placeholder:"DIR" group:"Output"`
	Quiet bool   `help:"Report no progress." short:"q" group:"Output"`
}

// Help is what --help says of the command beside its flags.
func (c *verifyCmd) Help() string {
	var b strings.Builder
	b.WriteString("Checks module etcd over three members and three clients, each a process of its own, in " +
		"rounds. In each of them something goes wrong again and again:\n")
	for _, f := range nemesis.Faults() {
		fmt.Fprintf(&b, "  %-15s %s\n", f.Name, f.Doc)
	}
	b.WriteString("Transactions must be strictly serializable, those that look by index keys too, views whole and " +
		"never waiting, records gone at their time and not before, counters what was committed, and " +
		"replicas equal at the end. The exit code is 3 if something was violated. Then " +
		"the history and an explanation have been saved; mvccbench verify --check judges a history again.")
	return b.String()
}

// totals are those of all rounds of one fault.
type totals struct {
	rounds, transactions, commits, wrong int
	unclear, unknown, resyncs            uint64
	gap, death                           time.Duration
	deaths                               int
	views, stalled                       int64
	longest                              time.Duration
}

func (t *totals) add(o nemesis.Outcome) {
	t.rounds++
	t.transactions += o.Transactions
	t.commits += o.Commits
	t.wrong += len(o.Wrong)
	t.unclear += o.Unclear
	t.unknown += o.Unknown
	t.resyncs += o.Resyncs
	t.gap, t.death = max(t.gap, o.Gap), max(t.death, o.DeathGap)
	t.deaths += o.Deaths
	t.views += o.Views
	t.stalled += o.Stalled
	t.longest = max(t.longest, o.LongestView)
}

// Run carries "etcdbench verify" out; the parser calls it.
func (c *verifyCmd) Run(e *cli.Env) error {
	switch {
	case c.Duration <= 0:
		return cli.UsageError(fmt.Errorf("--duration: expected a time above 0, not %v", c.Duration))
	case c.Round <= 0:
		return cli.UsageError(fmt.Errorf("--round: expected a time above 0, not %v", c.Round))
	case c.Out == "":
		return cli.UsageError(errors.New("--out: expected the name of a folder"))
	case len(c.cluster.Endpoints) > 0:
		return cli.UsageError(errors.New("--endpoints: expected none: verify has members of its own, which it kills"))
	}
	if len(c.Fault) == 0 {
		c.Fault = nemesis.FaultNames()
	}
	if err := cli.CheckNames("--fault", "fault", c.Fault, nemesis.FaultNames()); err != nil {
		return err
	}
	seed := rand.Uint64N(1_000_000_000)
	if c.Seed != nil {
		seed = *c.Seed
	}
	said := func(format string, args ...any) {
		if !c.Quiet {
			fmt.Fprintf(e.Stderr(), format+"\n", args...)
		}
	}
	said("seed %d", seed)
	began := time.Now()
	at := func() time.Duration { return time.Since(began).Round(time.Second) }
	all := map[string]*totals{}
	err := nemesis.Run(e.Context(), nemesis.Config{Faults: c.Fault, Seed: seed, Duration: c.Duration,
		Round: c.Round, Server: c.cluster.Server,
		Start: func(r nemesis.RoundConfig) { said("[%v/%v] %v", at(), c.Duration, r) },
		Done: func(o nemesis.Outcome) {
			if all[o.Fault] == nil {
				all[o.Fault] = &totals{}
			}
			all[o.Fault].add(o)
		}})
	verdict := "nothing was violated"
	var v *nemesis.Violation
	if errors.As(err, &v) {
		verdict = "VIOLATED: " + v.Error()
		fmt.Fprintf(e.Stderr(), "\nVIOLATED: %v\n%s\n%s", v.RoundConfig, strings.Join(v.Wrong, "\n"), v.Detail)
		folder, saved := save(c.Out, v)
		if saved != nil {
			fmt.Fprintf(e.Stderr(), "could not be saved: %v\n", saved)
		} else {
			fmt.Fprintf(e.Stderr(), "saved in: %s\n", folder)
		}
		fmt.Fprintf(e.Stderr(), "repeat it: etcdbench verify --fault %s --seed %d --round %v\n", v.Fault, v.Seed,
			c.Round)
		err = &bench.Violation{Workload: v.Fault, Engine: c.Engine, Threads: 3, Detail: v.Wrong[0]}
	}
	checked, wrote := c.write(e, all, fmt.Sprintf("%v from seed %d: %s\n", at(), seed, verdict))
	if e.Context().Err() != nil {
		said("interrupted")
	}
	switch {
	case err != nil || wrote != nil:
		return cmp.Or(err, wrote)
	case checked == 0:
		return cli.CannotTell("no transaction was verified")
	}
	return nil
}

// write writes the table, and returns how many transactions were checked.
func (c *verifyCmd) write(e *cli.Env, all map[string]*totals, verdict string) (checked int, err error) {
	rows := [][]string{{"fault", "rounds", "transactions", "commits", "violated", "unclear", "unknown",
		"resyncs", "without commits", "leader killed", "views", "stalled", "longest"}}
	for _, name := range nemesis.FaultNames() {
		t := all[name]
		if t == nil {
			continue
		}
		death := "-"
		if t.deaths > 0 {
			death = fmt.Sprintf("%d: %s", t.deaths, brief.Time(t.death))
		}
		checked += t.transactions
		rows = append(rows, []string{name, fmt.Sprint(t.rounds), fmt.Sprint(t.transactions),
			fmt.Sprint(t.commits), fmt.Sprint(t.wrong), fmt.Sprint(t.unclear), fmt.Sprint(t.unknown),
			fmt.Sprint(t.resyncs), brief.Time(t.gap), death, brief.Count(int(t.views)), fmt.Sprint(t.stalled),
			brief.Time(t.longest)})
	}
	if err := results.Plain.Write(e.Stdout(), rows, func(column int) bool { return column == 0 }); err != nil {
		return checked, err
	}
	_, err = fmt.Fprintf(e.Stdout(), "%d transactions checked in %s", checked, verdict)
	return checked, err
}

// save writes what was violated into a new folder below dir.
func save(dir string, v *nemesis.Violation) (folder string, err error) {
	folder = filepath.Join(dir, fmt.Sprintf("%s-%d", v.Fault, v.Seed))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	f, err := os.Create(filepath.Join(folder, "history.jsonl"))
	if err != nil {
		return "", err
	}
	text := slices.Concat([]string{v.RoundConfig.String()}, v.Wrong, []string{v.Detail})
	return folder, errors.Join(v.History.Write(f), f.Close(),
		os.WriteFile(filepath.Join(folder, "report.txt"), []byte(strings.Join(text, "\n")), 0o666))
}
