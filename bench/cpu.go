package bench

import (
	"runtime"
	"sync"
	"time"
)

// FreeCPU finds out how much of the processors this process can have: it keeps
// GOMAXPROCS goroutines busy for d and returns the part of that time that they
// were really running, 1 on a machine that is otherwise idle. Below about 0.9,
// other programs take part in every measurement. ok is false if the system does
// not tell processor time.
func FreeCPU(d time.Duration) (share float64, ok bool) {
	before, _, ok := processUsage()
	if !ok {
		return 0, false
	}
	procs := runtime.GOMAXPROCS(0)
	from := clock()
	var wg sync.WaitGroup
	for range procs {
		wg.Go(func() {
			for clock()-from < d {
			}
		})
	}
	wg.Wait()
	wall := clock() - from
	after, _, _ := processUsage()
	return min(float64(after-before)/float64(wall)/float64(procs), 1), true
}
