// Package bench measures concurrent maps under load and checks, in the same run, that the measured
// runs were correct.
//
// A [Workload] describes an operation; an [Engine] is a map under test; a [Trial] puts one engine
// under one workload with a number of goroutines, and a [Sweep] runs many trials, interleaved. The
// command mvccbench is a front end to this package. A program with a map of its own can implement
// [Engine] and [Session] and have it measured and verified in the same way.
//
// # The figures
//
// One operation is one transaction that has committed, however often it had to be retried. Aborted
// attempts are counted apart. The time of an operation is wall time divided by operations, over all
// goroutines. Latencies come from a random sample of the operations, because reading the clock
// costs more than many of them. In a closed loop a goroutine starts its next operation when the
// last has ended: nothing waits for its turn, and one operation alone sees a stall. In an open loop
// ([Config.Rate]) operations are due at times planned before the run and wait in one queue for
// whichever goroutine is free; response times count from when they were due: those during a stall
// have waited, and show it.
//
// # The checks
//
// Every value says which goroutine wrote it, as which of its writes, and to which key. A map that
// fails a check has no figures: [Trial.Verify] returns a [*Violation].
//
//   - A key never shows a goroutine an older value than before, nor one again that has been
//     replaced, and shows its own latest write or something newer.
//   - At the end each key holds the last write of one of the goroutines, and one that is new to, or
//     last seen by, each of them.
//   - Transfers conserve the sum, in every full scan that an auditor makes meanwhile, and leave in
//     each account the sum of the committed transfers.
//   - Counters have counted every committed increment, and no value is handed out twice to one
//     goroutine.
//   - A transaction of several operations reads its own writes.
//   - Keys that are deleted and put back in batches are found as a whole batch or not at all, and
//     are at the end as their last transaction left them.
//   - A snapshot shows at the end the same as at the beginning.
//   - Byte slices come back with every byte as it was.
//
// The checks cost a few array accesses an operation and no allocation; BenchmarkHarness has the
// time. The harness makes a byte slice for each that is written, as a program would; its allocation
// is in the figures.
package bench
