package charts

import (
	"bytes"
	"context"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/internal/rusage"
)

// hiccupEvery is for how long the goroutine sleeps that measures hiccups: what it sleeps longer is
// one.
const hiccupEvery = 10 * time.Millisecond

// Machine returns the charts of the machine: whether what is slow is slow for want of a processor.
// They cost a hundred wakeups a second, which is less than a thousandth of a processor, and two
// system calls.
func Machine() Group {
	m := new(hiccups)
	cpus := float64(runtime.NumCPU())
	s := &Source[cpuTimes]{Read: func() cpuTimes {
		t := readCPU()
		t.hiccup = m.worst()
		return t
	}}
	share := func(name string, of func(cpuTimes) float64) Series {
		return s.Ratio(name, of, func(t cpuTimes) float64 { return t.total }, 100)
	}
	process := s.Rate("process", func(t cpuTimes) float64 { return 100 * t.process / cpus })
	return Group{Title: "Machine", Charts: []Chart{
		{"Processors", "share of all processors of the machine: of this program, of all, and what the host kept back",
			Percent, FromZero, []Series{
				process,
				share("all programs", func(t cpuTimes) float64 { return t.busy }),
				share("steal", func(t cpuTimes) float64 { return t.steal }),
			}},
		{"Hiccups", "the longest time that a goroutine which was to wake was late",
			Seconds, Logarithmic, []Series{s.Gauge("longest", func(t cpuTimes) float64 { return t.hiccup }).Peak()}},
	}, Source: s, Run: m.run}
}

// cpuTimes are seconds of processor time; NaN where the system does not tell.
type cpuTimes struct {
	process            float64
	busy, steal, total float64 // of the machine
	hiccup             float64 // the longest since the reading before
}

// readCPU reads the system's accounts.
func readCPU() cpuTimes {
	t := cpuTimes{process: math.NaN(), busy: math.NaN(), steal: math.NaN(), total: math.NaN()}
	if cpu, _, ok := rusage.Process(); ok {
		t.process = cpu.Seconds()
	}
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		t.busy, t.steal, t.total = parseStat(b)
	}
	return t
}

// parseStat returns what the first line of /proc/stat says, in the system's ticks: the time in
// which something ran, what the host took, and all, idle time included.
func parseStat(b []byte) (busy, steal, total float64) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	fields := bytes.Fields(line)
	const idle, iowait, stolen, last = 4, 5, 8, 8 // after them time of guests, which is in the others
	if len(fields) <= last || string(fields[0]) != "cpu" {
		return math.NaN(), math.NaN(), math.NaN()
	}
	for i, f := range fields[1 : last+1] {
		v, err := strconv.ParseFloat(string(f), 64)
		if err != nil {
			return math.NaN(), math.NaN(), math.NaN()
		}
		total += v
		switch i + 1 {
		case idle, iowait:
		case stolen:
			steal = v
		default:
			busy += v
		}
	}
	return busy, steal, total
}

// hiccups measures how late a goroutine wakes.
type hiccups struct{ longest atomic.Int64 }

func (h *hiccups) run(ctx context.Context) {
	begun := time.Now() // before the timer is set: what keeps the goroutine in between counts
	t := time.NewTimer(hiccupEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		// This goroutine alone stores what is longer; if worst takes away what it has compared with,
		// that has been shown, and this is of the next second.
		now := time.Now()
		if late := int64(now.Sub(begun) - hiccupEvery); late > h.longest.Load() {
			h.longest.Store(late)
		}
		begun = now
		t.Reset(hiccupEvery)
	}
}

// worst returns the longest hiccup since it was last asked, in seconds; NaN if there was none.
func (h *hiccups) worst() float64 {
	if late := h.longest.Swap(0); late > 0 {
		return time.Duration(late).Seconds()
	}
	return math.NaN()
}
