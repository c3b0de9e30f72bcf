// Mvccpush asks a running program that has a service of package profiling, such as "mvccbench
// serve", and pushes what it says to OTLP endpoints and to Pyroscope until Ctrl-C:
//
//	mvccpush --from http://127.0.0.1:6060 --name bench \
//		--otlp http://127.0.0.1:4318 --pyroscope http://127.0.0.1:4040
//
// The environment variable MVCCPUSH_TOKEN has the token of the service, if it has one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/mvccmap/mvccmap/profiling/push"
)

// pairs are flags of the form NAME=VALUE.
type pairs map[string]string

// String implements [flag.Value].
func (p pairs) String() string { return "" }

// Set implements [flag.Value].
func (p pairs) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("expected NAME=VALUE")
	}
	p[name] = value
	return nil
}

// config returns what the arguments ask for, and for how long.
func config(args []string, stderr io.Writer) (cfg push.Config, d time.Duration, err error) {
	f := flag.NewFlagSet("mvccpush", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: mvccpush --from URL --name NAME [--otlp URL] [--pyroscope URL] ..."+
			"\nPush the figures and profiles of a program that has a service of package profiling.")
		f.PrintDefaults()
	}
	labels, otlp, pyroscope := pairs{}, pairs{}, pairs{}
	f.StringVar(&cfg.From, "from", "http://127.0.0.1:6060", "`URL` of the service")
	f.StringVar(&cfg.Name, "name", "", "what the program is called there: `NAME`")
	f.Var(labels, "label", "label or attribute, `NAME=VALUE`; may be repeated")
	base := f.String("otlp", "", "`URL` of an OTLP endpoint over HTTP, without /v1/metrics")
	profiles := f.Bool("otlp-profiles", true, "push profiles to it, too: a signal in development")
	f.Var(otlp, "otlp-header", "header for it, `NAME=VALUE`; may be repeated")
	f.StringVar(&cfg.Pyroscope.URL, "pyroscope", "", "`URL` of a Pyroscope server")
	f.Var(pyroscope, "pyroscope-header", "header for it, `NAME=VALUE`; may be repeated")
	f.BoolVar(&cfg.Delta, "delta", false, "counters and histograms are what came since the last push")
	f.DurationVar(&cfg.MetricsEvery, "metrics-every", 15*time.Second, "`TIME` from figures to figures")
	f.DurationVar(&cfg.ProfilesEvery, "profiles-every", time.Minute, "`TIME` from profiles to profiles")
	f.DurationVar(&cfg.Window, "window", 10*time.Second, "`TIME` that a cpu or wall profile takes")
	kinds := f.String("kinds", "cpu,wall,heap,allocs,mutex,block,goroutine", "`LIST` of profiles")
	f.DurationVar(&d, "duration", 0, "`TIME` after which to end; 0 for never")
	if err := f.Parse(args); err != nil {
		return cfg, d, err
	}
	cfg.Labels, cfg.Kinds = labels, strings.Split(*kinds, ",")
	cfg.Pyroscope.Headers, cfg.Token = pyroscope, os.Getenv("MVCCPUSH_TOKEN")
	for name, of := range map[string]time.Duration{"metrics-every": cfg.MetricsEvery,
		"profiles-every": cfg.ProfilesEvery, "window": cfg.Window} {
		if of <= 0 {
			return cfg, d, fmt.Errorf("--%s: expected a time above 0, such as 10s, not %v", name, of)
		}
	}
	switch {
	case f.NArg() > 0:
		return cfg, d, fmt.Errorf("expected flags only, not %q", f.Arg(0))
	case cfg.Name == "":
		return cfg, d, errors.New("--name: expected what the program is called")
	case *base == "" && cfg.Pyroscope.URL == "":
		return cfg, d, errors.New("expected --otlp or --pyroscope")
	case *base != "":
		at := strings.TrimSuffix(*base, "/")
		cfg.Metrics = push.Target{URL: at + "/v1/metrics", Headers: otlp}
		if *profiles {
			cfg.Profiles = push.Target{URL: at + "/v1development/profiles", Headers: otlp}
		}
	}
	return cfg, d, nil
}

// flushing bounds the time that the end takes.
const flushing = 10 * time.Second

// run pushes until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, d, err := config(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var p *push.Pusher
	if err == nil {
		cfg.Log = slog.New(slog.NewTextHandler(stderr, nil))
		p, err = push.Start(cfg)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mvccpush:", err)
		return 2
	}
	fmt.Fprintf(stderr, "pushing %s as %s; end with Ctrl-C\n", cfg.From, cfg.Name)
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushing)
	defer cancel()
	err = p.Close(ctx)
	s := p.Stats()
	for _, t := range []struct {
		name string
		of   push.TargetStats
	}{{"metrics", s.Metrics}, {"profiles", s.Profiles}, {"pyroscope", s.Pyroscope}} {
		if t.of != (push.TargetStats{}) {
			fmt.Fprintf(stdout, "%s: %d sent, %d dropped, %d attempts failed, %d points or profiles "+
				"rejected\n", t.name, t.of.Sent, t.of.Dropped, t.of.Failed, t.of.Rejected)
		}
	}
	if s.Missed > 0 {
		fmt.Fprintf(stdout, "%d pages and profiles missed: the service did not give them\n", s.Missed)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mvccpush:", err)
		return 1
	}
	return 0
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
