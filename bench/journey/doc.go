// Package journey is a laboratory: a small MVCC map with parts that can be exchanged, to repeat the
// work of a post by the author of another such map. Each [Step] is a step of that post as a
// configuration of parts. Go benchmarks measure them; docs/journey.md has their figures beside
// those of the post, and draws conclusions.
//
// The map is simple, and right in every configuration: snapshot reads, and of two
// transactions that write the same key the first to commit wins. A configuration may be
// slow, or unable to drop anything. Its parts are
//
//   - the [Tracker], which knows the epochs that live transactions read, and so the min
//     visible epoch, below which there is no reader;
//   - the chain of a key's versions;
//   - the cleaning: the code that computes the min visible epoch and when, the code
//     that drops versions, and how often that is asked for;
//   - whether the state of a transaction is allocated or used again.
//
// Nothing that users import depends on this package. Package epoch is one of the
// trackers, and package mvcc the last step.
package journey
