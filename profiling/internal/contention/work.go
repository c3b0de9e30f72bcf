package contention

import (
	"slices"
	"strings"
	"time"
)

// WorkLabel is the label of samples of goroutines that wait for work; its value is "true".
const WorkLabel = "work"

// Forever is the kind of a select without cases.
const Forever Kind = "forever"

// forWork has the kinds of wait by which a goroutine may wait for work.
var forWork = []Kind{
	Network, Select, ChanReceive, Cond, WaitGroup, Sleep, Coroutine, Syscall, Forever,
}

// A Crew tells the goroutines that wait for work from those that are held up. Some surely wait for
// work: the goroutine of main, those of this library, of the profiler and of the runtime, those
// that accept connections, and those without a function of the program, as of a connection without
// a request. A goroutine that waits in its outermost function, for a ticker or for the next item of
// a queue, most likely waits for work, unless another goroutine waits there: several may be a leak.
type Crew struct {
	loops  map[string]time.Duration // for how long goroutines waited in an outermost function
	window time.Duration
}

// processStart is roughly when the program started.
var processStart = time.Now()

// NewCrew returns a crew of which nothing is known yet. A window of 0 is the time since the program
// started.
func NewCrew(window time.Duration) *Crew {
	if window == 0 {
		window = time.Since(processStart)
	}
	return &Crew{loops: map[string]time.Duration{}, window: window}
}

// Add takes note of a wait with a stack, leaf first.
func (c *Crew) Add(kind Kind, stack []Frame, d time.Duration) {
	if _, loop := work(kind, stack); loop != "" {
		c.loops[loop] += d
	}
}

// WaitsForWork reports whether a wait is one for work, after all were added.
func (c *Crew) WaitsForWork(kind Kind, stack []Frame) bool {
	sure, loop := work(kind, stack)
	return sure || loop != "" && c.loops[loop] <= c.window+c.window/20
}

// work reports whether a wait is surely one for work. If not sure, and the goroutine waits in its
// outermost function, loop is the name of that function.
func work(kind Kind, stack []Frame) (sure bool, loop string) {
	switch {
	case len(stack) == 0:
		return false, ""
	case IsProfiler(stack) || IsRuntime(stack):
		return true, ""
	case !slices.Contains(forWork, kind):
		return false, ""
	}
	switch stack[len(stack)-1].Func {
	case "runtime.main":
		return kind != Network && kind != Sleep && kind != Syscall || accepts(stack), ""
	case "[truncated]":
		return false, ""
	}
	sure = true
	functions := 0
	for _, f := range stack {
		if pkg := packageOf(f.Func); !isBetween(f.Func, pkg) {
			functions++
			loop = f.Func
			name, ours := strings.CutPrefix(pkg, strings.TrimSuffix(ownPackage, "profiling"))
			sure = sure && ours && slices.Contains(library, name)
		}
	}
	if functions != 1 || kind == Network || kind == Syscall {
		loop = ""
	}
	return sure || accepts(stack), loop
}

// accepts reports whether a stack is that of a goroutine that waits for connections.
func accepts(stack []Frame) bool {
	return slices.ContainsFunc(stack, func(f Frame) bool { return f.Func == "net.(*netFD).accept" })
}

// library has the packages of this library that have goroutines, after its path.
var library = []string{"mvcc", "gc", "durable", "etcd", "internal/engine/favour", "internal/debug/goid"}
