// Package wall samples the states of all goroutines, on a processor and off it, and makes one
// profile of them, in which each goroutine has a second for every second.
//
// The time off the processor comes from samples of the stacks of all goroutines: a stack shows
// where the runtime parked its goroutine, or a system call. The time on the processor comes from a
// CPU profile of the same time, which has the collector too. A goroutine that neither waits nor is
// in the CPU profile had no processor.
package wall

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

// The states of goroutines beside waits of the kinds of package contention.
const (
	Running     contention.Kind = "running"
	NoProcessor contention.Kind = "no processor" // could run
	Collector   contention.Kind = "collector"    // goroutines of the garbage collector
	Runtime     contention.Kind = "runtime"      // the scheduler, above all
)

// every is the pause after stacks were taken. The pause is longer where taking them would otherwise
// need more than 1/share of a processor.
const (
	every = 10 * time.Millisecond
	share = 10
)

// A Sampler takes the stacks of all goroutines. Its methods are of one goroutine.
type Sampler struct {
	stacks  map[stack]int // how often each was seen
	samples int
	records []runtime.StackRecord
}

// A stack is as the runtime has it: the innermost callers, and zeros.
type stack = [len(runtime.StackRecord{}.Stack0)]uintptr

// Run takes stacks for d. Each time it stops the program, for some ten microseconds and about one
// more for each goroutine. If ctx ends first, Run returns the cause.
func (s *Sampler) Run(ctx context.Context, d time.Duration) error {
	s.stacks = map[stack]int{}
	for end, pause := time.Now().Add(d), time.Duration(0); ; {
		left := time.Until(end)
		if err := Sleep(ctx, min(pause, left)); err != nil {
			return err
		}
		if left <= pause && s.samples > 0 { // else d was too short, or the machine is too busy
			return nil
		}
		pause = max(every, (share-1)*s.sample())
	}
}

// Sleep waits for d, and returns the cause within some milliseconds when ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ctx.Err() == nil; {
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		time.Sleep(min(left, every))
	}
	return context.Cause(ctx)
}

// sample takes the stacks once, and returns how long that took.
func (s *Sampler) sample() time.Duration {
	start := time.Now()
	n, ok := runtime.GoroutineProfile(s.records)
	for !ok {
		s.records = make([]runtime.StackRecord, n+n/4+16)
		n, ok = runtime.GoroutineProfile(s.records)
	}
	for i := range s.records[:n] {
		s.stacks[s.records[i].Stack0]++
	}
	s.samples++
	return time.Since(start)
}

// Profile returns the samples, and the CPU profile of the same time, as a profile with the values
// samples/count and wall/nanoseconds. The root of every stack is the goroutine's state in brackets,
// which is the label "state", too. Goroutines that wait for work have [contention.WorkLabel]. The
// labels of the CPU profile are kept; the profiler's own work is left out.
func (s *Sampler) Profile(
	cpu *profile.Profile, start time.Time, window time.Duration,
) *profile.Profile {
	p := contention.NewProfile(start, window)
	p.SampleType = []*profile.ValueType{
		{Type: "samples", Unit: "count"}, {Type: "wall", Unit: "nanoseconds"},
	}
	p.DefaultSampleType = "wall"
	p.PeriodType = &profile.ValueType{Type: "wall", Unit: "nanoseconds"}
	p.Period = int64(window) / int64(max(s.samples, 1))
	add := func(
		kind contention.Kind, frames []contention.Frame, n int64, d time.Duration,
	) *profile.Sample {
		sample := p.Add(kind, frames, n, d)
		sample.Label = map[string][]string{"state": {string(kind)}}
		return sample
	}

	var ran time.Duration // of goroutines that may be among the samples
	for _, sample := range cpu.Sample {
		frames := contention.FramesOf(sample)
		kind := kindOfWork(frames)
		if kind == "" {
			continue
		}
		d := time.Duration(sample.Value[len(sample.Value)-1])
		if kind != Collector && kind != Runtime {
			ran += d
		}
		added := add(kind, frames, sample.Value[0], d)
		maps.Copy(added.Label, sample.Label)
	}

	type seen struct {
		kind   contention.Kind
		frames []contention.Frame
		n      int
	}
	var ready, waits []seen
	crew := contention.NewCrew(window)
	var could time.Duration // run, by the samples
	each := window / time.Duration(max(s.samples, 1))
	for pcs, n := range s.stacks {
		frames := framesOf(pcs)
		kind := kindOfStack(frames)
		switch {
		case kind == "":
		case kind == NoProcessor:
			ready = append(ready, seen{kind, frames, n})
			could += each * time.Duration(n)
		default:
			waits = append(waits, seen{kind, frames, n})
			crew.Add(kind, frames, each*time.Duration(n))
		}
	}
	for _, w := range waits {
		sample := add(w.kind, w.frames, int64(w.n), each*time.Duration(w.n))
		if crew.WaitsForWork(w.kind, w.frames) {
			sample.Label[contention.WorkLabel] = []string{"true"}
		}
	}
	// Of the goroutines that could run, some ran: the CPU profile knows better where.
	if rest := could - ran; rest > could/20 {
		for _, r := range ready {
			d := time.Duration(float64(each) * float64(r.n) * float64(rest) / float64(could))
			add(NoProcessor, r.frames, int64(r.n), d)
		}
	}
	return p.Profile
}

