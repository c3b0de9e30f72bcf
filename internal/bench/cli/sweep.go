package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/humanize"
	"github.com/mvccmap/mvccmap/internal/bench/results"
)

// sweep returns the sweep of the flags, and checks the flags that are no part of it, too.
func (c *runCmd) sweep(e *Env) (bench.Sweep, error) {
	flags := c.sweepFlags
	if c.Slow != "" && c.LatencySample == 0 {
		flags.LatencySample = 1 // every operation is timed
	}
	if len(c.FindRate) > 0 {
		flags.Rate = []float64{findsRate}
	}
	s, err := flags.sweep(e)
	return s, cmp.Or(err, c.check())
}

// findsRate stands for the rates that --find-rate tries.
const findsRate = 1e6

// sweep returns the sweep of the flags. An error names the wrong flag and the expected value.
func (c *sweepFlags) sweep(e *Env) (bench.Sweep, error) {
	s := bench.Sweep{
		Threads:       c.Threads,
		Rates:         c.Rate,
		Count:         c.Count,
		Warmup:        c.Warmup,
		Ops:           given(c.Ops, 0),
		Arrival:       bench.Arrival(c.Arrival),
		Seed:          c.Seed,
		AuditInterval: c.AuditInterval,
		LatencySample: c.LatencySample,
	}
	if c.Ops == nil {
		s.Duration = given(c.Duration, defaultDuration)
	}
	if c.Retries != nil {
		s.Attempts = *c.Retries + 1
	}
	if err := c.checkNumbers(); err != nil {
		return s, err
	}
	var err error
	if s.Workloads, err = c.workloads(e.Workloads); err != nil {
		return s, err
	}
	if s.Engines, err = namedEngines("--engine", c.Engine, e.Engines); err != nil {
		return s, err
	}
	if s.Isolations, err = c.isolations(); err != nil {
		return s, err
	}
	if err := checkRate(s); err != nil {
		return s, err
	}
	steps, skips := s.Combinations()
	if len(steps) == 0 {
		return s, usagef("--engine: none of %s can run %s: %s",
			strings.Join(c.Engine, ", "), strings.Join(c.Workload, ", "), skips[0].Why)
	}
	return s, checkMemory(steps, results.Memory())
}

// checkMemory returns an error if a map would not fit into so many bytes of memory. 0 stands for a
// machine that does not tell, and gives no error.
func checkMemory(steps []bench.Step, memory float64) error {
	for _, step := range steps {
		if need := step.Config.Bytes(); memory > 0 && need > memory {
			w := step.Config.Workload
			return usagef("--keys, --value-size: the keys and values of %s would be %sB, and this machine "+
				"has %sB of memory",
				w.Name, humanize.Number(need), humanize.Number(memory))
		}
	}
	return nil
}

// workloads returns every variant of every workload that was named.
func (c *sweepFlags) workloads(known []bench.Workload) ([]bench.Workload, error) {
	if err := CheckNames("--workload", "workload", c.Workload, namesOf(known, nameOf)); err != nil {
		return nil, err
	}
	var named []bench.Workload
	for _, name := range c.Workload {
		named = append(named, known[slices.IndexFunc(known, func(w bench.Workload) bool { return w.Name == name })])
	}
	params, err := c.params()
	if err != nil {
		return nil, err
	}
	used := make([]bool, len(params))
	var list []bench.Workload
	for _, w := range named {
		variants := []bench.Workload{w}
		for i, p := range params {
			if !w.Takes(p.sets[0]) {
				continue
			}
			used[i] = true
			var more []bench.Workload
			for _, v := range variants {
				for _, set := range p.sets {
					with, err := v.With(set)
					if err != nil {
						return nil, usagef("%s: %w", p.flag, err)
					}
					more = append(more, with)
				}
			}
			variants = more
		}
		list = append(list, variants...)
	}
	for i, p := range params {
		if !used[i] {
			return nil, usagef("%s: no parameter of %s; expected one of %s", p.flag,
				strings.Join(c.Workload, ", "), strings.Join(workloadsTaking(known, p.sets[0]), ", "))
		}
	}
	return list, nil
}

// param is one parameter that was given by a flag, with all its values.
type param struct {
	flag string
	sets []bench.Params // each has one value, the rest is unset
}

func (c *sweepFlags) params() ([]param, error) {
	sizes, err := parseSizes(c.ValueSize)
	if err != nil {
		return nil, err
	}
	var all []param
	for _, p := range []param{
		{"--keys", each(c.Keys, func(p *bench.Params, v int) { p.Keys = v })},
		{"--read-pct", each(c.ReadPct, func(p *bench.Params, v int) { p.ReadPct = v })},
		{"--theta", each(c.Theta, func(p *bench.Params, v float64) { p.Theta = v })},
		{"--txn-size", each(c.TxnSize, func(p *bench.Params, v int) { p.TxnSize = v })},
		{"--value-size", each(sizes, func(p *bench.Params, v bench.ValueSize) { p.ValueSize = v })},
	} {
		if len(p.sets) > 0 {
			all = append(all, p)
		}
	}
	return all, nil
}

