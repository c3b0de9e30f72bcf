package slow_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/bench/testload"
	"github.com/mvccmap/mvccmap/profiling/internal/contention"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// crowd is how many goroutines are in front of the operation.
const crowd = 8

// pause is the time that each of them takes.
const pause = 4 * time.Millisecond

//go:noinline
func convoySleep() { time.Sleep(pause) }

// inTurn has a crowd pass through f, again and again, until done is called.
func inTurn(f func()) (done func()) {
	stop := make(chan struct{})
	var wg, ready sync.WaitGroup
	for range crowd {
		ready.Add(1)
		wg.Go(func() {
			ready.Done()
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	ready.Wait()
	return func() { close(stop); wg.Wait() }
}

//go:noinline
func outer(mu, inner *sync.Mutex, held chan<- struct{}) {
	mu.Lock()
	defer mu.Unlock()
	close(held)
	middle(inner)
}

//go:noinline
func middle(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// The holder of the lock waits for another lock. The holder of that sleeps.
func TestChainOfLocks(t *testing.T) {
	r := explain(t, func() (op, done func()) {
		var first, second sync.Mutex
		held, inner := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { plantedHolder(&second, inner) })
		wg.Go(func() { <-inner; outer(&first, &second, held) })
		return func() { <-held; testload.TakeLock(&first) }, wg.Wait
	}, func(r *slow.Report) bool {
		return isTop(r, contention.Mutex, ".TakeLock") && r.Waits[0].Cause != nil &&
			isRoot(r, contention.Sleep, ".plantedHolder")
	})
	require.Equal(t, 1, r.Waits[0].Turns.Count)
	require.NotEqual(t, r.Goroutine, r.Waits[0].Waker.Goroutine)
	cause := r.Waits[0].Cause
	require.Equal(t, contention.Mutex, cause.Kind)
	require.True(t, strings.HasSuffix(cause.Site.Func, ".middle"), cause.Site)
	require.NotEmpty(t, cause.Stack)
	require.True(t, strings.HasSuffix(cause.Waker.Site.Func, ".plantedHolder"), cause.Waker)
	require.NotEqual(t, r.Waits[0].Waker.Goroutine, cause.Waker.Goroutine)
	require.Regexp(t, `waiting for a sync\.Mutex at \S+ \(testload\.TakeLock\)`+
		`; it was held by goroutine \d+, which released it at \S+ \(slow_test\.outer\)`+
		` and meanwhile was [\d.]+ \S+ waiting for a sync\.Mutex at \S+ \(slow_test\.middle\)`+
		`; that was held by goroutine \d+, which released it at \S+ \(slow_test\.plantedHolder\)`+
		` and meanwhile was [\d.]+ \S+ sleeping at \S+ \(slow_test\.plantedHolder\)`+orWaits, r.Verdict)

	// It survives JSON, by which programs read it.
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back slow.Report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r.Verdict, back.Verdict)
	require.Equal(t, r.Waits[0].Site.Line, back.Waits[0].Site.Line)
}

//go:noinline
func takeToken(c chan int) { <-c }

//go:noinline
func giveToken(c chan int) { c <- 1 }

// A token in a channel goes from one goroutine to the next as a lock would. Each has it while it
// waits for an answer.
func TestHandOver(t *testing.T) {
	r := explain(t, func() (op, done func()) {
		token, answers := make(chan int, 1), make(chan int)
		giveToken(token)
		end := inTurn(func() {
			takeToken(token)
			plantedReceive(answers)
			giveToken(token)
		})
		var wg sync.WaitGroup
		stop := make(chan struct{})
		wg.Go(func() {
			for {
				convoySleep()
				select {
				case answers <- 1:
				case <-stop:
					return
				}
			}
		})
		return func() {
			time.Sleep(2 * pause)
			takeToken(token)
			giveToken(token)
		}, func() { end(); close(stop); wg.Wait() }
	}, func(r *slow.Report) bool {
		return isTop(r, contention.ChanReceive, ".takeToken") && r.Waits[0].Turns != nil &&
			r.Waits[0].Turns.Count > 2 &&
			r.Waits[0].Cause != nil &&
			isRoot(r, contention.Sleep, ".convoySleep")
	})
	cause := r.Waits[0].Cause
	require.Equal(t, contention.ChanReceive, cause.Kind)
	require.True(t, strings.HasSuffix(cause.Site.Func, ".plantedReceive"), cause.Site)
	require.Greater(t, cause.Count, 1)
	require.Regexp(t, `waiting to receive from a channel at \S+ \(slow_test\.takeToken\)`+
		`; it passed through \d+ goroutines in turn, \S+ \S+ each, the last of which ended the wait at \S+ \(slow_test\.giveToken\)`+
		` and meanwhile were \d+ % of the time waiting to receive from a channel at \S+ \(slow_test\.plantedReceive\)`+
		`; goroutine \d+ ended that at \S+ .* sleeping at \S+ \(slow_test\.convoySleep\)`+orWaits, r.Verdict)
}

//go:noinline
func holdAndYield(mu *sync.Mutex, held chan<- struct{}) {
	mu.Lock()
	close(held)
	runtime.Gosched()
	mu.Unlock()
}

// The holder of the lock could go on, but others have the only processor.
func TestHolderWithoutProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := explain(t, func() (op, done func()) {
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { testload.Spin(&stop) })
		}
		var mu sync.Mutex
		held := make(chan struct{})
		wg.Go(func() { holdAndYield(&mu, held) })
		return func() { <-held; testload.TakeLock(&mu) }, func() { stop.Store(true); wg.Wait() }
	}, func(r *slow.Report) bool {
		return isTop(r, contention.Mutex, ".TakeLock") &&
			r.Waits[0].Root().Kind == contention.Scheduler && r.Processors != nil &&
			r.Processors.Of == 1 &&
			r.Processors.Used > 0.5
	})
	require.Greater(t, r.Processors.Wanted, r.Processors.Used)
	require.Regexp(t, `which released it at \S+ \(slow_test\.holdAndYield\) and meanwhile was `+
		`[\d.]+ \S+ runnable, without a processor: [\d.]+ goroutines for 1 processor\.`, r.Verdict)
}

// orWaits ends a verdict, also where the machine is busy with something else.
const orWaits = `(, \S+ \S+ runnable, without a processor)?\.`
