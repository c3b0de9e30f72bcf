// Package slow finds in an execution trace why one operation took as long as it did: for how long
// its goroutine ran, waited for a processor, for a lock, a channel, the kernel or the collector, at
// which line, and who ended the wait.
//
// The goroutine that ended the operation says so in the trace with [Mark]. Then
// [FromTrace] looks at the time before the mark:
//
//	slow.Mark(7, "checkout", took, time.Now()) // in the program, which is being traced
//	report, err := slow.FromTrace(file, 7, took, machine.Usage{}) // from the trace
//	fmt.Println(report.Verdict)
package slow
