package contention

import (
	"slices"
	"strings"
)

// IsProfiler reports whether a stack, leaf first, is of the profiler itself. The innermost function
// of the profiler or of the program decides: the waits of a handler or a callback of the program
// are the program's, whichever function of the profiler called it.
func IsProfiler(frames []Frame) bool {
	switch packageOf(siteOf(frames).Func) {
	case "runtime/trace", "runtime/pprof": // the tracer and the CPU profiler, whoever uses them
		return true
	}
	for _, f := range frames {
		if pkg := packageOf(f.Func); !isBetween(f.Func, pkg) {
			return isProfiler(pkg)
		}
	}
	return false
}

// ownPackage has the code that makes reports, meterPackage the meter of hiccups.
const (
	ownPackage   = "github.com/mvccmap/mvccmap/profiling"
	meterPackage = "github.com/mvccmap/mvccmap/internal/bench/machine"
)

// isProfiler reports whether a package belongs to the profiler. The tests that drive a browser do
// not, though their package is below the profiler's.
func isProfiler(pkg string) bool {
	below := strings.HasPrefix(pkg, ownPackage+"/") && !strings.HasSuffix(pkg, "_test") &&
		pkg != ownPackage+"/browsertest"
	return pkg == ownPackage || pkg == meterPackage || below
}

// passing has the prefixes of those functions of package profiling that only call code of the
// program on its behalf: the program would wait as long without them.
var passing = []string{
	ownPackage + ".(*wrapped).ServeHTTP", ownPackage + ".(*answer).",
}

// tools has the packages of others that the profiler uses, and a program may use as well.
var tools = []string{
	"github.com/google/pprof/", "golang.org/x/exp/trace", "golang.org/x/perf/",
	"github.com/ianlancetaylor/demangle", "github.com/aclements/go-moremath/", "golang.org/x/sync/",
}

// isBetween reports whether a function works for its caller, and so does not tell whose the stack
// is: a function of the standard library, of tools, without a package, or of passing.
func isBetween(function, pkg string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(function, prefix) }
	first, _, _ := strings.Cut(pkg, "/")
	return pkg == function || standard[first] || slices.ContainsFunc(passing, begins) ||
		slices.ContainsFunc(tools, begins)
}

// standard has the first elements of the paths of the standard library.
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
