//go:build unix

package bench_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// BenchmarkIdle reports the processor time that the whole process takes in ten
// seconds with a map that is open and unused, beside none.
//
//	go test -run '^$' -bench Idle -benchtime 1x ./bench
func BenchmarkIdle(b *testing.B) {
	for _, open := range []int{0, 1, 100} {
		b.Run(fmt.Sprint("maps=", open), func(b *testing.B) {
			for range open {
				m := mvcc.New[int, int](nil)
				defer m.Close()
				for key := range 1000 {
					m.Store(key, 0)
					m.Store(key, 1)
				}
			}
			time.Sleep(time.Second) // the last ticks
			for b.Loop() {
				before := usedCPU(b)
				time.Sleep(10 * time.Second)
				b.ReportMetric(float64(usedCPU(b)-before)/1e6, "cpu-ms/10s")
			}
		})
	}
}

// usedCPU returns the processor time that the process has used.
func usedCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Skip("the system does not tell: ", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
