// Package commit models the commit protocol of package mvcc: installing,
// announcing, drawing an epoch, validating and publishing; helping, pushing,
// revoking and aborting rivals; watching; loads without a slot; installing
// again; copying epochs; pruning; inserting and removing entries. [Scenarios] are
// explored completely, and in each final state the results of all operations must
// have an explanation in the sense of package history. [Mutations] are mistakes
// that the exploration must find.
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
// TENT(t) or COMM(t) accordingly, whoever draws t (decidedWord). With one write,
// the version's word is the record, and the version is installed as PREP(0) at
// once, whether or not the transaction validates. A version says by itself or
// through its record where it stands ((*version).resolve).
//
// # Steps, each one atomic access
//
// Beginning (epoch.(*Slots).Begin) and ending ((*Slot).End) are steps of package
// slots; here a transaction begins in one step.
//
// A read without a slot, (*Map).Load by (*Map).newest and newestSlow, where the
// clock is noted once a head has been found undecided, which is later:
//
//	c = clock; h = head of the entry
//	COMM(t)                  take h
//	PREP(f)                  help; look again
//	TENT(t), t <= c          revoke; look again
//	TENT(t), t > c; ACTIVE; ABORTED
//	                         n = h.next; load the state of h again;
//	                         COMM: take h, because once h is committed a pruner
//	                         may have cut what is below it; otherwise take n
//
//	(*Map).help              mark the watches (see below); t = draw;
//	                         compare-and-swap PREP(f), decide(t)
//	(*Map).revoke            compare-and-swap TENT(t), PREP(t)
//
// Why skipping is right: n is the newest committed version when h is seen
// undecided, and h, or whoever comes in its place, commits at an epoch above c.
// So the load may be ordered after n and after everything that had returned when
// it was invoked, and before the next version. Revoking every tentative head,
// without a look at the clock, is right as well (Scenario.NoClock).
//
// A read at epoch S, in a slot: (*txState).get, Snapshot.Get and the scans
// (Snapshot.All, Tx.All), by (*Map).visibleFrom and sees:
//
//	COMM(t)                  t <= S: take it; else go on to next
//	ACTIVE, ABORTED          go on: an epoch drawn from now on is above S
//	PREP                     help; look again
//	TENT(t)                  t > S: go on; else revoke, look again
//
// Installing one write, (*txState).install; the same steps in one-key operations,
// (*Map).writeTo (Store, Swap, LoadAndDelete, Delete, LoadOrStore) and
// CompareAndSwap:
//
//	no entry                 insert one                           (*Map).makeEntry
//	                         what follows is (*Map).settle:
//	head DEAD                help to unlink the entry; start over (core).unlink
//	head h COMM              base = h
//	head h ABORTED           base = h.next
//	head h PREP, no check    help
//	head h undecided         wait ((*Map).standsStill), then abort it:
//	                         compare-and-swap to ABORTED
//	base found               at snapshot level, with reads: conflict if it is
//	                         newer than S (first committer wins). LoadOrStore,
//	                         CompareAndSwap and Delete return if it is not what
//	                         they write upon.
//	v.next = base; compare-and-swap head, h, v                    (*Map).push
//
// A one-key write v is installed as PREP(0) without check, and then
// ((*Map).publish) an epoch is drawn and PREP(0) replaced by COMM, as for a
// transaction with one key and no reads. LoadOrStore and LoadAndDelete first look
// as Load does; what they find there may be what they return.
//
// Committing, (*txState).commit, by (*txState).try:
//
//	install all              (a single one: as PREP(0), skip the next step)
//	compare-and-swap record, ACTIVE, PREP(0)
//	decide                   (*txState).decide: t = draw, after loading f;
//	                         compare-and-swap PREP(f), decide(t)
//	validate                 see below
//	publish                  compare-and-swap TENT(t), COMM(t): the linearization
//	                         point; revoked meanwhile: decide and validate again
//	copy                     into each version but the first: its word = COMM(t),
//	                         then its record pointer = nil. A reader that finds the
//	                         word INDIRECT and then the pointer nil loads the word
//	                         again.
//	aborted by a rival       (*txState).withdraw: the record becomes ABORTED, then
//	                         unhook: compare-and-swap head, v, v.next (so may a
//	                         pruner). An operation that has read nothing, or any
//	                         if so chosen (Scenario.Again), is installed again with
//	                         new versions and a new record ((*txState).renew); no
//	                         word is ever used again. Its read epoch stays.
//
// Validating each read, (*txState).validate by valid, validAbsent, absentSince and
// (*Map).settled (the slot is released only afterwards):
//
//	own version              go on to next, which cannot change: must be what was seen
//	COMM(u)                  must be what was seen, even if u > t
//	PREP                     push: help; its epoch will be above t
//	TENT(u), u < t           wait ((*Map).lingers); then revoke it
//	TENT(u), u > t; ACTIVE; ABORTED
//	                         n = h.next; load the state of h again; COMM: conflict;
//	                         otherwise n must be what was seen
//	no entry, no version, DEAD
//	                         absence or a tombstone must have been seen
//	between two reads        a sign of life (Scenario.Signs): with a changed
//	                         record, validation ends
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
// Pruning, core.prune by pruneTop, with a view {m, A} (gc.(*Reclaimer).Refresh and
// RefreshPast; the slots are read by epoch.(*Slots).Live):
//
//	head ABORTED             unhook it
//	v = the newest version not above m
//	link v to the newest version not above each epoch of A, in descending order,
//	and cut the rest
//	no version; or v is the head, a tombstone, and above no epoch of the view
//	                         core.bury: compare-and-swap head, v, DEAD
//	                         core.unlink: delete the entry from the index if it is
//	                         still there
//
// # Watching
//
// A transaction that watches (Op.Watches: readers took its epoch away often) validates
// and publishes by (*txState).decideWatched:
//
//	watch in the list, clean          one for each attempt; set back if there is one
//	b = clock                         the base
//	load own record, of epoch f       PREP(f) or TENT(f)
//	validate                          undecided writers are helped (PREP, no check) or
//	                                  aborted; a tombstone must be below f
//	load own record                   again and again:
//	  PREP(f)                         t = draw; compare-and-swap PREP(f), TENT(t)
//	  TENT(t), a read is not valid    compare-and-swap TENT(t), ABORTED
//	  TENT(t), t <= b                 publish
//	  TENT(t), t > b                  load the mark: clean: publish; otherwise decide
//	                                  anew
//
// Whoever commits marks the watches on the keys that it writes, when all its versions
// are installed and before an epoch is drawn for it ((*Map).mark, (*txState).markAll):
//
//	several writes            before the record is announced
//	one write                 before the own draw, and before each that a helper makes
//
// Why this is right: up to b, the validation holds as any other: whoever had drawn by
// then had installed, so it was met. Who draws above b has either installed before the
// validation looked there, then it was met and is decided; or afterwards, then it found
// the watch, and had marked it before it drew. So if the mark is clean after the own
// epoch t was drawn, nobody has committed on a key that was read, or will, between b
// and t. Three orders matter: installing precedes marking, marking precedes drawing,
// and the record is loaded before the mark.
//
// # Abstractions
//
// Begin is one step that loads the clock and publishes it, and a pruner loads a
// slot in one step; package slots models both in detail.
//
// Waiting is left to the schedule: a process that waits is one that does not move,
// and a process that may wait may also give up at once. So (*Map).lingers
// and standsStill have no steps: each only loads words, and
// ends in looking again, which is as if it had not looked before, or in the
// compare-and-swap that is modelled. Nor has the bit that a validator flips in its
// tentative record: a compare-and-swap that fails because of it changes nothing.
// Who goes first (package favour) changes nothing but who waits.
//
// That a transaction begins to watch after it has validated in vain is
// Scenario.Switch. A transaction with one write marks the watches only before its first
// draw: with those that come later its version is met. In the program it does so before
// each.
//
// Epochs are renumbered after every move, which makes the state space finite
// although revocation may go on for ever. That is sound as long as the protocol
// only compares them.
//
// A watch is gone, for everybody, when its owner leaves: whoever still has it in
// hand marks what nobody will look at. So taking it out of the list is no step of its
// own.
package commit