// kindOfWork returns the state of a goroutine by a sample of a CPU profile, "" if the sample is not
// wanted: it is of the profiler, or of a system call, which the samples of stacks have in full.
func kindOfWork(frames []contention.Frame) contention.Kind {
	switch {
	case slices.ContainsFunc(frames, contention.Frame.OfCollector):
		return Collector
	case contention.IsProfiler(frames):
		return ""
	case contention.IsRuntime(frames):
		return Runtime
	case inSyscall(frames):
		return ""
	case slices.ContainsFunc(frames, func(f contention.Frame) bool {
		return strings.HasPrefix(f.Func, "runtime.gcAssistAlloc")
	}):
		return contention.GCAssist
	}
	return Running
}

// waiting has the innermost functions of goroutines that wait.
var waiting = map[string]bool{
	"runtime.gopark": true, "runtime.coroswitch": true, "runtime.corostart": true,
}

// kindOfStack returns the state of a goroutine by its stack, "" if the stack is of the profiler. A
// goroutine that neither waits nor is in a system call is in state NoProcessor.
func kindOfStack(frames []contention.Frame) contention.Kind {
	switch {
	case contention.IsProfiler(frames):
		return ""
	case inSyscall(frames):
		return contention.Syscall
	case len(frames) > 1 && frames[0].Func == "runtime.gopark" && frames[1].Func == "runtime.block":
		return contention.Forever
	case len(frames) > 0 && waiting[frames[0].Func]:
		return contention.KindOf(frames)
	}
	return NoProcessor
}

// inSyscall reports whether the innermost function is a system call, or one of C.
func inSyscall(frames []contention.Frame) bool {
	if len(frames) == 0 {
		return false
	}
	leaf := frames[0].Func
	for _, prefix := range []string{
		"syscall.", "internal/runtime/syscall.", "runtime.cgocall", "runtime.notetsleepg",
	} {
		if strings.HasPrefix(leaf, prefix) {
			return true
		}
	}
	return false
}

// framesOf returns the functions of a stack, leaf first, in the form of package contention. The
// runtime gives only the innermost callers: if it cut the stack off, the last frame says so.
func framesOf(pcs stack) (frames []contention.Frame) {
	n := slices.Index(pcs[:], 0)
	whole := n >= 0
	if !whole {
		n = len(pcs)
	}
	if n == 0 {
		return nil
	}
	list := runtime.CallersFrames(pcs[:n])
	for more := true; more; {
		var f runtime.Frame
		f, more = list.Next()
		if f.Function != "runtime.goexit" && !strings.HasPrefix(f.Function, "runtime.asyncPreempt") {
			at := contention.Frame{Func: f.Function, File: f.File, Line: f.Line, PC: uint64(f.PC)}
			frames = append(frames, at)
		}
	}
	if !whole {
		frames = append(frames, contention.Frame{Func: "[truncated]"})
	}
	return frames
}
