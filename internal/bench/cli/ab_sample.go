package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// A sideOrder says which side of a pair of samples is taken first. In every two pairs of a
// combination each side is first once.
type sideOrder struct {
	rnd   *rand.Rand
	first map[string]int // by combination, after an odd pair: the side that was first in it
}

func newSideOrder(seed uint64) *sideOrder {
	return &sideOrder{rnd: rand.New(rand.NewPCG(seed, 0)), first: map[string]int{}}
}

// nextPair returns the sides in the order in which a sample of each is taken.
func (l *sideOrder) nextPair(step bench.Step) [2]int {
	name := step.Config.Name()
	first, again := l.first[name]
	if again {
		delete(l.first, name)
		first = 1 - first
	} else {
		first = l.rnd.IntN(2)
		l.first[name] = first
	}
	return [2]int{first, 1 - first}
}

// swept are the labels that a side is given even for defaults: its own may be others.
var swept = []string{"keys", "read-pct", "theta", "txn-size", "value-size", "rate", "isolation"}

// arguments returns the command line by which a side takes one sample. All its flags exist since
// the first version, so that the side may be an old one.
func (a *ab) arguments(step bench.Step) []string {
	c := step.Config
	c.Swept = slices.Concat(c.Swept, swept)
	args := []string{"run", "--workload=" + c.Workload.Name}
	for _, l := range c.Labels() {
		args = append(args, "--"+l.Key+"="+l.Value)
	}
	// Each pair has another seed, or all samples would be of the same random choices.
	args = append(args, fmt.Sprint("--seed=", a.sweep.Seed+uint64(c.Sample)), "--count=1",
		"--warmup="+a.sweep.Warmup.String())
	if a.sweep.Ops > 0 {
		args = append(args, fmt.Sprint("--ops=", a.sweep.Ops))
	} else {
		args = append(args, "--duration="+a.sweep.Duration.String())
	}
	if c.LatencySample > 0 {
		args = append(args, fmt.Sprint("--latency-sample=", c.LatencySample))
	}
	if a.cmd.Profile {
		args = append(args, "--profile")
	}
	return append(args, "--http=off", "--quiet", "--output="+a.sampleFile())
}

// sampleFile returns the name of the file into which a side writes a sample.
func (a *ab) sampleFile() string { return filepath.Join(a.temp, "sample.json") }

// A sideError says that a program of a comparison has failed.
type sideError struct {
	who    string // the side, and its name as it was given
	args   []string
	code   int
	stderr string
}

func (e *sideError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s failed with exit code %d: %s\n%s", e.who, e.code,
		strings.Join(e.args, " "), e.stderr))
}

// sample has the side take a sample.
func (s *abSide) sample(ctx context.Context, a *ab, step bench.Step) (results.Sample, error) {
	var stderr bytes.Buffer
	c := command(ctx, s.program, a.arguments(step)...)
	c.Stderr = &stderr
	err := c.Run()
	who := fmt.Sprintf("%s (%s)", s.side, s.label)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return results.Sample{}, context.Cause(ctx)
	case errors.As(err, &exit):
		return results.Sample{}, &sideError{who, append([]string{s.program}, c.Args[1:]...),
			exit.ExitCode(), strings.TrimSpace(stderr.String())}
	case err != nil:
		return results.Sample{}, fmt.Errorf("%s: %w", who, err)
	}
	data, err := os.ReadFile(a.sampleFile())
	var r *results.Run
	if err == nil {
		err = os.Remove(a.sampleFile())
	}
	if err == nil {
		r, err = results.ReadNewer(bytes.NewReader(data))
	}
	if err == nil && len(r.Samples) != 1 {
		err = fmt.Errorf("%d samples instead of one", len(r.Samples))
	}
	if err != nil {
		return results.Sample{}, fmt.Errorf("%s: expected a record of one sample of %s: %w", who,
			strings.Join(c.Args, " "), err)
	}
	if len(s.run.Samples) == 0 {
		h := r.Header // with the command line, seed and count of the comparison
		h.Args, h.Notes = a.env.args, []string{"samples taken in turns with another program"}
		h.Seed, h.Count = a.sweep.Seed, a.sweep.Count
		s.run.Header = h
	}
	sample := r.Samples[0]
	if err := s.readProfiles(r.Profiles); err != nil {
		return sample, fmt.Errorf("%s: its profiles: %w", who, err)
	}
	// Both sides get the titles that we give: each program may leave out other defaults.
	title, _, _ := strings.Cut(step.Config.Name(), "/engine=")
	sample.Title, sample.Index = title, step.Config.Sample
	return sample, nil
}
