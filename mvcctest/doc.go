// Package mvcctest is for tests of programs that use package mvcc. It shows mistakes that a program
// gets away with until there is load: a function of an Update that must not run again, a callback
// that is not pure, a snapshot that nobody closes.
//
// A first test makes the program's database with [Options], and does nothing else:
//
//	func TestTransfer(t *testing.T) {
//		db := mvcc.NewDB(mvcctest.Options(t, nil))
//		defer db.Close()
//		bank := NewBank(db)
//		if err := bank.Transfer("ada", "bob", 3); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// # Failures of the test
//
// For a mistake the package calls the test's Errorf, with the fault and its place in the program:
// the test goes on. A mistake is reported once for each place. These are noticed:
//
//   - A function of Merge, of an index, of Expire, Match of a watch or the compare of an order that
//     returns something else when it is called twice with the same arguments, or that uses the
//     database.
//   - A compare that is no order.
//   - A function of Expire that returns a time which no program means: one up to Unix time 0 that
//     is not the zero time. The record goes at once.
//   - The function of an Update or View that uses a map or table itself instead of its transaction
//     or snapshot.
//   - A loop over a Watch that goes on after the error.
//   - A value that was changed after it was stored, as append(old, x) does behind old. It is
//     noticed when the value is written over or the map is closed, see [mvcc.Options].Strict.
//   - Things left at the end of the test: a transaction or snapshot that is open, or was dropped
//     without having been ended; a watch that has not ended, unless its context has; a database, or
//     a map by itself, that was not closed. The failure says where each began. The end comes after
//     the Cleanup functions of the test that were registered after the call of Options or [New].
//     Whatever is left is ended then.
//
// All but the last follow from [mvcc.Options].Strict, which Options sets, with TracePins. Without
// this package a strict map panics instead.
//
// # Conflicts
//
// The first attempt of each Update conflicts, see [Config].Conflicts: so a function that adds to a
// result and does not reset it, or sends something on, does so twice, which the test's own checks
// find. To the program it is a conflict as any other: the writes are gone, OnCommit calls nothing,
// the context is looked at, [mvcc.Stats] counts it, and it is one of MaxAttempts. A transaction
// that could not conflict, since it has read or has written nothing, is rolled back and run again.
// The function of OnExpire runs as often before it counts, in transactions that are rolled back;
// these are no conflicts in [mvcc.Stats]. With [Config].Chance the last attempt may conflict as
// well, so that Update returns the error.
//
// # Steps and time
//
// With ManualReclaim set in the options only [Harness.Step] does background work, so a test that
// waits for such work need not sleep. [Harness.Advance] moves the time by which records expire.
// Watches are served nonetheless: Step does that at once.
//
// In a bubble of package testing/synctest everything works, with goroutines or without: records
// expire, and MaxTxAge counts, by the time of the bubble. After a commit synctest.Wait is enough
// for a watch to have been told. The map, and the Harness, must be made in the bubble, with the
// bubble's t. Whatever was left open is ended at the end of the bubble's test, so that the test
// fails with the reason. (A map that is not on trial, and is dropped in a bubble without Close,
// ends the program when the garbage collector finds it: it may not close a channel of the bubble.)
//
// # Cost
//
// A map on trial is many times slower than another one, so it is not for benchmarks. A program of
// which only tests import this package does not contain it.
package mvcctest
