// Package bench measures concurrent maps under load and checks, in the same run,
// that what it measured was correct.
//
// A [Workload] says what an operation is; an [Engine] is a map under test; a
// [Trial] puts one engine under one workload with a number of goroutines, and a
// [Sweep] runs many trials, interleaved. The command mvccbench is a front end to
// this package; a program with a map of its own can implement [Engine] and
// [Session] and have it measured and verified in the same way.
//
// # What the figures mean
//
// One operation is one transaction that has committed, however often it had to
// be retried. Aborted attempts are counted apart and never as operations. The
// time of an operation is wall time divided by operations, over all goroutines.
// Latencies come from a random sample of the operations, because reading the
// clock costs more than many of them. In a closed loop, where a goroutine starts
// its next operation when the last has ended, nothing ever waits for its turn,
// and a stall is seen by one operation alone. In an open loop ([Config.Rate])
// operations are due at times planned before the run, and response times count
// from then: whatever was due during a stall has waited, and shows it.
//
// # What is verified
//
// Every value written says who wrote it, as which of its writes, and to which
// key. Each goroutine checks that a key never shows it an older value than
// before, never shows a value again that has been replaced, and shows its own
// latest write or something newer. When the goroutines have ended, each key must
// hold the last write of one of them, and one that is new to, or last seen by,
// each of them. Transfers must conserve the sum, in every full scan that an
// auditor makes meanwhile, and leave in each account exactly what the committed
// transfers add up to; counters must have counted every committed increment,
// and no value may be handed out twice to one goroutine. A transaction of several
// operations must read what it has written itself. Keys that are deleted and put
// back in batches must be found as a whole batch or not at all, and be there or
// not at the end as their last transaction left them. A snapshot must show at the
// end what it showed at the beginning. Byte slices must come back with every byte
// as it was. A map that fails has no figures: [Trial.Verify] returns a
// [*Violation].
//
// The checks cost a few array accesses an operation and no allocation. Byte
// slices are made by the harness, one for each that is written, as they would be
// in a program; their allocation is in the figures.
package bench