// each returns parameters for each value.
func each[T any](values []T, set func(p *bench.Params, v T)) []bench.Params {
	var list []bench.Params
	for _, v := range values {
		p := bench.NoParams
		set(&p, v)
		list = append(list, p)
	}
	return list
}

// parseSizes reads sizes such as 100 and 16-1024.
func parseSizes(texts []string) ([]bench.ValueSize, error) {
	var list []bench.ValueSize
	for _, text := range texts {
		low, high, ranged := strings.Cut(text, "-")
		if !ranged {
			high = low
		}
		a, err1 := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		if errors.Join(err1, err2) != nil || a < 1 || b < a {
			return nil, usagef("--value-size: expected bytes from 1 up such as 100, or a range such as "+
				"16-1024, not %q", text)
		}
		size := bench.ValueSize{Min: a, Max: b}
		if slices.Contains(list, size) {
			return nil, usagef("--value-size: %s is given twice", text)
		}
		list = append(list, size)
	}
	return list, nil
}

func workloadsTaking(known []bench.Workload, p bench.Params) []string {
	var names []string
	for _, w := range known {
		if w.Takes(p) {
			names = append(names, w.Name)
		}
	}
	return names
}

// namedEngines returns the engines that were named.
func namedEngines(
	flag string, names []string, known []bench.EngineSpec,
) ([]bench.EngineSpec, error) {
	if err := CheckNames(flag, "engine", names, engineNames(known)); err != nil {
		return nil, err
	}
	var list []bench.EngineSpec
	for _, name := range names {
		i := slices.IndexFunc(known, func(e bench.EngineSpec) bool { return e.Name == name })
		list = append(list, known[i])
	}
	return list, nil
}

func (c *sweepFlags) isolations() ([]bench.Isolation, error) {
	if len(c.Isolation) == 0 {
		return nil, nil
	}
	if err := CheckNames("--isolation", "level", c.Isolation, []string{string(bench.Serializable),
		string(bench.Snapshot)}); err != nil {
		return nil, err
	}
	var list []bench.Isolation
	for _, name := range c.Isolation {
		list = append(list, bench.Isolation(name))
	}
	return list, nil
}

// checkRate checks that the rates make sense with the rest of s.
func checkRate(s bench.Sweep) error {
	open := false
	for _, rate := range s.Rates {
		open = open || rate > 0
		if rate > 0 && s.Ops == 0 && rate*s.Duration.Seconds() < 1 {
			return usagef("--rate: at %v operations per second there is less than one in %v; expected a "+
				"higher rate, or a longer --duration", rate, s.Duration)
		}
	}
	if !open && s.Arrival != bench.FixedArrivals {
		return usagef("--arrival: nothing arrives in a closed loop; expected --rate with it")
	}
	return nil
}

// checkNumbers checks each flag by itself.
func (c *sweepFlags) checkNumbers() error {
	const (
		positive, some      = "a number of 1 or more", "a number of 0 or more"
		aboveZero, fromZero = "a time above 0, such as ", "a time of 0 or more, such as "
	)
	return cmp.Or(
		numbers("--threads", c.Threads, fmt.Sprintf("numbers from 1 to %d", bench.MaxThreads),
			within(1, bench.MaxThreads)),
		numbers("--rate", c.Rate, fmt.Sprintf("operations per second up to %d", int(bench.MaxRate)),
			within(0, bench.MaxRate)),
		numbers("--keys", c.Keys, positive, within(1, math.MaxInt)),
		numbers("--theta", c.Theta, some, within(0, math.Inf(1))),
		numbers("--read-pct", c.ReadPct, "a percentage from 0 to 100", within(0, 100)),
		numbers("--txn-size", c.TxnSize, positive, within(1, math.MaxInt)),
		numbers("--count", []int{c.Count}, positive, within(1, math.MaxInt)),
		numbers("--duration", listOf(c.Duration), aboveZero+"200ms", within(1, forever)),
		numbers("--ops", listOf(c.Ops), positive, within[uint64](1, math.MaxUint64)),
		numbers("--warmup", listOf(&c.Warmup), fromZero+"50ms", within(0, forever)),
		numbers("--latency-sample", []int{c.LatencySample}, some, within(0, math.MaxInt32)),
		numbers("--retries", listOf(c.Retries), some, within(0, math.MaxInt32-1)),
		numbers("--audit-interval", listOf(&c.AuditInterval), fromZero+"10ms", within(0, forever)),
	)
}

// check checks the flags that are no part of the sweep.
func (c *runCmd) check() error {
	switch {
	case c.Interval != nil && *c.Interval <= 0:
		return usagef("--interval: expected a time above 0, such as 1s, not %v", *c.Interval)
	case c.Slow != "" && !serves(c.HTTP):
		return usagef("--slow: expected an address in --http: it is there that slow operations are " +
			"explained")
	}
	return nil
}
