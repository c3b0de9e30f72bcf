package contention_test

import (
	"bytes"
	"net"
	"reflect"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A staged wait is made by a function that waits until it is released.
type staged struct {
	kind    contention.Kind
	wait    func()
	release func()
	blocked string // how the runtime calls it
	profile bool   // the block profile has it
}

// name returns the name of the function that waits.
func (p staged) name() string {
	return runtime.FuncForPC(reflect.ValueOf(p.wait).Pointer()).Name()
}

// plant returns one wait of every kind that can be made at will.
func plant(t *testing.T) []staged {
	var mu, lk sync.Mutex
	var rw, rw2 sync.RWMutex
	var once sync.Once
	var wg sync.WaitGroup
	mu.Lock()
	rw.Lock()
	rw2.RLock()
	wg.Add(1)
	recv, send, sel, hold := make(chan int), make(chan int), make(chan int), make(chan int)
	cond := sync.NewCond(&lk)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	inOnce := func() { once.Do(func() { <-hold }) }
	return []staged{
		{contention.Mutex, func() { mu.Lock(); defer mu.Unlock() }, mu.Unlock, "sync.Mutex.Lock", true},
		{contention.RWMutex, func() { rw.RLock(); defer rw.RUnlock() }, rw.Unlock,
			"sync.RWMutex.RLock", true},
		{contention.RWMutex, func() { rw2.Lock(); defer rw2.Unlock() }, rw2.RUnlock,
			"sync.RWMutex.Lock", true},
		{contention.ChanReceive, func() { <-recv }, func() { recv <- 1 }, "chan receive", true},
		{contention.ChanSend, func() { send <- 1 }, func() { <-send }, "chan send", true},
		{contention.Select, func() {
			select {
			case <-sel:
			case sel <- 2:
			}
		}, func() { sel <- 1 }, "select", true},
		{contention.Cond, func() { lk.Lock(); cond.Wait(); lk.Unlock() },
			func() { lk.Lock(); cond.Broadcast(); lk.Unlock() }, "sync.Cond.Wait", true},
		{contention.WaitGroup, func() { wg.Wait() }, wg.Done, "sync.WaitGroup.Wait", true},
		{contention.Network, func() {
			if c, err := ln.Accept(); err == nil {
				c.Close()
			}
		}, func() {
			if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
				c.Close()
			}
		}, "IO wait", false},
		{contention.Once, func() {
			go inOnce()
			testload.Await(t, 1, "plant.func", "chan receive")
			once.Do(func() {})
		}, func() { close(hold) }, "sync.Mutex.Lock", true},
		{contention.Sleep, func() { time.Sleep(20 * time.Millisecond) }, func() {}, "", false},
	}
}

//go:noinline
func waitReceive(c chan int) { <-c }

//go:noinline
func waitReceiveLate(c chan int) { <-c }

//go:noinline
func waitSleep() { time.Sleep(20 * time.Millisecond) }

// runPlanted makes every planted wait happen, each of them once.
func runPlanted(t *testing.T) []staged {
	t.Helper()
	all := plant(t)
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(p.wait)
		if p.blocked != "" {
			testload.Await(t, 1, p.name(), p.blocked)
		}
		p.release()
	}
	wg.Wait()
	return all
}

// find returns the site of a kind in the named function of this file.
func find(list []contention.Site, kind contention.Kind, function string) (contention.Site, bool) {
	for _, s := range list {
		if s.Kind == kind && strings.HasSuffix(s.Func, function) {
			return s, true
		}
	}
	return contention.Site{}, false
}

// traced returns the report of a trace of f.
func traced(t *testing.T, f func()) *contention.Report {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, trace.Start(&buf))
	func() {
		defer trace.Stop()
		f()
	}()
	r, err := contention.FromTrace(&buf)
	require.NoError(t, err)
	return r
}

