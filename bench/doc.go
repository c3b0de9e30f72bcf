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
// whichever goroutine is free. Response times count from when an operation was due, so that each
// operation that was due during a stall shows how long it waited.
//
// # The checks
//
// Every value says which goroutine wrote it, as which of its writes, and to which key. A map that
// fails a check has no figures: [Trial.Verify] returns a [*Violation].
//
//   - A goroutine never reads from a key an older value than before, nor a value that it has seen
//     replaced, and it reads its own latest write or something newer.
//   - At the end each key holds the last write of one of the goroutines. Each goroutine has seen
//     this value last, or has never seen it.
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
// time. The harness makes a new byte slice for each value that it writes, as a program would; this
// allocation is in the figures.
package bench
