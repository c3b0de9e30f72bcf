package results

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format and Version begin every record in JSON. Version grows when a record of
// the new form would be misunderstood by a program that reads the old one, or when names stand for
// other work.
const (
	Format  = "mvccbench"
	Version = 2
)

// A Run is the record of one run.
type Run struct {
	Header  Header   `json:"header"`
	Outcome Outcome  `json:"outcome"`
	Samples []Sample `json:"samples"`

	Found []FoundRate `json:"found_rates,omitempty"` // the finds, if rates were searched for

	// Profiles has the profiles of samples, by names such as begin-mvcc-threads=4.cpu.pb.gz.
	Profiles map[string][]byte `json:"profiles,omitempty"`
}

// Header has the orders for a run, and the machine it was measured on.
type Header struct {
	Program string    `json:"program"` // name and version
	Args    []string  `json:"args"`    // the command line without the program
	Started time.Time `json:"started"`

	Machine

	Seed     uint64        `json:"seed"`
	Count    int           `json:"count"`       // samples of each combination
	Warmup   time.Duration `json:"warmup_ns"`   // before each sample
	Duration time.Duration `json:"duration_ns"` // of each sample; 0 if it was a number of operations
	Ops      uint64        `json:"ops,omitempty"`

	// Loop says when operations began: "closed" if each goroutine began one
	// when its last had ended, else the arrivals, such as "poisson arrivals in one queue".
	Loop string `json:"loop"`
	// operations per second that were asked for; none in a closed loop
	Rates []float64 `json:"rates,omitempty"`

	Isolation []string `json:"isolation,omitempty"` // the levels that were asked for

	// of one reading, which every latency includes
	ClockCost time.Duration `json:"clock_ns"`

	// Instrumented names the tools that slowed the run down to look into it,
	// such as an execution trace; it is empty for a plain run. An instrumented
	// run is only compared with one that was instrumented in the same way.
	Instrumented string `json:"instrumented,omitempty"`

	// Profiled names the profiles that were taken of the samples, and their cost; it is empty if
	// none were. Profiles slow a run so little that it may be compared with a run without, with a
	// remark.
	Profiled string `json:"profiled,omitempty"`

	Skips []Skip   `json:"skips,omitempty"`
	Notes []string `json:"notes,omitempty"` // anything else the reader should know
}

// Skip is a combination that was left out, and why.
type Skip struct {
	Workload string `json:"workload"`
	Engine   string `json:"engine"`
	Why      string `json:"why"`
}

// The ways in which a run can end.
const (
	Complete    = "complete"
	Interrupted = "interrupted" // by Ctrl-C; the samples are sound
	Failed      = "failed"      // an engine or the output failed; the samples are sound
	Violated    = "violated"    // an engine did not pass verification; the samples before it did
)

// Outcome says how a run ended. The zero value means that it has not.
type Outcome struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"` // the failure
	Done   int    `json:"done"`             // samples that were taken
	Of     int    `json:"of"`               // samples that were asked for
}

// Whole reports whether all samples are there that were asked for.
func (o Outcome) Whole() bool { return o.Kind == Complete && o.Done == o.Of }

// String returns the outcome in words.
func (o Outcome) String() string {
	switch o.Kind {
	case Complete:
		if o.Done < o.Of {
			return fmt.Sprintf("complete: %d of %d samples", o.Done, o.Of)
		}
		return fmt.Sprintf("complete: %d samples", o.Done)
	case "":
		return fmt.Sprintf("nothing says that it came to its end: %d samples", o.Done)
	case Violated:
		return fmt.Sprintf("ended by a violation after %d of %d samples: %s", o.Done, o.Of, o.Detail)
	}
	s := fmt.Sprintf("%s after %d of %d samples", o.Kind, o.Done, o.Of)
	if o.Detail != "" {
		s += ": " + o.Detail
	}
	return s
}

// Noisy returns how many samples are noisy, of how many. Interrupted ones do not count.
func (r *Run) Noisy() (n, of int) {
	for i := range r.Samples {
		if s := &r.Samples[i]; !s.Interrupted {
			of++
			if s.Noisy != "" {
				n++
			}
		}
	}
	return n, of
}

// Marks returns the remarks that belong beside every figure of the run: how it was instrumented,
// that it did not run to its end, and how many samples are noisy. There is nothing to be said of a
// plain, quiet and complete run.
func (r *Run) Marks() (marks []string) {
	if r.Header.Instrumented != "" {
		marks = append(marks, "instrumented: "+r.Header.Instrumented)
	}
	if !r.Outcome.Whole() {
		marks = append(marks, r.Outcome.String())
	}
	if n, of := r.Noisy(); n > 0 {
		marks = append(marks, fmt.Sprintf("%d of %d samples are noisy", n, of))
	}
	return marks
}

// Mark returns the marks in a line.
func (r *Run) Mark() string { return strings.Join(r.Marks(), "; ") }

