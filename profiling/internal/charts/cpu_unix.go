//go:build unix

package charts

import (
	"math"
	"syscall"
)

// processCPU returns the seconds of processor time that the process has used.
func processCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return math.NaN()
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
