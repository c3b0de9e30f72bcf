package main

import (
	"runtime/metrics"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/bench/journey"
	"github.com/mvccmap/mvccmap/internal/brief"
)

// questions are what the post left open.
var questions = []struct {
	name, asks, says string
	form             func(fall *flame) *form
}{
	{
		"two-threads", "Why did the map from epochs to counts fall at two threads?",
		"The map itself does not fall at two goroutines, nor with a scan at each commit, though the " +
			"scan takes its part of the processor time, nor with commits that give way, so that many " +
			"abort. It falls if the aborted ones are left in the map: one goroutine never aborts, two do, each " +
			"abort leaves an entry, and every scan looks at all of them. The post does not say whether it " +
			"had that bug; but a scan of the two entries that should be there is no hotspot, and one of a " +
			"map that grows is.",
		twoThreads,
	},
	{
		"retry-memory", "What memory do retries take, and what does using states again save?",
		"Eight goroutines increment one counter, and let others run before they commit, so that most " +
			"attempts abort. What is allocated when states are used again is the versions.",
		retryMemory,
	},
	{
		"guard", "What did the guard do that never let anything be pruned?",
		"It took the mark of a key that was never pruned, the highest epoch there is, for an epoch, so " +
			"it never was. With the right guard the versions are those that wait for the next tick.",
		guard,
	},
}

// hot is the write-heavy load of the post, without retries.
func hot(engine bench.EngineSpec, threads int) formRun {
	return formRun{Config: bench.Config{Workload: journey.Workloads()[1], Engine: engine,
		Threads: threads, Attempts: 1}}
}

// twoThreads measures the map from epochs to counts at one and two goroutines: as in the post, with
// a scan at each commit, and with many aborts, whose entries go or stay in the map.
func twoThreads(fall *flame) *form {
	asked := journey.StepByName("counted").Config
	each := asked
	each.Cleaning = journey.Cleaning{Guard: journey.RightGuard}
	yield := asked
	yield.Yield = true
	left := yield
	left.LeaveAborted = true
	form := &form{
		head: []string{"", "1 thread", "2 threads", "part", "aborts", "in the scan"},
		show: []func(float64) string{brief.Number, brief.Number, format("%.2f"), count, brief.Percent},
	}
	for _, c := range []struct {
		name, engine string
		config       journey.Config
	}{
		{"scan at each 32nd version", "counted", asked},
		{"scan at each commit", "each-commit", each},
		{"commits give way", "give-way", yield},
		{"and aborted ones stay", "stay", left},
	} {
		engine := journey.Engine(c.engine, "", c.config)
		one, two := hot(engine, 1), hot(engine, 2)
		profile := new(journey.Profile)
		if c.config == left {
			profile = &fall.Profile
		}
		one.around, two.around = new(journey.Profile).Around, profile.Around
		form.add(c.name, func(m []bench.Measurement) []float64 {
			a, b := m[0].OpsPerSecond(), m[1].OpsPerSecond()
			return []float64{a, b, b / a, float64(m[1].Errors), profile.Share("counted).lowest")}
		}, one, two)
	}
	return form
}

// retryMemory measures retries that allocate a state, and retries that use one again.
func retryMemory(*flame) *form {
	w, _ := bench.WorkloadByName("counter")
	w.Params.Keys = 1
	form := &form{
		head: []string{"states", "ops/s", "aborts/op", "B/op", "allocs/op", "heap peak"},
		show: []func(float64) string{brief.Number, format("%.2f"), format("%.0f"),
			format("%.1f"), func(x float64) string { return brief.Bytes(int64(x)) }},
	}
	for _, s := range [][2]string{{"allocated", "retry"}, {"used again", "reuse"}} {
		c := journey.StepByName(s[1]).Config
		c.Yield = true
		peak := new(heapPeak)
		run := formRun{Config: bench.Config{Workload: w, Engine: journey.Engine(s[1], "", c), Threads: 8}}
		run.around = peak.around
		form.add(s[0], func(m []bench.Measurement) []float64 {
			return []float64{m[0].OpsPerSecond(), m[0].AbortsPerOp(), m[0].BytesPerOp(),
				m[0].AllocsPerOp(), peak.bytes}
		}, run)
	}
	return form
}

// heapPeak notes the most that the heap has in use.
type heapPeak struct{ bytes float64 }

// around looks once in a millisecond.
func (h *heapPeak) around() func() {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(time.Millisecond)
		defer t.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			h.bytes = max(h.bytes, float64(sample[0].Value.Uint64()))
			select {
			case <-stop:
				return
			case <-t.C:
			}
		}
	}()
	return func() { close(stop); <-done }
}

// guard measures the wrong guard and the right one.
func guard(*flame) *form {
	form := &form{
		head: []string{"guard", "ops/s", "versions of 4 keys"},
		show: []func(float64) string{brief.Number, count},
	}
	for _, s := range [][2]string{{"wrong", "keyed-bug"}, {"right", "keyed"}} {
		var engine bench.Versioner
		versions := 0
		spec := journey.StepByName(s[1]).Engine
		open := spec.New
		spec.New = func(setup bench.Setup) (bench.Engine, error) {
			e, err := open(setup)
			engine, _ = e.(bench.Versioner)
			return e, err
		}
		run := hot(spec, 2)
		run.around = func() func() { return func() { versions = engine.Versions() } }
		form.add(s[0], func(m []bench.Measurement) []float64 {
			return []float64{m[0].OpsPerSecond(), float64(versions)}
		}, run)
	}
	return form
}
