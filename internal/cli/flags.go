package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// runCmd is "mvccbench run". The fields are the flags.
type runCmd struct {
	Workload []string `help:"Workloads to run: ${enum_workloads}." default:"read-heavy,write-heavy,transfer" placeholder:"NAME" group:"What to run"`
	Engine   []string `help:"Maps to run them on: ${enum_engines}. Their samples alternate." default:"mvcc,rwmutex" placeholder:"NAME" group:"What to run"`
	Threads  []int    `help:"Numbers of goroutines, each of which is measured." default:"1,2,4,8" placeholder:"N" group:"What to run"`

	Count    int           `help:"Samples of each combination; benchstat wants at least 6." default:"6" placeholder:"N" group:"How long"`
	Duration time.Duration `help:"Length of a sample." default:"200ms" placeholder:"TIME" group:"How long"`
	Warmup   time.Duration `help:"Length of the warm-up before each sample." default:"50ms" placeholder:"TIME" group:"How long"`

	Keys          *int          `help:"Number of keys." placeholder:"N" group:"Parameters of the workloads"`
	Theta         *float64      `help:"Skew of the Zipf distribution, from 0 (uniform) up." placeholder:"X" group:"Parameters of the workloads"`
	ReadPct       *int          `help:"Percentage of operations that read." placeholder:"PCT" group:"Parameters of the workloads"`
	Isolation     string        `help:"Level of read-write transactions: serializable or snapshot." enum:"serializable,snapshot" default:"serializable" placeholder:"LEVEL" group:"Parameters of the workloads"`
	AuditInterval time.Duration `help:"Time from one audit to the next; 0 for no pause between them." default:"${audit_interval}" placeholder:"TIME" group:"Parameters of the workloads"`
	Seed          uint64        `help:"Seed of all random choices." default:"1" placeholder:"N" group:"Parameters of the workloads"`

	LatencySample int           `help:"Time one operation in N, at random distances; 0 chooses N so that reading the clock takes less than 1 % of the time." default:"0" placeholder:"N" group:"Output"`
	Format        string        `help:"Format of the results: bench, the Go benchmark format." enum:"bench" default:"bench" placeholder:"FORMAT" group:"Output"`
	Output        string        `help:"Write the results to FILE instead of standard output." short:"o" placeholder:"FILE" group:"Output"`
	Interval      time.Duration `help:"Time between two progress reports while a sample runs." default:"1s" placeholder:"TIME" group:"Output"`
	Quiet         bool          `help:"Report no progress and no summary." short:"q" group:"Output"`

	HTTP string `name:"http" help:"Serve profiles of the running program on ADDR, or on a free port if its port is taken; \"off\" or an empty address for none." default:"${http_addr}" placeholder:"ADDR" group:"Profiles in the browser"`
	Hold bool   `help:"When all is measured, keep serving until Ctrl-C." group:"Profiles in the browser"`
}

// vars are the names in the help texts that come from elsewhere.
func vars(engines []bench.EngineSpec) map[string]string {
	return map[string]string{
		"enum_workloads": strings.Join(workloadNames(), ", "),
		"enum_kinds":     strings.Join(kindNames(), ","),
		"enum_engines":   strings.Join(engineNames(engines), ", "),
		"audit_interval": bench.DefaultAuditInterval.String(),
		"http_addr":      defaultHTTP,
		"version":        programName + " " + version(),
	}
}

func workloadNames() []string {
	var names []string
	for _, w := range bench.Workloads() {
		names = append(names, w.Name)
	}
	return names
}

func engineNames(engines []bench.EngineSpec) []string {
	var names []string
	for _, e := range engines {
		names = append(names, e.Name)
	}
	return names
}

// sweep returns what the flags ask for. An error names the flag that is wrong
// and says what would be right.
func (c *runCmd) sweep(engines []bench.EngineSpec) (bench.Sweep, error) {
	s := bench.Sweep{
		Threads:       c.Threads,
		Count:         c.Count,
		Warmup:        c.Warmup,
		Duration:      c.Duration,
		Isolation:     bench.Isolation(c.Isolation),
		Seed:          c.Seed,
		LatencySample: c.LatencySample,
		AuditInterval: c.AuditInterval,
	}
	if err := c.checkNumbers(); err != nil {
		return s, err
	}
	var err error
	if s.Workloads, err = c.workloads(); err != nil {
		return s, err
	}
	if s.Engines, err = c.engines(engines); err != nil {
		return s, err
	}
	if steps, skips := s.Steps(); len(steps) == 0 {
		return s, usagef("--engine: none of %s can run %s: %s",
			strings.Join(c.Engine, ", "), strings.Join(c.Workload, ", "), skips[0].Why)
	}
	return s, nil
}

