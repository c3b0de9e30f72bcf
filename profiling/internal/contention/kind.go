package contention

import "strings"

// A Kind is a kind of wait, by the thing waited for.
type Kind string

// The kinds of wait.
const (
	Mutex       Kind = "mutex"
	RWMutex     Kind = "rwmutex"
	Once        Kind = "once"
	Cond        Kind = "cond"
	WaitGroup   Kind = "waitgroup"
	ChanSend    Kind = "chan send"
	ChanReceive Kind = "chan receive"
	Select      Kind = "select"
	Claim       Kind = "claim" // of a transaction of a map, that goes first
	Sleep       Kind = "sleep"
	Coroutine   Kind = "coroutine" // until another goroutine switches to it
	Network     Kind = "network"
	Syscall     Kind = "syscall"
	Scheduler   Kind = "scheduler"    // runnable, until a processor was free
	GCAssist    Kind = "gc assist"    // marking, as much as was allocated; gc waits within included
	GCWait      Kind = "gc wait"      // for the collector
	StopWorld   Kind = "stop world"   // by the goroutine that stopped the world, until it went on
	RuntimeLock Kind = "runtime lock" // a lock within the runtime
	Other       Kind = "other"
)

// kinds has the kind of a wait by the reason that an execution trace gives for it. "" means that
// only the stack tells the kind, as it does for a reason that is not listed.
var kinds = map[string]Kind{
	"network": Network, "select": Select, "sync.(*Cond).Wait": Cond, "sleep": Sleep,
	"chan send": ChanSend, "chan receive": ChanReceive,
	"GC mark assist wait for work": GCWait, "wait until GC ends": GCWait,
	"GC weak to strong wait": GCWait,
}

// silent has the reasons that say nothing about the program.
var silent = map[string]bool{
	"forever": true, "preempted": true, "system goroutine wait": true, "synctest": true,
	"GC background sweeper wait": true, "wait for debug call": true,
}

// kindOf returns the kind of a wait by the reason that an execution trace gives and by the stack,
// leaf first. It returns "" if the wait says nothing about the program.
func kindOf(reason string, frames []Frame) Kind {
	if silent[reason] {
		return ""
	}
	k := kinds[reason]
	if k == "" || k == ChanReceive || k == Select {
		if by := KindOf(frames); k == "" || by == Claim {
			return by
		}
	}
	return k
}

// waiters has the functions at the leaf of a waiting stack, by prefix.
var waiters = []struct {
	prefix string
	kind   Kind
}{
	{"sync.(*RWMutex).", RWMutex},
	{"sync.(*rlocker).", RWMutex},
	{"sync.(*Mutex).", Mutex},
	{"sync.(*Once).", Once},
	{"sync.(*Cond).", Cond},
	{"sync.(*WaitGroup).", WaitGroup},
	{"internal/sync.(*Mutex).", Mutex},
	{favour + ".", Claim},
	{"runtime.chanrecv", ChanReceive},
	{"runtime.chansend", ChanSend},
	{"runtime.selectgo", Select},
	{"runtime.selectnbsend", ChanSend},
	{"runtime.selectnbrecv", ChanReceive},
	{"time.Sleep", Sleep},
	{"runtime.coro", Coroutine}, // coroswitch, and corostart of a new one
	{"internal/poll.runtime_pollWait", Network},
	{"internal/poll.(*pollDesc).", Network},
	{"runtime.unlock", RuntimeLock},
	{"runtime.gcStart", GCWait},
	{"runtime.gcWaitOnMark", GCWait},
	{"runtime.gcMarkDone", GCWait},
	{"runtime.gcAssistAlloc", GCAssist},
}

// KindOf returns the kind of the wait of a stack, leaf first. The outermost function of the
// standard library that is known to wait decides, so that the Mutex within a Once counts for the
// Once. There are two exceptions: a Cond that takes its Mutex back waits for the Mutex, and a wait
// for the collector stays one, whatever the allocation that met it is for.
func KindOf(frames []Frame) Kind {
	kind := Other
	for _, f := range frames {
		if !isPlumbing(f.Func) {
			break
		}
		for _, w := range waiters {
			if strings.HasPrefix(f.Func, w.prefix) {
				if w.kind == GCWait || w.kind == GCAssist {
					return w.kind
				}
				if kind == Other || w.kind != Cond {
					kind = w.kind
				}
				break
			}
		}
	}
	return kind
}

// favour is the package in which a map waits for a claim to be granted, or to end.
const favour = "github.com/mvccmap/mvccmap/internal/engine/favour"

// plumbing has the packages whose functions wait on behalf of their callers.
var plumbing = map[string]bool{
	"runtime": true, "sync": true, "sync/atomic": true, "time": true, "syscall": true,
	favour: true, "os": true, "io": true, "net": true, "bufio": true, "reflect": true,
}

// isPlumbing reports whether the named function only waits on behalf of its caller, so that a
// reader would look for the cause of a wait further out.
func isPlumbing(function string) bool {
	pkg := packageOf(function)
	return plumbing[pkg] || strings.HasPrefix(pkg, "internal/") ||
		strings.HasPrefix(pkg, "runtime/internal/")
}

// packageOf returns the import path of the package of a function.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/')
	// After a bracket come type arguments.
	if bracket := strings.IndexByte(function, '['); bracket >= 0 && bracket < slash {
		slash = strings.LastIndexByte(function[:bracket], '/')
	}
	if dot := strings.IndexByte(function[slash+1:], '.'); dot >= 0 {
		return function[:slash+1+dot]
	}
	return function
}
