//go:build !unix

package charts

import "math"

// processCPU does not know how much processor time the process has used.
func processCPU() float64 { return math.NaN() }
