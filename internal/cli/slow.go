package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/profiling"
)

// slowFlags say whether slow operations are explained.
type slowFlags struct {
	Slow string `help:"Keep the execution trace around operations that take longer than this percentile of what is usual, such as 99.9, or longer than a time, such as 2ms, and say on the page /debug/pprof/slow/ what they waited for. Every operation is timed, unless --latency-sample says otherwise, and the trace slows down a workload whose goroutines wait often: the results say so." placeholder:"PCT|TIME" group:"Profiles in the browser"`
}

// config returns what is to be recorded, nil for nothing.
func (f slowFlags) config() (*profiling.SlowConfig, error) {
	if f.Slow == "" {
		return nil, nil
	}
	if d, err := time.ParseDuration(f.Slow); err == nil && d > 0 {
		return &profiling.SlowConfig{Above: d}, nil
	}
	if pct, err := strconv.ParseFloat(strings.TrimSuffix(f.Slow, "%"), 64); err == nil &&
		pct > 0 && pct < 100 {
		return &profiling.SlowConfig{Percentile: pct}, nil
	}
	return nil, usagef("--slow: expected a percentile above 0 and below 100, such as 99.9, or a "+
		"time above 0, such as 2ms, not %q", f.Slow)
}

// latencySample returns the value of --latency-sample: every operation, if slow
// ones are wanted and the flag does not say otherwise.
func (f slowFlags) latencySample(flag []string) []string {
	if f.Slow != "" && len(flag) == 1 && flag[0] == autoSample {
		return []string{"1"}
	}
	return flag
}

// watch has the service know what the operations of t take, so that it can explain
// the slow ones if that is wanted, now or later.
func (p *profiler) watch(t *bench.Trial, c bench.Config) {
	t.Watch(p.server.Op(operationName(c)).Watch)
}
