package flight

import (
	"runtime"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/hist"
)

// maxShards bounds the memory of an Op: a histogram takes 36 KB.
const maxShards = 8

// counts has how many operations took how long. Goroutines count in several histograms, so
// that they do not fight for cache lines.
type counts struct {
	shards []hist.Recorder
	shift  uint // of a hash, to leave the number of a shard
}

func newCounts() *counts {
	n, log := 1, uint(0)
	for n < min(runtime.GOMAXPROCS(0), maxShards) {
		n, log = 2*n, log+1
	}
	return &counts{shards: make([]hist.Recorder, n), shift: 64 - log}
}

// add counts an operation that took d.
func (c *counts) add(d time.Duration) { c.shard().Record(int64(d)) }

// shard returns where the calling goroutine counts. Goroutines have stacks of
// their own, so the address of a variable tells them apart; which histogram one
// of them gets does not matter, as long as not all of them get the same.
func (c *counts) shard() *hist.Recorder {
	var here byte
	const golden = 0x9e3779b97f4a7c15
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack has 2 KB
	return &c.shards[stack*golden>>1>>(c.shift-1)]
}

// all returns what was counted.
func (c *counts) all() *hist.Hist {
	h := new(hist.Hist)
	for i := range c.shards {
		c.shards[i].AddTo(h)
	}
	return h
}
