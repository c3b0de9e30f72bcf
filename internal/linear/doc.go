// Package linear checks that the one-key operations of a map are linearizable:
// each seems to happen at one instant between its call and its return.
//
// [Record] has goroutines work on a few keys at the same time and notes what
// each operation returned, and when. [Check] asks for each key alone whether the
// operations can be put in an order that respects these times and in which each
// returns what it did; that is enough, because linearizability is local to a
// key. A [Violation] has the shortest stretch of the history that cannot be
// explained.
//
// Transactions that touch a single key take part: serializable ones are
// linearizable together with the one-key operations. What transactions over
// several keys may do is for package history to check; here they are only in the
// way, and each of their keys counts as an operation of its own.
package linear
