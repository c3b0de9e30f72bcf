//go:build !unix

package bench

import "time"

// processUsage returns the processor time that the process has used, and how
// often its threads were switched. They are not known here.
func processUsage() (cpu time.Duration, switches uint64, ok bool) { return 0, 0, false }
