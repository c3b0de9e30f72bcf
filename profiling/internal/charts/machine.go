package charts

import (
	"math"
	"time"

	"github.com/mvccmap/mvccmap/internal/machine"
)

// machineTimes are a reading, with the longest hiccup since the one before.
type machineTimes struct {
	machine.Times
	hiccup time.Duration
}

// Machine returns the charts of the machine: whether the program is slow for want of a processor.
func Machine() Group {
	hiccups := new(machine.Hiccups)
	s := &Source[machineTimes]{Read: func() machineTimes {
		return machineTimes{machine.Read(), hiccups.Worst()}
	}}
	share := func(name string, of func(machineTimes) float64) Series {
		return s.Ratio(name, of, func(t machineTimes) float64 { return t.Total }, 100)
	}
	process := s.Rate("process", func(t machineTimes) float64 {
		return 100 * t.Process / float64(t.Processors)
	})
	longest := s.Gauge("longest", func(t machineTimes) float64 {
		if t.hiccup == 0 {
			return math.NaN()
		}
		return t.hiccup.Seconds()
	})
	return Group{Title: "Machine", Charts: []Chart{
		{"Processors", "share of all processors of the machine: of this program, of all, and what " +
			"the host kept back", Percent, FromZero, []Series{
			process,
			share("all programs", func(t machineTimes) float64 { return t.Busy }),
			share("steal", func(t machineTimes) float64 { return t.Steal }),
		}},
		{"Hiccups", "the longest time that a goroutine which was to wake was late",
			Seconds, Logarithmic, []Series{longest.Peak()}},
	}, Source: s, Run: hiccups.Run}
}
