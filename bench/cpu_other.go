//go:build !unix

package bench

import "time"

// processCPU returns the processor time that the process has used. It is not
// known here.
func processCPU() (used time.Duration, ok bool) { return 0, false }
