package contention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// An owner says whose a wait was, if it was not the program's.
type owner string

// The owners of waits that are left out of a report.
const (
	program  owner = ""
	profiler owner = "the profiler itself"
	runtimes owner = "goroutines of the runtime"
	unknown  owner = "at places that the trace does not have"
)

// LeftOut sums up waits that a [Report] leaves out, by whose they were.
type LeftOut struct {
	Whose string        `json:"whose"`
	Count int64         `json:"count"`
	Total time.Duration `json:"total_ns"`
	// Idle is how many sites beside these had goroutines that waited all the time.
	Idle int `json:"idle,omitempty"`
	// Longest is the site with the longest total, nil if the place is not known.
	Longest *Site `json:"longest,omitempty"`
}

// String says what was left out, in words.
func (l LeftOut) String() string {
	waits := "waits"
	if l.Count == 1 {
		waits = "wait"
	}
	text := fmt.Sprintf("%s: %d %s, %s", l.Whose, l.Count, waits, brief.Time(l.Total))
	if s := l.Longest; s != nil {
		text += fmt.Sprintf(", of which %s %s in %s", brief.Time(s.Total), s.Kind, brief.Func(s.Func))
	}
	return text
}

// split returns the stacks that a report is about, and what it leaves out.
func split(stacks []*Place) (kept []*Place, list []LeftOut) {
	others := map[owner][]*Place{}
	for _, s := range stacks {
		if s.owner == program {
			kept = append(kept, s)
		} else if len(s.tallies) > 0 {
			others[s.owner] = append(others[s.owner], s)
		}
	}
	list = []LeftOut{}
	for whose, stacks := range others {
		l := LeftOut{Whose: string(whose)}
		for _, site := range sites(stacks) {
			if site.Idle {
				l.Idle++
				continue
			}
			l.Count += site.Count
			l.Total += site.Total
			if l.Longest == nil && whose != unknown {
				l.Longest = &site // they are sorted
			}
		}
		if l.Count > 0 || l.Total > 0 || l.Idle > 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b LeftOut) int { return cmp.Compare(a.Whose, b.Whose) })
	return kept, list
}

// ownerOf says whose a wait with this stack, leaf first, is. Going outwards, the first function
// that is of the profiler or of the program tells: so what a handler or a callback of the program
// waits for is the program's, whichever function of the profiler called it.
func ownerOf(frames []Frame) owner {
	switch packageOf(siteOf(frames).Func) {
	case "runtime/trace", "runtime/pprof": // the tracer and the CPU profiler, whoever uses them
		return profiler
	}
	for _, f := range frames {
		switch pkg := packageOf(f.Func); {
		case isBetween(f.Func, pkg):
		case isProfiler(pkg):
			return profiler
		default:
			return program
		}
	}
	switch {
	case len(frames) == 0:
		return unknown
	case IsRuntime(frames):
		return runtimes
	}
	return program
}

// ownPackage has the code that makes reports, meterPackage the meter of hiccups.
const (
	ownPackage   = "github.com/mvccmap/mvccmap/profiling"
	meterPackage = "github.com/mvccmap/mvccmap/internal/machine"
)

// isProfiler reports whether a package makes reports. The tests that drive a browser do not, though
// their package stands below.
func isProfiler(pkg string) bool {
	below := strings.HasPrefix(pkg, ownPackage+"/") && !strings.HasSuffix(pkg, "_test") &&
		pkg != ownPackage+"/browsertest"
	return pkg == ownPackage || pkg == meterPackage || below
}

// passing has the functions of package profiling in which the program's own code runs on behalf of
// the program, by prefix: what they wait for themselves, the program would wait for without them.
var passing = []string{
	ownPackage + ".(*wrapped).ServeHTTP", ownPackage + ".(*answer).",
}

// tools has the packages of others that the profiler uses, and a program may use as well.
var tools = []string{
	"github.com/google/pprof/", "golang.org/x/exp/trace", "golang.org/x/perf/",
	"github.com/ianlancetaylor/demangle", "github.com/aclements/go-moremath/",
}

// isBetween reports whether a function works for its caller, so that it does not say whose the
// stack is: those of the standard library, of tools, code without a package, and what only passes
// a call on.
func isBetween(function, pkg string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(function, prefix) }
	first, _, _ := strings.Cut(pkg, "/")
	return pkg == function || standard[first] || slices.ContainsFunc(passing, begins) ||
		slices.ContainsFunc(tools, begins)
}

// standard has what the paths of the standard library begin with.
var standard = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(`archive bufio bytes cmp compress container context crypto
		database debug embed encoding errors expvar flag fmt go hash html image index internal io
		iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv
		strings structs sync syscall testing text time unicode unique unsafe vendor weak`) {
		set[name] = true
	}
	return set
}()

// OfCollector reports whether only goroutines of the collector have the frame.
func (f Frame) OfCollector() bool {
	return strings.HasPrefix(f.Func, "runtime.gcBgMarkWorker") ||
		strings.HasPrefix(f.Func, "runtime.bgsweep")
}

// IsProfiler reports whether a stack, leaf first, is of the profiler itself.
func IsProfiler(frames []Frame) bool { return ownerOf(frames) == profiler }

// IsRuntime reports whether a stack has nothing but functions of the runtime.
func IsRuntime(frames []Frame) bool {
	for _, f := range frames {
		p := packageOf(f.Func)
		if p != "runtime" && !strings.HasPrefix(p, "runtime/") &&
			!strings.HasPrefix(p, "internal/runtime/") {
			return false
		}
	}
	return true
}
