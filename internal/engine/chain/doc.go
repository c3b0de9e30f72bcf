// Package chain reads the state of the versions of a key. It knows nothing of tables and
// transactions, nor of keys and values: a version is a [Node] to it, the linked nodes of a key
// are a chain, and a [Word] decides about a node.
//
//	cell -> pending? -> committed, e=9 -> committed, e=4 -> nil
//
// The state of a node says whether the node is committed, and when, or which record says that: a
// transaction that commits several keys has one [Record] for all of them, in its epoch slot. A
// [Resolver] finds the record. A state may also say that nothing is decided yet. A [Decider], which
// reads, then decides for the writer, or passes over the node: it waits for nobody. The table is in
// decide.go.
//
// # Invariants
//
//   - I5: commit epochs strictly descend along a chain, and only its head may be undecided or
//     aborted: a writer installs on top of a decided head only, and links past an aborted one.
//   - A record takes the steps that [Word] shows, and no others.
//   - A version is never reused. A helper that was stopped between loading a state word and its
//     compare-and-swap may wake up years later. If the word had become another transaction's, that
//     transaction could be committed by a stranger.
//
// Builds with the tag mvcccheck check them, see check_on.go. The other invariants of transactions
// are in docs/protocol.md; those of the clock are in package epoch.
package chain
