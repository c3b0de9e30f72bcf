// Command etcdbench checks module etcd over three members and three clients, each a process of its
// own, while members, clients and networks fail, see package nemesis:
//
//	go run -C etcd/etcdtest ./cmd/etcdbench verify --duration 10m
//
// It prints a line of the form of Go benchmarks for each round. The exit code is 1 if a round could
// not be run, 2 if an argument is wrong, 3 if something was violated, 130 if it was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mvccmap/mvccmap/etcd/etcdtest/nemesis"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitViolated    = 3
	exitInterrupted = 130
)

func main() {
	nemesis.Main() // does not return in a member or client
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run carries out the command, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, folder, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		fmt.Fprintln(stderr, "etcdbench:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "seed", cfg.Seed)
	began, checked := time.Now(), 0
	err = nemesis.Run(ctx, cfg, func(o nemesis.Outcome) {
		checked += o.Transactions
		fmt.Fprintln(stdout, o)
	})
	var v *nemesis.Violation
	switch {
	case errors.As(err, &v):
		fmt.Fprintf(stderr, "VIOLATED: %v\n%s\n%s\nrepeat it: etcdbench verify --fault %s --seed %d "+
			"--round %v\n", v.RoundConfig, strings.Join(v.Wrong, "\n"), v.Detail, v.Fault, v.Seed, cfg.Round)
		if err := save(folder, v); err != nil {
			fmt.Fprintln(stderr, "etcdbench: it could not be saved:", err)
		}
		return exitViolated
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interrupted")
		return exitInterrupted
	case err == nil && checked == 0:
		err = errors.New("no transaction was checked")
	}
	if err != nil {
		fmt.Fprintln(stderr, "etcdbench:", err)
		return exitFailed
	}
	fmt.Fprintf(stdout, "%d transactions checked in %v from seed %d: nothing was violated\n",
		checked, time.Since(began).Round(time.Second), cfg.Seed)
	return 0
}

// parse returns the configuration in the arguments, and the folder of violations.
func parse(args []string, stderr io.Writer) (cfg nemesis.Config, folder string, err error) {
	if len(args) == 0 || args[0] != "verify" {
		return cfg, "", fmt.Errorf("expected the command verify, not %q", args)
	}
	flags := flag.NewFlagSet("etcdbench verify", flag.ContinueOnError)
	flags.SetOutput(stderr)
	faults := flags.String("fault", "", "faults, with commas between them; by default all:\n"+about())
	flags.DurationVar(&cfg.Duration, "duration", 30*time.Second,
		"how long; each fault has a round in any case")
	flags.DurationVar(&cfg.Round, "round", 10*time.Second, "how long faults are made in one round")
	flags.Uint64Var(&cfg.Seed, "seed", rand.Uint64N(1_000_000_000),
		"seed of the first round; those after it count on")
	flags.StringVar(&cfg.Server, "server", "",
		"a program etcd, of another version maybe, to run as members")
	flags.StringVar(&folder, "out", "etcdbench-violations", "where to save violations")
	if err := flags.Parse(args[1:]); err != nil {
		return cfg, "", err
	}
	if *faults != "" {
		cfg.Faults = strings.Split(*faults, ",")
	}
	for _, name := range cfg.Faults {
		if all := nemesis.FaultNames(); !slices.Contains(all, name) {
			return cfg, "", fmt.Errorf("--fault: expected some of %s, not %q", all, name)
		}
	}
	switch {
	case flags.NArg() > 0:
		return cfg, "", fmt.Errorf("expected no arguments after the flags, not %q", flags.Args())
	case cfg.Duration <= 0 || cfg.Round <= 0:
		return cfg, "", fmt.Errorf("expected times above 0, not --duration %v --round %v",
			cfg.Duration, cfg.Round)
	}
	return cfg, folder, nil
}

// about lists the faults.
func about() string {
	var b strings.Builder
	for _, f := range nemesis.Faults() {
		fmt.Fprintf(&b, "%-15s %s\n", f.Name, f.Doc)
	}
	return b.String()
}

// save writes a violation into a new folder: "mvccbench verify --check" judges the history again.
func save(dir string, v *nemesis.Violation) error {
	folder := filepath.Join(dir, fmt.Sprintf("%s-%d", v.Fault, v.Seed))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, "history.jsonl"))
	if err != nil {
		return err
	}
	report := strings.Join(append(v.Wrong, v.Detail), "\n")
	return errors.Join(v.History.Write(f), f.Close(),
		os.WriteFile(filepath.Join(folder, "report.txt"), []byte(report), 0o666))
}
