//go:build !unix

package machine

import "time"

// Process returns the processor time that the process has used, and how
// often its threads were switched. They are not known here.
func Process() (cpu time.Duration, switches uint64, ok bool) { return 0, 0, false }

// InSystem returns the processor time that the process has used in system mode. It is not known
// here.
func InSystem() (cpu time.Duration, ok bool) { return 0, false }