func TestTraceNamesEveryKindOfWait(t *testing.T) {
	var all []staged
	r := traced(t, func() { all = runPlanted(t) })
	require.True(t, r.Exact)
	require.Positive(t, r.Window)
	require.Positive(t, r.Events)
	for _, p := range all {
		name := p.name()
		s, ok := find(r.Waits, p.kind, name)
		require.True(t, ok, "no wait of kind %q in %s: %+v", p.kind, name, r.Waits)
		require.EqualValues(t, 1, s.Count, name)
		require.Positive(t, s.Total, name)
		require.Equal(t, s.Total, s.Max, name)
		require.Equal(t, s.Total, s.P99, name)
		require.Contains(t, s.File, "contention_test.go")
		require.NotEmpty(t, s.Stacks[0].Frames)
		require.Zero(t, s.Waiting)
		require.False(t, s.Idle)
	}
	for _, s := range r.Waits {
		require.True(t, s.Work || !strings.HasPrefix(s.Func, "runtime/trace."), "the tracer is hidden")
	}

	// The profile agrees with the list.
	r.Start = time.Now()
	p := r.Profile()
	require.NoError(t, p.CheckValid())
	require.Equal(t, "delay", p.DefaultSampleType)
	totals, want := map[string]int64{}, map[string]int64{}
	for _, s := range p.Sample {
		require.Len(t, s.Value, 2)
		require.Len(t, s.Label["wait"], 1)
		root := s.Location[len(s.Location)-1].Line[0].Function.Name
		if root == "[idle]" {
			require.Equal(t, []string{"true"}, s.Label["idle"])
			root = s.Location[len(s.Location)-2].Line[0].Function.Name
		}
		require.Equal(t, "["+s.Label["wait"][0]+"]", root)
		totals[s.Label["wait"][0]] += s.Value[1]
	}
	for _, s := range r.Waits {
		want[string(s.Kind)] += int64(s.Total)
	}
	require.Equal(t, want, totals)
}

// A wait from before the start until after the end counts as the length of the trace.
func TestTraceCountsWhatStillWaits(t *testing.T) {
	c := make(chan int)
	var wg sync.WaitGroup
	wg.Go(func() { waitReceive(c) })
	testload.Await(t, 1, "waitReceive", "chan receive")
	r := traced(t, func() { waitSleep() })
	close(c)
	wg.Wait()
	s, ok := find(r.Waits, contention.ChanReceive, "waitReceive")
	require.True(t, ok, "%+v", r.Waits)
	require.Equal(t, 1, s.Waiting)
	require.True(t, s.Idle)
	require.Positive(t, s.Total)
	require.Equal(t, r.Window, s.Total)
}

// A trace is written in parts. Each says again which goroutines wait. A wait that goes on over
// several of them is one, from its begin or that of the trace, and longer than a sleep meanwhile.
func TestTraceJoinsItsParts(t *testing.T) {
	early, late := make(chan int), make(chan int)
	var wg sync.WaitGroup
	wg.Go(func() { waitReceive(early) })
	testload.Await(t, 1, "waitReceive", "chan receive")
	r := traced(t, func() {
		wg.Go(func() { waitReceiveLate(late) })
		testload.Await(t, 1, "waitReceiveLate", "chan receive")
		waitSleep()
		for range 3 {
			f := trace.NewFlightRecorder(trace.FlightRecorderConfig{}) // begins a new part
			require.NoError(t, f.Start())
			f.Stop()
		}
		close(late)
		close(early)
		wg.Wait()
	})
	least := time.Duration(0)
	for _, w := range []struct {
		kind     contention.Kind
		function string
	}{{contention.Sleep, "waitSleep"}, {contention.ChanReceive, "waitReceiveLate"},
		{contention.ChanReceive, ".waitReceive"}} {
		s, ok := find(r.Waits, w.kind, w.function)
		require.True(t, ok, "%+v", r.Waits)
		require.EqualValues(t, 1, s.Count)
		require.False(t, s.Idle)
		require.Greater(t, s.Total, least, "by the one clock of the trace")
		least = s.Total
	}
}

//go:noinline
func collect() {
	for range 3 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
	}
}

func TestProfilesNameEveryKindTheyKnow(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	before := runtime.SetMutexProfileFraction(1)
	defer func() {
		runtime.SetBlockProfileRate(0)
		runtime.SetMutexProfileFraction(before)
	}()
	blockBefore, mutexBefore := snapshot(t, "block"), snapshot(t, "mutex")
	all := runPlanted(t)
	r := contention.FromProfiles(gain(t, blockBefore, "block"), gain(t, mutexBefore, "mutex"), 0)
	require.False(t, r.Exact)
	for _, p := range all {
		name := p.name()
		s, ok := find(r.Waits, p.kind, name)
		require.Equal(t, p.profile, ok, "%s: %+v", name, r.Waits)
		if ok {
			require.Positive(t, s.Count, name)
			require.Positive(t, s.Average, name)
			require.Zero(t, s.Max, "not known")
		}
	}
	none := contention.FromProfiles(nil, nil, 0)
	require.Empty(t, none.Waits)
	require.NoError(t, none.Profile().CheckValid())
}

func snapshot(t *testing.T, name string) *profile.Profile {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, pprof.Lookup(name).WriteTo(&buf, 0))
	p, err := profile.ParseData(buf.Bytes())
	require.NoError(t, err)
	return p
}

func gain(t *testing.T, before *profile.Profile, name string) *profile.Profile {
	t.Helper()
	p, err := capture.Gain(before, snapshot(t, name))
	require.NoError(t, err)
	return p
}