// A Sample is one measurement of one combination.
type Sample struct {
	Workload string `json:"workload"` // as in --workload
	// Title names the workload in results, with whatever was not the default,
	// as in "ReadHeavy/keys=10". Samples of equal title, engine and threads
	// measured the same.
	Title  string  `json:"title"`
	Params []Param `json:"params,omitempty"` // all that the workload has
	Engine string  `json:"engine"`
	Level  string  `json:"level"` // of isolation
	// Threads is the number of goroutines.
	Threads int `json:"threads"`
	Index   int `json:"index"` // which sample of its combination it is, from 0

	Ops  uint64        `json:"ops"` // committed operations
	Wall time.Duration `json:"wall_ns"`
	// the run ended before the sample was over
	Interrupted bool `json:"interrupted,omitempty"`
	// causes beside the program that may explain a difference, "" if none
	Noisy         string `json:"noisy,omitempty"`
	LatencySample int    `json:"latency_sample,omitempty"` // operations for each timed one

	Metrics map[string]float64 `json:"metrics"` // by unit; see [Metrics]
	Latency []Latency          `json:"latency,omitempty"`

	Intervals Intervals `json:"intervals,omitempty"` // if it was long enough, or they were asked for
}

// Param is the value of one of a workload's parameters, named as its flag.
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Param returns the value of the parameter called name, or "".
func (s *Sample) Param(name string) string {
	for _, p := range s.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// A Key tells combinations apart.
type Key struct {
	Title, Engine string
	Threads       int
}

// Key returns the combination that s is a sample of.
func (s *Sample) Key() Key { return Key{s.Title, s.Engine, s.Threads} }

// Name returns the name of s's benchmark, without "Benchmark".
func (s *Sample) Name(gomaxprocs int) string {
	name := fmt.Sprintf("%s/engine=%s/threads=%d", s.Title, s.Engine, s.Threads)
	if gomaxprocs > 1 {
		name += fmt.Sprintf("-%d", gomaxprocs)
	}
	return name
}

// FileName returns a name for files about the combination that s is a sample of,
// such as "transfer-keys=10-mvcc-threads=4": of letters, digits, and -, =, ., + and _.
func (s *Sample) FileName() string {
	parts := []string{s.Workload}
	if _, labels, ok := strings.Cut(s.Title, "/"); ok {
		parts = append(parts, strings.Split(labels, "/")...)
	}
	parts = append(parts, s.Engine, fmt.Sprintf("threads=%d", s.Threads))
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9',
			strings.ContainsRune("-=.+_", r):
			return r
		case r == 'µ' || r == 'μ': // of a duration
			return 'u'
		}
		return '_'
	}, strings.Join(parts, "-"))
}

// A Cell is all samples of one combination.
type Cell struct {
	Key
	Samples []*Sample
}

// Cells returns the samples by combination, in the order in which the combinations first occur.
// Interrupted samples are left out, unless a combination has no others.
func (r *Run) Cells() []*Cell {
	var cells []*Cell
	at := map[Key]*Cell{}
	for i := range r.Samples {
		s := &r.Samples[i]
		c := at[s.Key()]
		if c == nil {
			c = &Cell{Key: s.Key()}
			at[s.Key()] = c
			cells = append(cells, c)
		}
		c.Samples = append(c.Samples, s)
	}
	for _, c := range cells {
		whole := slices.DeleteFunc(slices.Clone(c.Samples), func(s *Sample) bool { return s.Interrupted })
		if len(whole) > 0 {
			c.Samples = whole
		}
	}
	return cells
}

// Grouped returns the cells of each key, in the order in which the keys first occur.
func Grouped[K comparable](cells []*Cell, key func(*Cell) K) (groups [][]*Cell) {
	at := map[K]int{}
	for _, c := range cells {
		i, ok := at[key(c)]
		if !ok {
			i = len(groups)
			at[key(c)], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// Noisy returns how many samples are noisy.
func (c *Cell) Noisy() (n int) {
	for _, s := range c.Samples {
		if s.Noisy != "" {
			n++
		}
	}
	return n
}

// Values returns the figures of unit, of the samples that have it.
func (c *Cell) Values(unit string) []float64 {
	var list []float64
	for _, s := range c.Samples {
		if v, ok := s.Metrics[unit]; ok {
			list = append(list, v)
		}
	}
	return list
}

// Machine is the machine of a run.
type Machine struct {
	Go         string `json:"go"`
	GOOS       string `json:"goos"`
	GOARCH     string `json:"goarch"`
	CPU        string `json:"cpu,omitempty"` // as the system names it
	CPUs       int    `json:"cpus"`          // those that the process may use
	GOMAXPROCS int    `json:"gomaxprocs"`
	// environment variables that change how a Go program runs
	Settings map[string]string `json:"settings,omitempty"`
}

// settings are the environment variables that are recorded if they are set.
var settings = []string{"GOGC", "GOMEMLIMIT", "GODEBUG"}

// ThisMachine describes the machine and the process.
func ThisMachine() Machine {
	m := Machine{
		Go:         runtime.Version(),
		GOOS:       runtime.GOOS,
		GOARCH:     runtime.GOARCH,
		CPU:        procField("/proc/cpuinfo", "model name"),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	for _, name := range settings {
		if v := os.Getenv(name); v != "" {
			if m.Settings == nil {
				m.Settings = map[string]string{}
			}
			m.Settings[name] = v
		}
	}
	return m
}

// Memory returns how many bytes of memory the machine has, 0 if it does not tell.
func Memory() float64 {
	total := procField("/proc/meminfo", "MemTotal")
	n, err := strconv.ParseFloat(strings.TrimSuffix(total, " kB"), 64)
	if err != nil {
		return 0
	}
	return n * 1024
}

// procField returns the first value of key in a file of the system, or "".
func procField(file, key string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
