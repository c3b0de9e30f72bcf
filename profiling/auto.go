package profiling

import (
	"cmp"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
)

// An AutoCapture is a rule by which a service takes captures without being asked: on a
// schedule, or when operations take long. They are among the others on the page of profiles,
// with the reason, and at most half of [Config.History] are of this sort. Only one is taken at a
// time, and none while another capture is taken: it waits until that has ended.
type AutoCapture struct {
	// Kinds are what is captured, one after the other: "cpu", "wall", another profile of the program
	// such as "heap", or "contention", a complete report from an execution trace. The default is
	// "cpu".
	Kinds []string

	// Window is for how long. The default is 5 s of "cpu", 1 s of "contention", and of others
	// what they have at that moment. That of contention is at most 10 s.
	Window time.Duration

	// Every is the time between two captures or, if there is Above, the shortest. It is at
	// least 10 s. The default is 10 minutes, or one with Above.
	Every time.Duration

	// Above, if positive, has captures taken only when the Percentile of an operation is larger.
	// For an [Op] that counts, it is the percentile of the last ten to twenty seconds, as in the
	// dashboard's table, if there were enough operations to have one beyond it. For
	// [Config.Workload] it is that of the last second: of 50, 90, 99, 99.9 and 99.99, a lower one
	// stands for one that is not known.
	Above time.Duration

	// Percentile is the one that Above is about. The default is 99.
	Percentile float64

	_ struct{}
}

func (c AutoCapture) rule() capture.Rule {
	return capture.Rule{
		Kinds: c.Kinds, Window: c.Window, Every: c.Every, Above: c.Above, Percentile: c.Percentile,
	}
}

// slowest returns the operation that was slowest at that percentile of late, what it took, and
// whether that is of a lower percentile.
func (s *Service) slowest(percentile float64) (name string, took time.Duration, less bool) {
	name, took = s.operations.slowest(percentile)
	w := s.now()
	l := w.Latency
	for _, known := range []struct {
		at   float64
		took time.Duration
	}{{50, l.P50}, {90, l.P90}, {99, l.P99}, {99.9, l.P999}, {99.99, l.P9999}} {
		// Of few operations only low percentiles are known; a higher one is not below them.
		if known.at <= percentile && known.took > took {
			name, took, less = cmp.Or(w.Name, "the workload"), known.took, known.at < percentile
		}
	}
	return name, took, less
}
