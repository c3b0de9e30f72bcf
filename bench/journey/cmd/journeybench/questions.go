package main

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/bench/journey"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/cli"
)

// questions are what the post, or a neighbour, left open: RavenDB, the Persistent Memory
// Development Kit, and a database that moved to virtual threads.
var questions = []struct {
	name, asks, says string
	form             func(fall *flame) *cli.Form
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
	{
		"holding", "What should a read transaction keep the few things in that it holds?",
		"In a slice with room for two from the beginning, as RavenDB found.",
		holding,
	},
	{
		"second-lock", "What did it bring to take the second lock out of begin, after the first?",
		"With eight goroutines; commits close the gate. RavenDB fell to a quarter without its first " +
			"lock, as the second was met more often, and without both had 1.08, 1.05 and 1.00 of the " +
			"beginning. Here, too, it is the last lock that counts.",
		secondLock,
	},
	{
		"cleanup-workers", "How many workers should clean up after commits that delete much?",
		"For one goroutine that deletes 20,000 objects, in transactions of so many; " +
			"\"table free-batch\" has the whole table of the PMDK.",
		cleanupWorkers,
	},
	{
		"os-threads", "Goroutines or OS threads?",
		"Goroutines: at 20,000 operations a second of a thousand of them, with an OS thread each the " +
			"threads of the process are switched far more often, and the table has what that does to " +
			"response times.",
		osThreads,
	},
}

// hot is the write-heavy load of the post, without retries.
func hot(engine bench.EngineSpec, threads int) cli.FormRun {
	run := cli.ClosedLoop(journey.Workloads()[1], engine, threads)
	run.Attempts = 1
	return run
}

// twoThreads measures the map from epochs to counts at one and two goroutines: as in the post, with
// a scan at each commit, and with many aborts, whose entries go or stay in the map.
func twoThreads(fall *flame) *cli.Form {
	asked := journey.StepByName("counted").Config
	each := asked
	each.Cleaning = journey.Cleaning{Guard: journey.RightGuard}
	yield := asked
	yield.Yield = true
	left := yield
	left.LeaveAborted = true
	form := &cli.Form{
		Head: []string{"", "1 thread", "2 threads", "part", "aborts", "in the scan"},
		Show: cli.Shows{brief.Number, brief.Number, cli.Format("%.2f"), cli.Count, brief.Percent},
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
		one.Around, two.Around = new(journey.Profile).Around, profile.Around
		form.Add(c.name, func(m []bench.Measurement) []float64 {
			a, b := m[0].OpsPerSecond(), m[1].OpsPerSecond()
			return []float64{a, b, b / a, float64(m[1].Errors), profile.Share("counted).lowest")}
		}, one, two)
	}
	return form
}

