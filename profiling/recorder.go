package profiling

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
)

// Profiles are profiles of some work by kind, such as "cpu", in the compressed
// form that "go tool pprof" reads. Kinds without samples are left out.
type Profiles map[string][]byte

// recordedChanges are the kinds beside cpu whose gain a [Recorder] takes.
var recordedChanges = []string{"allocs", "mutex", "block"}

// A Recorder profiles stretches of a program's work: where processor time went, where memory was
// allocated, and where goroutines waited. While it is open it holds the CPU profiler: a request to
// a [Service] of the process for a CPU profile is refused. Create one with [NewRecorder]. Its
// methods must be called by one goroutine at a time.
//
// A CPU profile interrupts each running thread 100 times per second, which takes about a hundredth
// of the time. [Config.BlockRate] says the cost of the mutex and block profiles. Starting collects
// garbage, because the runtime knows the allocations up to the last collection, and takes some
// milliseconds; stopping takes up to a fifth of a second, for which the runtime's CPU profiler
// waits.
type Recorder struct {
	release, rates func()
	close          sync.Once
}

// NewRecorder takes the CPU profiler and turns the mutex and block profiles on, at the default
// rates of a [Config]. A request for a CPU profile that is refused meanwhile is told owner as the
// reason. It returns an error if the CPU profiler is in use.
func NewRecorder(owner string) (*Recorder, error) {
	release, err := capture.HoldCPU(owner +
		" takes CPU profiles itself, and the process has one CPU profiler")
	if err != nil {
		return nil, err
	}
	rates := capture.AcquireRates(defaultMutexFraction, defaultBlockRate)
	return &Recorder{release: release, rates: rates}, nil
}

// Close gives the CPU profiler and the rates back.
func (r *Recorder) Close() {
	r.close.Do(func() {
		r.rates()
		r.release()
	})
}

// Start begins a stretch. The returned function ends it and must be called; it returns the profiles
// of the stretch that could be taken, and the reasons why others could not. The profiles have all
// samples of the stretch and no others, except for the work of starting and stopping.
func (r *Recorder) Start() (stop func() (Profiles, error), err error) {
	runtime.GC()
	before, err := rawSnapshots()
	if err != nil {
		return nil, err
	}
	runtime.GC() // or else the stretch would pay for collecting the garbage of the snapshots
	var cpu bytes.Buffer
	start := time.Now()
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		return nil, fmt.Errorf("the program takes a CPU profile elsewhere: %w", err)
	}
	return func() (Profiles, error) {
		took := time.Since(start)
		pprof.StopCPUProfile()
		runtime.GC()
		after, err := rawSnapshots()
		if err != nil {
			return nil, err
		}
		list := Profiles{}
		p, err := profile.ParseData(cpu.Bytes())
		errs := []error{list.add(capture.CPU, p, err)}
		for kind, data := range after {
			p, err := rawGain(before[kind], data)
			if err == nil {
				p.TimeNanos, p.DurationNanos = start.UnixNano(), took.Nanoseconds()
			}
			errs = append(errs, list.add(kind, p, err))
		}
		return list, errors.Join(errs...)
	}, nil
}

// rawSnapshots returns the profiles of the runtime as they are now. It does not parse them, because
// that allocates much.
func rawSnapshots() (map[string][]byte, error) {
	list := map[string][]byte{}
	for _, kind := range recordedChanges {
		var buf bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&buf, 0); err != nil {
			return nil, fmt.Errorf("%s profile: %w", kind, err)
		}
		list[kind] = buf.Bytes()
	}
	return list, nil
}

// rawGain returns the gain of a profile from before to after, without the Recorder's own work.
func rawGain(before, after []byte) (*profile.Profile, error) {
	two, err := parsed(before, after)
	if err != nil {
		return nil, err
	}
	p, err := capture.Gain(two[0], two[1])
	if err == nil {
		p.FilterSamplesByName(nil, ownWork, nil, nil)
	}
	return p, err
}

func parsed(list ...[]byte) (profiles []*profile.Profile, err error) {
	for _, data := range list {
		p, err := profile.ParseData(data)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// ownWork matches functions of a Recorder's own work, and of the CPU profiler's work for it.
var ownWork = regexp.MustCompile(`/profiling\.\(\*Recorder\)\.|^runtime/pprof\.profileWriter$`)

// add puts p into the list, unless p has no samples.
func (list Profiles) add(kind string, p *profile.Profile, err error) error {
	if err == nil && len(p.Sample) == 0 {
		return nil
	}
	var buf bytes.Buffer
	if err == nil {
		err = p.Write(&buf)
	}
	if err != nil {
		return fmt.Errorf("%s profile: %w", kind, err)
	}
	list[kind] = buf.Bytes()
	return nil
}

// Merge returns the sum of profiles, kind by kind. It changes neither.
func (list Profiles) Merge(other Profiles) (Profiles, error) {
	sum := Profiles{}
	maps.Copy(sum, list)
	var errs []error
	for _, kind := range other.Kinds() {
		if sum[kind] == nil {
			sum[kind] = other[kind]
			continue
		}
		var p *profile.Profile
		two, err := parsed(sum[kind], other[kind])
		if err == nil {
			p, err = profile.Merge(two)
		}
		errs = append(errs, sum.add(kind, p, err))
	}
	return sum, errors.Join(errs...)
}

// Comment returns the profiles with a line of text that pprof shows.
func (list Profiles) Comment(text string) (Profiles, error) {
	out := Profiles{}
	for _, kind := range list.Kinds() {
		p, err := profile.ParseData(list[kind])
		if err == nil {
			p.Comments = append(p.Comments, text)
		}
		if err := out.add(kind, p, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Kinds returns the kinds that there are: cpu first, then by name.
func (list Profiles) Kinds() []string {
	kinds := slices.Sorted(maps.Keys(list))
	if i := slices.Index(kinds, capture.CPU); i > 0 {
		kinds = slices.Insert(slices.Delete(kinds, i, i+1), 0, capture.CPU)
	}
	return kinds
}