func (c *runCmd) workloads() ([]bench.Workload, error) {
	if err := checkList("--workload", "workload", c.Workload, workloadNames()); err != nil {
		return nil, err
	}
	var list []bench.Workload
	for _, name := range c.Workload {
		w, _ := bench.WorkloadByName(name)
		list = append(list, w)
	}
	for _, p := range c.params() {
		used := false
		for i, w := range list {
			if !w.Takes(p.set) {
				continue
			}
			used = true
			var err error
			if list[i], err = w.With(p.set); err != nil {
				return nil, usagef("%s: %w", p.flag, err)
			}
		}
		if !used {
			return nil, usagef("%s: no parameter of %s; expected one of %s", p.flag,
				strings.Join(c.Workload, ", "), strings.Join(workloadsTaking(p.set), ", "))
		}
	}
	return list, nil
}

// param is one parameter that was given by a flag.
type param struct {
	flag string
	set  bench.Params
}

func (c *runCmd) params() []param {
	var list []param
	add := func(flag string, set func(p *bench.Params)) {
		p := bench.NoParams
		set(&p)
		list = append(list, param{flag, p})
	}
	if c.Keys != nil {
		add("--keys", func(p *bench.Params) { p.Keys = *c.Keys })
	}
	if c.ReadPct != nil {
		add("--read-pct", func(p *bench.Params) { p.ReadPct = *c.ReadPct })
	}
	if c.Theta != nil {
		add("--theta", func(p *bench.Params) { p.Theta = *c.Theta })
	}
	return list
}

func workloadsTaking(p bench.Params) []string {
	var names []string
	for _, w := range bench.Workloads() {
		if w.Takes(p) {
			names = append(names, w.Name)
		}
	}
	return names
}

func (c *runCmd) engines(known []bench.EngineSpec) ([]bench.EngineSpec, error) {
	if err := checkList("--engine", "engine", c.Engine, engineNames(known)); err != nil {
		return nil, err
	}
	var list []bench.EngineSpec
	for _, name := range c.Engine {
		i := slices.IndexFunc(known, func(e bench.EngineSpec) bool { return e.Name == name })
		list = append(list, known[i])
	}
	return list, nil
}

// checkList checks a list of names: known, and named once.
func checkList(flag, what string, names, known []string) error {
	if len(names) == 0 {
		return usagef("%s: no %s given; expected one or more of %s", flag, what, strings.Join(known, ", "))
	}
	for i, name := range names {
		if !slices.Contains(known, name) {
			return usagef("%s: unknown %s %q; expected one or more of %s", flag, what, name, strings.Join(known, ", "))
		}
		if slices.Contains(names[:i], name) {
			return usagef("%s: %s %q is named twice", flag, what, name)
		}
	}
	return nil
}

func (c *runCmd) checkNumbers() error {
	if len(c.Threads) == 0 {
		return usagef("--threads: no number given; expected one or more from 1 to %d", bench.MaxThreads)
	}
	for i, n := range c.Threads {
		if n < 1 || n > bench.MaxThreads {
			return usagef("--threads: expected numbers from 1 to %d, not %d", bench.MaxThreads, n)
		}
		if slices.Contains(c.Threads[:i], n) {
			return usagef("--threads: %d is given twice", n)
		}
	}
	for _, f := range []struct {
		flag    string
		value   any
		ok      bool
		expects string
	}{
		{"--keys", deref(c.Keys), c.Keys == nil || *c.Keys >= 1, "a number of 1 or more"},
		{"--read-pct", deref(c.ReadPct), c.ReadPct == nil || *c.ReadPct >= 0, "a percentage from 0 to 100"},
		{"--theta", deref(c.Theta), c.Theta == nil || *c.Theta >= 0, "a number of 0 or more"},
		{"--count", c.Count, c.Count >= 1, "a number of 1 or more"},
		{"--duration", c.Duration, c.Duration > 0, "a time above 0, such as 200ms"},
		{"--warmup", c.Warmup, c.Warmup >= 0, "a time of 0 or more, such as 50ms"},
		{"--latency-sample", c.LatencySample, c.LatencySample >= 0, "a number of 0 or more"},
		{"--audit-interval", c.AuditInterval, c.AuditInterval >= 0, "a time of 0 or more, such as 10ms"},
		{"--interval", c.Interval, c.Interval > 0, "a time above 0, such as 1s"},
	} {
		if !f.ok {
			return usagef("%s: expected %s, not %v", f.flag, f.expects, f.value)
		}
	}
	if c.Hold && !c.serves() {
		return usagef("--hold: there is nothing to keep serving with --http=%s", c.HTTP)
	}
	return nil
}

// deref returns what p points to, or nil.
func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// serves reports whether profiles are served.
func (c *runCmd) serves() bool { return c.HTTP != "" && c.HTTP != "off" }