// retryMemory measures retries that allocate a state, and retries that use one again.
func retryMemory(*flame) *cli.Form {
	w, _ := bench.WorkloadByName("counter")
	w.Params.Keys = 1
	form := &cli.Form{
		Head: []string{"states", "ops/s", "aborts/op", "B/op", "allocs/op", "heap peak"},
		Show: cli.Shows{brief.Number, cli.Format("%.2f"), cli.Format("%.0f"),
			cli.Format("%.1f"), func(x float64) string { return brief.Bytes(int64(x)) }},
	}
	for _, s := range [][2]string{{"allocated", "retry"}, {"used again", "reuse"}} {
		c := journey.StepByName(s[1]).Config
		c.Yield = true
		peak := new(heapPeak)
		run := cli.ClosedLoop(w, journey.Engine(s[1], "", c), 8)
		run.Around = peak.around
		form.Add(s[0], func(m []bench.Measurement) []float64 {
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
func guard(*flame) *cli.Form {
	form := &cli.Form{
		Head: []string{"guard", "ops/s", "versions of 4 keys"},
		Show: cli.Shows{brief.Number, cli.Count},
	}
	for _, s := range [][2]string{{"wrong", "keyed-bug"}, {"right", "keyed"}} {
		var engine bench.Versioner
		versions := 0
		spec := journey.StepByName(s[1]).Engine
		open := spec.New
		spec.New = func(setup bench.Setup[uint64]) (bench.Engine[uint64], error) {
			e, err := open(setup)
			engine, _ = e.(bench.Versioner)
			return e, err
		}
		run := hot(spec, 2)
		run.Around = func() func() { return func() { versions = engine.Versions() } }
		form.Add(s[0], func(m []bench.Measurement) []float64 {
			return []float64{m[0].OpsPerSecond(), float64(versions)}
		}, run)
	}
	return form
}

// holding measures what a read transaction keeps two things in.
func holding(*flame) *cli.Form {
	form := &cli.Form{
		Head: []string{"two things in", "ns", "B", "allocs"}, Show: cli.Shows{cli.Format("%.0f")},
	}
	w, _ := bench.WorkloadByName("begin")
	for _, h := range journey.Holders() {
		form.Add(h.Doc, func(m []bench.Measurement) []float64 {
			const n = journey.Held
			return []float64{m[0].NsPerOp() / n, m[0].BytesPerOp() / n, m[0].AllocsPerOp() / n}
		}, cli.ClosedLoop(w, h, 1))
	}
	return form
}

// secondLock measures begin behind two locks, one, and none.
func secondLock(*flame) *cli.Form {
	one := journey.StepByName("reuse").Config
	one.Tracker = journey.KeyedLocked
	two := one
	two.Gate = true
	form := &cli.Form{
		Head: []string{"locks in begin", "reads", "writes", "2/3 reads"}, Show: cli.Shows{brief.Number},
	}
	w, _ := bench.WorkloadByName("mixed")
	form.Add("two: of a gate and of the list", nil,
		cli.Mixed(w, journey.Engine("two-locks", "", two), 8)...)
	form.Add("one: of the list", nil, cli.Mixed(w, journey.Engine("one-lock", "", one), 8)...)
	form.Add("none: slots per P", nil, cli.Mixed(w, journey.StepByName("slots").Engine, 8)...)
	return form
}

// cleanupWorkers deletes in batches, by the table that there is for that.
func cleanupWorkers(*flame) *cli.Form {
	spec, _ := bench.EngineByName("mvcc")
	form := &cli.Form{
		Head: []string{"cleanup workers", "100 objects ms", "1,000 objects ms"},
		Show: cli.Shows{cli.Format("%.2f")},
	}
	for _, n := range []int{0, 1, 2, 4} {
		form.Add(fmt.Sprint(n), func(m []bench.Measurement) []float64 { // putting back follows each
			return []float64{1e3 * m[0].Wall.Seconds(), 1e3 * m[2].Wall.Seconds()}
		}, cli.FreeBatch(spec, 20_000, 100, 1, n, bench.MapOptions{}),
			cli.FreeBatch(spec, 20_000, 1_000, 1, n, bench.MapOptions{}))
	}
	return form
}

// onThread is a session whose goroutine has an OS thread to itself.
type onThread struct {
	bench.Session[uint64]
	counter bench.Incrementer
}

// Add implements [bench.Incrementer]. The thread is the goroutine's from its first operation on,
// and ends with it.
func (s onThread) Add(key string, delta uint64) (uint64, error) {
	runtime.LockOSThread()
	return s.counter.Add(key, delta)
}

// osThreads measures response times at a given load, with goroutines and with OS threads.
func osThreads(*flame) *cli.Form {
	w, _ := bench.WorkloadByName("many-goroutines")
	ms := cli.Format("%.3f")
	form := &cli.Form{
		Head: []string{"1,000 of them", "ops/s", "average ms", "99 % ms", "max ms", "switches/s"},
		Show: cli.Shows{brief.Number, ms, ms, ms, brief.Number},
	}
	for _, name := range []string{"mutex", "mvcc"} {
		spec, _ := bench.EngineByName(name)
		locked := spec.Wrapped(func(s bench.Session[uint64]) bench.Session[uint64] {
			return onThread{s, s.(bench.Incrementer)}
		})
		spec.Name, locked.Name = name+", goroutines", name+", OS threads"
		for _, engine := range []bench.EngineSpec{spec, locked} {
			form.Add(engine.Name, func(m []bench.Measurement) []float64 {
				ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
				most, _ := m[0].Response.Quantile(0.99)
				switches, _ := m[0].SwitchesPerOp()
				return []float64{m[0].OpsPerSecond(), ms(m[0].Response.Mean()), ms(most),
					ms(m[0].Response.Max()), switches * m[0].OpsPerSecond()}
			}, cli.FormRun{Config: bench.Config{Workload: w, Engine: engine, Threads: 1_000,
				Rate: 20_000, Arrival: bench.PoissonArrivals, LatencySample: 1}})
		}
	}
	return form
}
