package cli

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/brief"
	"github.com/mvccmap/mvccmap/internal/journey"
	"github.com/mvccmap/mvccmap/profiling"
)

// What the post left open.

// fell is a part of the throughput of one goroutine: if two of them have less, that is a fall.
const fell = 0.7

// twoThreads measures the map from epochs to counts at one and two goroutines: as in the post, with
// a scan at each commit, and with many aborts, whose entries go or stay in the map.
func (a *answering) twoThreads() (answer, error) {
	asked := journey.StepByName("counted").Config
	each := asked
	each.Cleaning = journey.Cleaning{Guard: journey.RightGuard}
	yield := asked
	yield.Yield = true
	left := yield
	left.LeaveAborted = true
	cases := []struct {
		name   string
		config journey.Config
	}{
		{"scan at each 32nd version", asked},
		{"scan at each commit", each},
		{"commits give way", yield},
		{"and aborted ones stay", left},
	}
	var sides []*side
	for _, c := range cases {
		for _, n := range []int{1, 2} {
			sides = append(sides, &side{name: fmt.Sprintf("%s, %s", c.name, threads(n)),
				config: bench.Config{
					Workload: workload("write-heavy", 0), Engine: journey.Engine("counted", "", c.config),
					Threads: n, Attempts: 1,
				}})
		}
	}
	profiles := make([]profiling.Profiles, len(sides))
	recorder, err := profiling.NewRecorder(a.env.Name + " journey answers")
	if err != nil {
		return answer{}, err
	}
	defer recorder.Close()
	var failure error
	for i := range sides {
		sides[i].around = around(recorder, &failure, func(got profiling.Profiles) (err error) {
			profiles[i], err = profiles[i].Merge(got)
			return err
		})
	}
	if err := a.measure(sides); err != nil {
		return answer{}, err
	}
	if failure != nil {
		return answer{}, fmt.Errorf("profiling: %w", failure)
	}
	got := answer{rows: [][]string{{"", "1 thread", "2 threads", "part",
		"aborts", "in the scan"}}}
	var parts, scans []float64
	var tops []string
	for i, c := range cases {
		one, two := sides[2*i].ops(), sides[2*i+1].ops()
		p, err := journey.ReadProfile(profiles[2*i+1]["cpu"]) // nil if it was too short for a sample
		if err != nil {
			return answer{}, err
		}
		parts = append(parts, two/one)
		scans = append(scans, p.Share("counted).lowest"))
		tops = append(tops, strings.Join(p.Top(3), ", "))
		aborts := sides[2*i+1].median(func(m bench.Measurement) float64 { return float64(m.Errors) })
		got.rows = append(got.rows, []string{
			c.name, brief.Number(one), brief.Number(two), fmt.Sprintf("%.2f", two/one), tableCount(aborts),
			brief.Percent(scans[i]),
		})
	}
	if a.flames != "" {
		last := sides[len(sides)-1]
		if err := drawFlame(a.flames, a.question, a.question+", "+last.name+": processor time",
			profiles[len(sides)-1]["cpu"]); err != nil {
			return answer{}, err
		}
	}
	falls := func(i int) string {
		if parts[i] < fell {
			return fmt.Sprintf("falls to %.2f", parts[i])
		}
		return fmt.Sprintf("does not fall (%.2f)", parts[i])
	}
	got.says = fmt.Sprintf("The map itself %s at two goroutines, and with a scan at each commit it "+
		"%s, where %s of the processor time goes to the scan. With commits that give way, so that many "+
		"abort, it %s; and if the aborted ones are left in the map it %s: one goroutine never aborts, "+
		"two do, each abort leaves an entry, and every scan looks at all of them, which takes %s (%s). "+
		"The post does not say whether it had that bug; but a scan of the two entries that should be "+
		"there is no hotspot, and one of a map that grows is.",
		falls(0), falls(1), brief.Percent(scans[1]), falls(2), falls(3), brief.Percent(scans[3]), tops[3])
	return got, nil
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

// retryMemory measures retries that allocate a state, and retries that use one again.
func (a *answering) retryMemory() (answer, error) {
	var sides []*side
	peaks := make([]heapPeak, 2)
	for i, name := range []string{"retry", "reuse"} {
		c := journey.StepByName(name).Config
		c.Yield = true
		sides = append(sides, &side{name: name, around: peaks[i].around, config: bench.Config{
			Workload: workload("counter", 1), Engine: journey.Engine(name, "", c), Threads: 8,
		}})
	}
	if err := a.measure(sides); err != nil {
		return answer{}, err
	}
	got := answer{rows: [][]string{{"states", "ops/s", "aborts/op", "B/op",
		"allocs/op", "heap peak"}}}
	var bytes []float64
	for i, s := range sides {
		bytes = append(bytes, s.median(bench.Measurement.BytesPerOp))
		got.rows = append(got.rows, []string{
			[]string{"allocated", "used again"}[i], brief.Number(s.ops()),
			fmt.Sprintf("%.2f", s.median(bench.Measurement.AbortsPerOp)), fmt.Sprintf("%.0f", bytes[i]),
			fmt.Sprintf("%.1f", s.median(bench.Measurement.AllocsPerOp)), brief.Bytes(int64(peaks[i].bytes)),
		})
	}
	got.says = fmt.Sprintf("Eight goroutines that increment one counter, and let others run before "+
		"they commit, allocate %.0f bytes for each increment that has committed, with %s aborts, and "+
		"%.0f bytes when states are used again: what is left is the versions.",
		bytes[0], got.rows[1][2], bytes[1])
	return got, nil
}

// guard measures the wrong guard and the right one.
func (a *answering) guard() (answer, error) {
	var sides []*side
	versions := make([]int, 2)
	for i, name := range []string{"keyed-bug", "keyed"} {
		var engine bench.Versioner
		spec := journey.StepByName(name).Engine
		open := spec.New
		spec.New = func(setup bench.Setup[uint64]) (bench.Engine[uint64], error) {
			e, err := open(setup)
			engine, _ = e.(bench.Versioner)
			return e, err
		}
		sides = append(sides, &side{name: name, config: bench.Config{
			Workload: workload("write-heavy", 0), Engine: spec, Threads: 2, Attempts: 1,
		}, around: func() func() { return func() { versions[i] = engine.Versions() } }})
	}
	if err := a.measure(sides); err != nil {
		return answer{}, err
	}
	got := answer{rows: [][]string{{"guard", "ops/s", "versions of 4 keys"}}}
	for i, name := range []string{"wrong", "right"} {
		got.rows = append(got.rows, []string{
			name, brief.Number(sides[i].ops()), tableCount(float64(versions[i])),
		})
	}
	got.says = fmt.Sprintf("It took the mark of a key that was never pruned, the highest epoch "+
		"there is, for an epoch, so it never was: %s versions at the end of a sample of %v, against %s "+
		"that wait for the next tick.",
		got.rows[1][2], a.duration, got.rows[2][2])
	return got, nil
}
