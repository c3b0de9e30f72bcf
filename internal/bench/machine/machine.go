// Package machine measures the use of the machine during a measurement: how much of its processors
// this program had, how much others had, how much the host kept back, and how late a goroutine
// woke. It has the rule that decides whether these figures explain why something was slow.
package machine

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

// Times are accounts that only grow; NaN where the system does not tell.
type Times struct {
	Process            float64 // seconds of processor time of this program
	Busy, Steal, Total float64 // ticks of all processors; Total includes idle ones
	Processors         int
	Delay              float64 // seconds for which its threads waited for a processor, or 0
}

// Read reads the system's accounts. It takes some system calls, and three for each thread.
func Read() Times {
	none := math.NaN()
	t := Times{Delay: delays("/proc/self"), Process: none, Busy: none, Steal: none, Total: none}
	if cpu, _, ok := Process(); ok {
		t.Process = cpu.Seconds()
	}
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		t.parse(b)
	}
	if t.Processors == 0 {
		t.Processors = runtime.NumCPU()
	}
	return t
}

// delays returns for how long the present threads of a program have waited for a processor; 0 if
// the system does not tell.
func delays(proc string) (seconds float64) {
	files, _ := filepath.Glob(proc + "/task/*/schedstat")
	for _, file := range files {
		b, _ := os.ReadFile(file) // the thread may have ended
		if fields := bytes.Fields(b); len(fields) > 1 {
			ns, _ := strconv.ParseFloat(string(fields[1]), 64)
			seconds += ns / 1e9
		}
	}
	return seconds
}

// parse takes from /proc/stat, in the system's ticks, the time in which something ran, the time the
// host took, and all time; and how many processors there are, which may be more than a program may
// use.
func (t *Times) parse(b []byte) {
	line, others, _ := bytes.Cut(b, []byte("\n"))
	fields := bytes.Fields(line)
	const idle, iowait, stolen, last = 4, 5, 8, 8 // guest times follow, but are in the others
	if len(fields) <= last || string(fields[0]) != "cpu" {
		return
	}
	var busy, steal, total float64
	for i, f := range fields[1 : last+1] {
		v, err := strconv.ParseFloat(string(f), 64)
		if err != nil {
			return
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
	t.Busy, t.Steal, t.Total = busy, steal, total
	for line := range bytes.Lines(others) {
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		t.Processors++
	}
}

// hiccupEvery is the time from one tick to the next. If it takes longer, the rest is a hiccup.
const hiccupEvery = 10 * time.Millisecond

// Hiccups measures how late a goroutine wakes. The zero value is ready.
type Hiccups struct {
	longest atomic.Int64
	begun   atomic.Pointer[time.Time] // when it last set the timer, nil unless it runs
}

// Start measures until ctx ends, by callbacks of a timer: a goroutine that waited would be in the
// program's block profile. It costs a hundred wakeups a second, which is less than a thousandth of a
// processor.
func (h *Hiccups) Start(ctx context.Context) {
	begun := time.Now() // before the timer is set: a delay in between counts
	h.begun.Store(&begun)
	time.AfterFunc(hiccupEvery, func() { h.tick(ctx, &begun) })
}

// tick notes how late it is. One tick runs at a time. Only one after the end of its ctx, which
// clears its own begun and no other, may run beside those of another Start. If Worst runs between
// Load and Store it returns an earlier hiccup, and this one the next time if it is longer.
func (h *Hiccups) tick(ctx context.Context, begun *time.Time) {
	if ctx.Err() != nil {
		h.begun.CompareAndSwap(begun, nil)
		return
	}
	if late := int64(time.Since(*begun) - hiccupEvery); late > h.longest.Load() {
		h.longest.Store(late)
	}
	h.Start(ctx)
}

// Worst returns the longest hiccup since the last call of Worst, 0 if there was none. A hiccup that
// still lasts counts with its time so far: a goroutine that never wakes is late.
func (h *Hiccups) Worst() time.Duration {
	worst := time.Duration(h.longest.Swap(0))
	if begun := h.begun.Load(); begun != nil {
		worst = max(worst, time.Since(*begun)-hiccupEvery)
	}
	return worst
}

// Watch begins to watch the machine. The returned function ends that, and returns the use of the
// machine in between.
func Watch() (end func() Usage) {
	var h Hiccups
	ctx, cancel := context.WithCancel(context.Background())
	h.Start(ctx)
	begun, before := time.Now(), Read()
	return func() Usage {
		passed, after := time.Since(begun), Read()
		cancel()
		u := Between(before, after, passed)
		u.Hiccup = h.Worst()
		return u
	}
}
