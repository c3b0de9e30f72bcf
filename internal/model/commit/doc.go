// Package commit models the commit protocol of package mvcc: installing,
// announcing, drawing an epoch, validating and publishing; helping, pushing,
// revoking and aborting rivals; priority mode; loads without a slot; installing
// again; copying epochs; pruning; inserting and removing entries. [Scenarios] are
// explored completely, and in each final state the results of all operations must
// have an explanation in the sense of package history. [Mutations] are mistakes
// that the exploration must find, [Harmless] some that it cannot.
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
//	(*Map).help              load the watch (see below); t = draw; count it;
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
// # Priority mode
//
// A transaction in priority mode (Op.First: it has a ticket) validates and
// publishes by (*txState).decideWatched:
//
//	b = clock                          the base
//	m.priority.watch = w               w counts epochs above b for this record
//	load own record, of epoch f        PREP(f) or TENT(f)
//	validate                           as of b+1: TENT(u), u <= b is revoked;
//	                                   a tombstone must be below f
//	load own record                    again and again:
//	  PREP(f)                          t = draw; count; compare-and-swap PREP(f), TENT(t)
//	  TENT(t), a read is not valid     compare-and-swap TENT(t), ABORTED
//	  TENT(t), t <= b                  publish
//	  TENT(t), t > b                   n = the count
//	                                   c = clock; c - b = n: publish; otherwise
//	                                   decide anew, with a new watch
//
//	(*priority).watched      of helpers: load w; it counts if it is for the record
//	(*watch).count           add one to n
//	(*watch).strangers       the two loads of the last decision
//
// Why this is right: up to b, the validation holds as any other: whoever had an
// epoch not above b was seen committed, or loses it. Above b, all epochs up to c
// were drawn for the record itself, and t is among them, so nobody can have
// committed, or commit, between b and t. Three orders matter: a count follows its
// draw, so n is never more than the epochs drawn; n is loaded before c, else an
// epoch that is drawn and counted between the two makes up for a stranger's; and
// c is loaded after the record, else a stranger may be between c and t.
//
// # Abstractions
//
// Begin is one step that loads the clock and publishes it, and a pruner loads a
// slot in one step; package slots models both in detail.
//
// Waiting is left to the schedule: a process that waits is one that does not move,
// and a process that may wait may also give up at once. So (*Map).lingers,
// standsStill and (*priority).honour have no steps: each only loads words, and
// ends in looking again, which is as if it had not looked before, or in the
// compare-and-swap that is modelled. Nor has the bit that a validator flips in its
// tentative record: a compare-and-swap that fails because of it changes nothing.
// For the same reason a look at the watch that finds strangers, and is followed by
// another one, needs no steps: the model always decides anew.
//
// A transaction with a ticket is in the model from the start whatever else the
// holder of the priority does: that somebody has lost the priority and goes on
// with his ticket, beside another one, is a scenario with two such processes.
// That a transaction gets its ticket between two validations is Scenario.Switch.
//
// Epochs are renumbered after every move, which makes the state space finite
// although revocation may go on for ever. That is sound as long as the protocol
// only compares them. Priority mode also subtracts: c - b = n. But of c - b - n
// nothing matters except whether it is zero, and this the model knows without
// numbers. Each epoch drawn above b either has been counted, or will be by the
// process that drew it, which has the watch in a register, or never will be: then
// its drawer had no watch, or another one. c - b - n is the number of the second
// kind, read off the registers, plus that of the third. The third never gets less,
// so that it is not zero is all that need be kept (state.owed). Between the load
// of n and that of c, it is enough to know that the first was right and whether
// anything was drawn since (proc.since). With a mistake that can count too much
// the numbers are kept as they are, up to a limit that no count makes up for.
//
// A watch is gone, for everybody, when its owner leaves: whoever still has it in
// hand counts what nobody will look at. So leaving and taking the watch back are
// no steps of their own, and a helper loads no watch for a record that is never
// watched.
package commit
