package charts

import (
	"math"
	"time"

	"github.com/mvccmap/mvccmap/internal/machine"
)

// machineTimes are a reading, with the longest hiccup since the one before.
type machineTimes struct {
	machine.Times
	machine.Pressure
	io       machine.IO
	inSystem float64 // seconds of processor time of this program in system mode
	hiccup   time.Duration
}

// Machine returns the charts of the machine: whether the program is slow for want of a processor,
// of memory or of a disk. Reading takes some ten microseconds.
func Machine() Group {
	hiccups := new(machine.Hiccups)
	pressure, disks := machine.FindPressure("/"), machine.FindDisks("/")
	s := &Source[machineTimes]{Read: func() machineTimes {
		t := machineTimes{Times: machine.Read(), Pressure: pressure.Read(), io: disks.Read(),
			inSystem: math.NaN(), hiccup: hiccups.Worst()}
		if cpu, ok := machine.InSystem(); ok {
			t.inSystem = cpu.Seconds()
		}
		return t
	}}
	share := func(name string, of func(machineTimes) float64) Series {
		return s.Ratio(name, of, func(t machineTimes) float64 { return t.Total }, 100)
	}
	percent := func(name string, of func(machineTimes) float64) Series {
		return s.Rate(name, func(t machineTimes) float64 { return 100 * of(t) })
	}
	longest := s.Gauge("longest", func(t machineTimes) float64 {
		if t.hiccup == 0 {
			return math.NaN()
		}
		return t.hiccup.Seconds()
	})
	about := "share of the time in which some, or all, of " + pressure.Whose + " waited for want of it"
	if pressure.Whose == "" {
		about = "this system does not tell: Linux does, by pressure stall information (PSI)"
	}
	return Group{Title: "Machine", Charts: []Chart{
		{Title: "Processors", About: "share of all processors of the machine: of this program, of " +
			"that in system calls, of all programs, and what the host kept back",
			Unit: Percent, Series: []Series{
				percent("process", func(t machineTimes) float64 {
					return t.Process / float64(t.Processors)
				}),
				share("all programs", func(t machineTimes) float64 { return t.Busy }),
				share("steal", func(t machineTimes) float64 { return t.Steal }),
				percent("in system calls", func(t machineTimes) float64 {
					return t.inSystem / float64(t.Processors)
				}),
			}},
		{Title: "Hiccups", About: "the longest time that a goroutine which was to wake was late",
			Unit: Seconds, Scale: Logarithmic, Series: []Series{longest.Peak()}},
		{Title: "Pressure", About: about, Unit: Percent, Series: []Series{
			percent("cpu", func(t machineTimes) float64 { return t.CPU }),
			percent("memory", func(t machineTimes) float64 { return t.Memory }),
			percent("io", func(t machineTimes) float64 { return t.IO }),
			percent("memory, all", func(t machineTimes) float64 { return t.AllMemory }),
			percent("io, all", func(t machineTimes) float64 { return t.AllIO }),
			percent("cpu quota used up", func(t machineTimes) float64 { return t.Throttled }),
		}},
		{Title: "Disk", About: "what disks read and wrote for this program", Unit: BytesPerSecond,
			Series: []Series{
				s.Rate("read", func(t machineTimes) float64 { return t.io.Read }),
				s.Rate("written", func(t machineTimes) float64 { return t.io.Written }),
			}},
		{Title: "Disk busy", About: "share of the time in which the busiest disk of the machine had " +
			"something to do: one that is stalled has, all the time", Unit: Percent, Series: []Series{
			s.Change("busiest", func(prev, cur machineTimes) float64 {
				return 100 * cur.io.BusiestSince(prev.io) / s.seconds
			}),
		}},
		{Title: "Time of a disk request", About: "average of all disks of the machine",
			Unit: Seconds, Scale: Logarithmic, Series: []Series{
				s.Ratio("average", func(t machineTimes) float64 { return t.io.Waited },
					func(t machineTimes) float64 { return t.io.Requests }, 1),
			}},
	}, Source: s, Run: hiccups.Run}
}
