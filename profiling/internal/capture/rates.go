package capture

import (
	"math"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

// rates counts the servers that want the runtime's mutex and block profiles
// on. The settings belong to the whole process: the first server turns one on,
// a later one may change its value, and the last to close turns it back.
var rates struct {
	mu          sync.Mutex
	mutexUsers  int
	mutexBefore int // the program's own setting, to be restored
	mutexSet    int // what a server set last
	blockUsers  int
}

// AcquireRates turns the mutex and block profiles on with the given rates; a
// negative rate leaves its profile alone. The returned function gives both
// back and must be called exactly once. A mutex fraction that the program itself
// changed meanwhile stays. The block rate cannot be read from the runtime; it goes
// back to 0, the value at which a program starts.
func AcquireRates(mutexFraction int, blockRate time.Duration) (release func()) {
	rates.mu.Lock()
	defer rates.mu.Unlock()
	if mutexFraction >= 0 {
		before := runtime.SetMutexProfileFraction(mutexFraction)
		if rates.mutexUsers == 0 {
			rates.mutexBefore = before
		}
		rates.mutexSet = mutexFraction
		rates.mutexUsers++
	}
	if blockRate >= 0 {
		runtime.SetBlockProfileRate(int(min(blockRate, math.MaxInt32)))
		rates.blockUsers++
	}
	return func() {
		rates.mu.Lock()
		defer rates.mu.Unlock()
		if mutexFraction >= 0 {
			rates.mutexUsers--
			if rates.mutexUsers == 0 && runtime.SetMutexProfileFraction(-1) == rates.mutexSet {
				runtime.SetMutexProfileFraction(rates.mutexBefore)
			}
		}
		if blockRate >= 0 {
			rates.blockUsers--
			if rates.blockUsers == 0 {
				runtime.SetBlockProfileRate(0)
			}
		}
	}
}

// Off returns the names of the profiles that record nothing at present: those whose rates are
// off. The block rate cannot be read from the runtime: its profile counts as off if no server has
// set the rate and it has never recorded anything.
func Off() []string {
	rates.mu.Lock()
	defer rates.mu.Unlock()
	var list []string
	if rates.blockUsers == 0 && pprof.Lookup("block").Count() == 0 {
		list = append(list, "block")
	}
	if runtime.SetMutexProfileFraction(-1) == 0 {
		list = append(list, "mutex")
	}
	return list
}
