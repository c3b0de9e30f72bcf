// Package commit models the commit protocol of package mvcc: installing,
// announcing, drawing an epoch, validating and publishing; helping, pushing,
// revoking and aborting rivals; loads without a slot; installing again; copying
// epochs; pruning; inserting and removing entries. [Scenarios] are explored
// completely, and in each final state the results of all operations must have
// an explanation in the sense of package history. [Mutations] are mistakes that
// the exploration must find.
//
// # Words
//
// Every transaction with writes has a record, one word:
//
//	ACTIVE     its versions are being installed
//	PREP(f)    announced: anyone may draw an epoch for it; f is the epoch that
//	           was revoked last, so that no compare-and-swap prepared before the
//	           revocation succeeds after it
//	TENT(t)    has epoch t, its reads are being validated
//	COMM(t)    committed at epoch t
//	ABORTED
//
// A transaction that validates its reads (serializable, and has read something)
// goes PREP, TENT, COMM; any other goes from PREP straight to COMM. decide(t) is
// TENT(t) or COMM(t) accordingly, whoever draws t. With one write, the version's
// word is the record, and the version is installed as PREP(0) at once, whether
// or not the transaction validates.
//
// # Steps, each one atomic access
//
// mvcc.Map.Load (a read without a slot; LoadOrStore and CompareAndSwap that find
// nothing to write decide on the base that install has found):
//
//	c = clock; h = head of the entry
//	COMM(t)                  take h
//	PREP(f)                  t = draw; compare-and-swap PREP(f), decide(t); look again
//	TENT(t), t <= c          revoke: compare-and-swap TENT(t), PREP(t); look again
//	TENT(t), t > c; ACTIVE; ABORTED
//	                         n = h.next; load the state of h again;
//	                         COMM: take h, because once h is committed a pruner
//	                         may have cut what is below it; otherwise take n
//
// Why skipping is right: n is the newest committed version when h is seen
// undecided, and h, or whoever comes in its place, commits at an epoch above c.
// So the load may be ordered after n and after everything that had returned when
// it was invoked, and before the next version. Revoking every tentative head,
// without a look at the clock, is right as well (Scenario.NoClock).
//
// (*txState).get and scans (read epoch S, in a slot):
//
//	COMM(t)                  t <= S: take it; else go on to next
//	ACTIVE, ABORTED          go on: an epoch drawn from now on is above S
//	PREP                     as above
//	TENT(t)                  t > S: go on; else revoke, look again
//
// install, for each write:
//
//	no entry                 insert one
//	head DEAD                help to unlink the entry; start over
//	head h COMM              base = h; at snapshot level, with reads: conflict if
//	                         h is newer than S (first committer wins)
//	head h ABORTED           base = h.next
//	head h PREP, no check    as above
//	head h undecided         wait; then abort it (compare-and-swap to ABORTED) or
//	                         return a conflict; an operation that has read nothing
//	                         never returns one
//	v.next = base; compare-and-swap head, h, v
//
// (*txState).commit:
//
//	install all              (a single one: as PREP(0), skip the next step)
//	compare-and-swap record, ACTIVE, PREP(0)
//	decide                   t = draw, after loading f; compare-and-swap PREP(f), decide(t)
//	validate                 see below
//	publish                  compare-and-swap TENT(t), COMM(t): the linearization
//	                         point; revoked meanwhile: decide and validate again
//	copy                     into each version but the first: its word = COMM(t),
//	                         then its record pointer = nil. A reader that finds the
//	                         word INDIRECT and then the pointer nil loads the word
//	                         again.
//	aborted by a rival       unhook: compare-and-swap head, v, v.next (so may a
//	                         pruner). An operation that has read nothing, or any
//	                         if so chosen (Scenario.Again), is installed again with
//	                         new versions and a new record; no word is ever used
//	                         again. Its read epoch stays.
//
// validate, for each read (the slot is released only afterwards):
//
//	own version              go on to next, which cannot change: must be what was seen
//	COMM(u)                  must be what was seen, even if u > t
//	PREP                     push: as above; its epoch will be above t
//	TENT(u), u < t           wait; then revoke it or return a conflict
//	TENT(u), u > t; ACTIVE; ABORTED
//	                         n = h.next; load the state of h again; COMM: conflict;
//	                         otherwise n must be what was seen
//	no entry, no version, DEAD
//	                         absence or a tombstone must have been seen
//
// Where absence or a tombstone was seen, another tombstone will do if it is
// below t.
//
// Why a version newer than t is a conflict, although the transaction comes
// before it: the slot keeps S, and thus what was seen, but nothing keeps a
// version committed between S and t once a newer one is there. It is pruned, and
// the transaction would not see that it has been overtaken. For the same reason
// a tombstone above t is not as good as absence: a value may have come before t
// and gone after it. Only an entry that is gone is always harmless: the slot
// keeps every tombstone above S in the index.
//
// prune, with a view {m, A} of gc.Reclaimer.Refresh: walk down to the newest
// version not above m, link it to the newest not above each epoch of A in
// descending order, and cut the rest. If the version at which that ends is a
// tombstone not above any epoch of the view and is the head: compare-and-swap
// head, tombstone, DEAD; then delete the entry from the index if it is still
// there. An entry without versions: compare-and-swap head, nil, DEAD; then the
// same.
//
// # Abstractions
//
// Begin is one step that loads the clock and publishes it, and a pruner loads a
// slot in one step; package slots models both in detail. Waiting is left to the
// schedule: a process that may wait may also give up at once. Epochs are
// renumbered after every move, because the protocol only compares them, which
// makes the state space finite although revocation may go on for ever.
package commit
