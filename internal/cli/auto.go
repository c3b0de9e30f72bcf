package cli

import (
	"time"

	"github.com/mvccmap/mvccmap/profiling"
)

// autoFlags say when captures are taken by themselves. Zero is never.
type autoFlags struct {
	CaptureEvery time.Duration `help:"Take a CPU profile each TIME, at least 10s. The last ones are among the captures, on the page /debug/pprof/." default:"0s" placeholder:"TIME" group:"Profiles in the browser"`
	CaptureAbove time.Duration `help:"When the 99th percentile of a second's operations is above TIME, take a CPU profile and a report on contention, at most once a minute. A report takes an execution trace of a second: the row of results says so." default:"0s" placeholder:"TIME" group:"Profiles in the browser"`
}

// rules returns what the flags ask for.
func (f autoFlags) rules() (list []profiling.AutoCapture, err error) {
	switch {
	case f.CaptureEvery < 0 || 0 < f.CaptureEvery && f.CaptureEvery < 10*time.Second:
		return nil, usagef("--capture-every: expected a time of at least 10s, or 0 for never, not %v",
			f.CaptureEvery)
	case f.CaptureAbove < 0:
		return nil, usagef("--capture-above: expected a time above 0, such as 5ms, or 0 for never, not "+
			"%v", f.CaptureAbove)
	}
	if f.CaptureAbove > 0 {
		list = append(list, profiling.AutoCapture{
			Above: f.CaptureAbove, Kinds: []string{"cpu", "contention"},
		})
	}
	if f.CaptureEvery > 0 {
		list = append(list, profiling.AutoCapture{Every: f.CaptureEvery})
	}
	return list, nil
}
