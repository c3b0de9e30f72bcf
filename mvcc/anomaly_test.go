package mvcc

import (
	"strings"
	"testing"
)

// The tests are named after the anomalies of
//
//   - Adya, "Weak Consistency: A Generalized Theory and Optimistic
//     Implementations for Distributed Transactions", 1999: G0, G1a, G1b, G1c,
//     G-single, G2-item, G2, OTV (observed transaction vanishes) and PMP
//     (predicate-many-preceders);
//   - Berenson et al., "A Critique of ANSI SQL Isolation Levels", SIGMOD 1995:
//     P2, P3, P4, P4C, A5A, A5B;
//   - Fekete, O'Neil, O'Neil, "A Read-Only Transaction Anomaly Under Snapshot
//     Isolation", SIGMOD Record 33(3), 2004;
//   - Sovran et al., "Transactional Storage for Geo-Replicated Systems", SOSP
//     2011: the long fork.
//
// Each is a program as in play_test.go; then others with operations or readers in the place of
// transactions. Writes are buffered, and there are no locks: w1(x) w2(x) does not block, and a
// write that the textbooks forbid or delay is refused at the commit. Commits that are stopped
// halfway are in the list of TestSchedules.

// G0, dirty write: the two write x and y in different orders, and yet x and y never have values of
// different transactions. A value that was not read cannot be lost.
func TestG0(t *testing.T) {
	runAll(t,
		"b1 b2 w1(x)1 w2(x)2 w2(y)2 c2 bs w1(y)1 c1 rs(*)x2,y2 cs r(*)x1,y1",
		"b1 b2 r1(z)- r2(z)- w1(x)1 w2(x)2 w2(y)2 c2 w1(y)1 c1!ok/ r(*)x1,y1/x2,y2",
		"b1 w1(x)1 w(x)2 w1(y)1 r(*)x2,y10 c1 r(*)x1,y1 w(y)3 r(*)x1,y3")
}

// G1a, aborted read: nobody sees anything of 1, whichever way it ends; nor does a write that
// depends on the value before.
func TestG1a(t *testing.T) {
	for _, end := range []string{"r(*)x10,y10 a1", "w(x)10 r(*)x10,y10 c1!x"} {
		runAll(t, "bs b1 r1(x)10 w1(x)11 w1(n)1 w1(y)- rs(*)x10,y10 rs(n)- "+end+
			" rs(*)x10,y10 rs(n)- cs r(n)- w(x)12 w(n)13 r(*)x12,y10,n13")
	}
}

// G1b, intermediate read: of several writes of a key nobody sees any but the last.
func TestG1b(t *testing.T) {
	writes := []string{"w1(x)11", "w1(x)12", "w1(y)-", "w1(y)13", "w1(n)1", "w1(n)-"}
	runAll(t, "bs b1 "+strings.Join(writes, " rs(*)x10,y10 r(*)x10,y10 r(n)- ")+
		" r(*)x10,y10 c1 rs(*)x10,y10 cs r(*)x12,y13 r(n)-")
}

// G1c, circular information flow: they do not both see each other; in fact neither sees the
// other. Without information flow it is G2-item, which snapshot level permits. If it flows one
// way, the second sees the first whole.
func TestG1c(t *testing.T) {
	runAll(t,
		"b1 b2 w1(x)11 w2(y)22 r1(y)10 r2(x)10 c1 r2(x)10 c2!x/ok",
		"b1 w1(x)11 r(x)10 w(y)22 r1(y)10 c1!y/ok",
		"b1 r1(y)10 w1(x)11 c1 b2 r2(x)11 w2(y)22 c2 r(*)x11,y22")
}

// OTV, observed transaction vanishes: who has seen x of 1 goes on to see its y and x, not those
// from before, and nothing of 2. Operations are each of their own moment, and time goes forward.
func TestOTV(t *testing.T) {
	runAll(t,
		"b1 b2 w1(x)11 w1(y)19 w2(x)12 c1 bs rs(x)11 w2(y)18 rs(y)19 c2 rs(*)x11,y19 cs r(*)x12,y18",
		"b1 w1(x)11 w1(y)19 c1 r(x)11 b2 w2(x)12 w2(y)18 r(y)19 c2 r(y)18 r(x)12 w(y)17 r(*)x12,y17")
}

// G-single, one anti-dependency: read skew (A5A) and the fuzzy read (P2). Nothing is seen of
// commits after the first read, or since a loop began. A write that was decided by a stale read is
// refused at either level.
func TestGSingle(t *testing.T) {
	runAll(t,
		"bs rs(x)10 b1 w1(x)5 w1(y)15 w1(z)1 c1 rs(y)10 rs(*)x10,y10 p rs(*)x10,y10 rs(z)- "+
			"b2 w2(x)- w2(y)- c2 p rs(*)x10,y10 rs(z)- cs r(*)z1",
		"bs rs(x)10 w(x)5 w(y)15 w(x)6 p rs(*)x10,y10 cs",
		"o(x) b1 w1(x)5 w1(y)15 w1(z)1 c1 p f(*)x10,y10 r(*)x5,y15,z1",
		"b1 r1(x)10 b2 w2(x)12 w2(y)18 c2 r1(*)x10,y10 w1(y)- c1! r(*)x12,y18")
}

// A transaction that can no longer commit reads on as of its begin: whatever it computes, it
// never computes it from two moments.
func TestDoomedTransactionReadsOneMoment(t *testing.T) {
	runAll(t, "b1 r1(x)10 w1(x)11 w(x)1 p r1(*)x11,y10 b2 w2(x)2 w2(y)2 w2(n)2 c2 p "+
		"r1(*)x11,y10 r1(n)- w(y)- w(x)- p r1(*)x11,y10 r1(n)- c1!x")
}

// P4, lost update: 1 is refused, since it would overwrite a value that it has not seen. The levels
// of the two may differ, or the other one writes blindly.
func TestP4(t *testing.T) {
	runAll(t,
		"b1 b2:ser r1(x)10 w1(x)11 r2(x)10 w2(x)12 c2 c1!x r(*)x12,y10",
		"b1 b2:snap r1(x)10 w1(x)11 r2(x)10 w2(x)12 c2 c1!x r(*)x12,y10",
		"b1 r1(x)10 b2 w2(x)5 w2(y)5 c2 w1(x)11 c1!x r(*)x5,y5")
}

// P4 with an operation in the place of either transaction.
func TestP4OneKey(t *testing.T) {
	runAll(t,
		"b1 r1(x)10 w(x)99 w1(x)11 c1!x r(*)x99,y10",
		"b1 r1(x)10 w(x)- w1(x)11 c1!x r(*)y10",
		"b1 r1(n)- w(n)99 w1(n)1 c1!n r(*)x10,y10,n99",
		"b1 r1(x)10 w1(x)11 r1(n)- w1(n)1 r(x)10 c1 r(x)11 r(n)1 w(x)20 w(x)- r(*)y10,n1")
}

// P4C, lost update with a cursor: the loop stands on x when something updates x.
func TestP4C(t *testing.T) {
	for _, update := range []string{"w(x)99", "b2 w2(x)99 c2"} {
		runAll(t, "b1 o1(x) "+update+" r1(x)10 w1(x)11 f1(*)x10,y10 c1!/x r(*)x99,y10")
	}
}

// P3, phantom, with a scan for the predicate, of all or a part: any commit since, of any key, is
// a conflict at serializable level.
func TestP3(t *testing.T) {
	for _, scan := range []string{"r1(*)x10,y10", "r1(.)"} {
		for _, change := range []string{"w(p)1", "w(x)1", "w(x)-", "w(p)1 w(p)- p",
			"b2 w2(p)1 w2(q)1 c2"} {
			runAll(t, "b1 "+scan+" w1(sum)20 "+change+" c1!*/ok")
		}
	}
}

// P3 with the predicate "this key is absent".
func TestP3AbsentKey(t *testing.T) {
	for _, was := range []string{"", "w(p)0 w(p)- ", "w(p)0 w(p)- p "} {
		for _, insert := range []string{"w(p)1", "b2 w2(p)1 w2(q)1 c2"} {
			runAll(t, was+"b1 r1(p)- w1(count)0 "+insert+" r1(p)- c1!p/ok")
		}
	}
}

// A key that was absent and is absent is no conflict, also if it was there in between, or its entry
// has left the index meanwhile.
func TestAbsentAgainIsNoConflict(t *testing.T) {
	for _, was := range []string{"", "w(p)0 w(p)- "} {
		runAll(t, was+"b1 r1(p)- w1(x)11 w(p)1 w(p)- c1 r(*)x11,y10",
			was+"b1 r1(p)- w1(x)11 w(other)1 p c1 r(*)x11,y10,other1")
	}
}

// Nor is a scan beside which nobody writes, whatever the transaction itself does.
func TestScanWithoutPhantomCommits(t *testing.T) {
	runAll(t, "w(gone)1 w(gone)- b1 r1(*)x10,y10 w1(n)2 w1(x)0 w1(y)- p c1 r(*)n2,x0")
}

// PMP: who asks twice finds the same, for each predicate and each way to ask. With a write
// predicate, whoever is second has not seen the writes of the first, and is refused.
func TestPMP(t *testing.T) {
	runAll(t,
		"bs rs(*)x10,y10 b1 w1(p)30 w1(q)31 c1 rs(*)x10,y10 rs(p)- b2 w2(x)- w2(y)33 c2 p "+
			"rs(*)x10,y10 rs(p)- cs r(*)y33,p30,q31 r(x)-",
		"bs rs(*)x10,y10 w(p)0 w(x)- p rs(*)x10,y10 rs(p)- w(q)3 p rs(*)x10,y10 rs(q)- cs",
		"o(x) w(p)30 w(x)- w(y)- f(*)x10,y10",
		"b1 b2 r1(*)x10,y10 w1(x)20 w1(y)20 r2(*)x10,y10 w2(x)- w2(y)- c1 c2! r(*)x20,y20")
}

// The long fork: two write x and y, two others read both, and they disagree about which came
// first. Parallel snapshot isolation permits it. Here all readers see prefixes of one order of
// commits.
func TestLongFork(t *testing.T) {
	read := " p rs(y)10 rs(*)x10,y10 rt(*)x11,y10 ru(*)x11,y11 cs ct cu"
	runAll(t,
		"b1 b2 w1(x)11 w2(y)11 bs c1 bt c2 bu"+read,
		"bs w(x)11 r(*)x11,y10 bt w(y)11 bu"+read,
		"b1 r1(x)10 w1(x)11 bs c1 bt w(y)11 bu"+read,
		"b1 r1(y)10 w1(y)11 bs w(x)11 bt c1 bu"+read)
}

// G2-item, write skew (A5B): each decides by a key that the other one changes; or each reads only
// the key that the other writes; or three in a ring; or 1 beside two operations, of which the
// second has seen that it came first. A key with the same value again counts.
func TestG2Item(t *testing.T) {
	runAll(t,
		"b1 b2 r1(x)10 r1(y)10 r2(x)10 r2(y)10 w1(x)1 w2(y)1 c1 c2!x/ok r(*)x1,y10/x1,y1",
		"b1 b2 r1(y)10 r2(x)10 w1(x)1 w2(y)1 c2 c1!y/ok",
		"w(z)10 b1 b2 b3 r1(x)10 w1(y)11 r2(y)10 w2(z)12 r3(z)10 w3(x)13 c2 c1 c3!z/ok",
		"b1 r1(x)10 r1(y)10 w(x)1 r(y)10 w1(y)1 c1!x/ok",
		"b1 r1(x)10 r1(y)10 w(x)- r(y)10 w1(y)1 c1!x/ok",
		"b1 r1(x)10 w1(y)11 w(x)5 w(x)10 c1!x/ok")
}

// G2, anti-dependency cycle with predicates: each counts the keys that the other inserts, by a
// scan, or by asking for them. Or with two edges: a reader sees 2 but not 1, whose write then
// contradicts it.
func TestG2(t *testing.T) {
	runAll(t,
		"b1 b2 r1(*)x10,y10 r2(*)x10,y10 w1(p)30 w2(q)42 c1 c2!*p/ok",
		"b1 b2 r1(q)- r2(p)- w1(p)30 w2(q)42 c1 c2!p/ok",
		"b1 r1(*)x10,y10 b2 r2(y)10 w2(y)15 c2 bs rs(*)x10,y15 cs w1(x)0 c1!*y/ok",
		"b1 r1(*)x10,y10 w(p)30 r(*)x10,y10,p30 w1(x)0 c1!*p/ok")
}

// The read-only transaction anomaly, with x for checking and y for savings. 1 withdraws from
// checking, having seen both low, and charges for an overdraft; 2 deposits to savings; a third
// reports the deposit without the withdrawal. Without that, 1 before 2 would explain the charge;
// it has seen that 2 came first.
func TestReadOnlyAnomaly(t *testing.T) {
	runAll(t,
		"b1 r1(x)10 r1(y)10 b2 r2(y)10 w2(y)30 c2 bs rs(*)x10,y30 cs w1(x)0 c1!y/ok r(*)x10,y30/x0,y30",
		"b1 r1(x)10 r1(y)10 w(y)30 r(y)30 r(x)10 r(*)x10,y30 w1(x)0 c1!y/ok r(*)x10,y30/x0,y30")
}

// A serializable transaction that commits has read the newest values, whatever the level of those
// that wrote them; one at snapshot level may break an invariant that only serializable ones would
// keep. One that writes nothing, or reads nothing, breaks none. First committer wins whoever was
// first.
func TestMixedLevels(t *testing.T) {
	skew := " r1(x)10 r1(y)10 r2(x)10 r2(y)10 w1(x)1 w2(y)1 c1 "
	runAll(t,
		"b1:snap b2:ser"+skew+"c2!x r(*)x1,y10",
		"b1:ser b2:snap"+skew+"c2 r(*)x1,y1",
		"b1:ser b2:snap r1(x)10 r1(y)10 w1(x)1 w2(y)1 c2 c1!y",
		"b1:ser r1(y)10 b2:ser r2(y)10 w2(y)30 c2 b3:snap r3(*)x10,y30 c3 w1(x)0 c1!y",
		"b1:snap r1(z)- w1(x)1 b2 w2(x)2 w2(y)2 c2 c1!x r(*)x2,y2")
}

func TestBlindWritesNeverConflict(t *testing.T) {
	runAll(t, "b1 b2 w1(x)1 w1(y)- w1(n)1 r1(n)1 w2(x)2 w2(y)- w2(n)2 r2(n)2 "+
		"w(x)77 c2 w(x)78 c1 r(*)x1,n1")
}

func TestFirstCommitterWins(t *testing.T) {
	runAll(t, "b1:snap b2:snap b3:snap r1(o)- r2(o)- r3(o)- w1(x)2 w2(x)3 w3(z)4 "+
		"c2 c1!x c3 r(*)x3,y10,z4")
}

func TestFirstCommitterWinsOnNewKeys(t *testing.T) {
	for _, change := range []string{"w(n)1", "w(n)1 w(n)- p", "w(n)1 w(n)- q", "b2 w2(n)- c2 p"} {
		runAll(t, "b1:snap r1(n)- w1(n)2 "+change+" c1!n")
	}
}

func TestReadYourWrites(t *testing.T) {
	runAll(t, "w(z)10 b1 w1(x)1 r1(x)1 w1(x)2 r1(x)2 w1(x)- r1(x)- w1(x)- w1(x)3 r1(x)3 w1(y)- "+
		"r1(y)- w1(n)4 r1(n)4 r1(z)10 r1(*)x3,n4,z10 c1 r(*)x3,n4,z10")
}

// Operations that find nothing to do are a conflict for nobody, even for one that has read
// everything.
func TestOperationsWithoutEffect(t *testing.T) {
	runAll(t, "b1 r1(x)10 r1(p)- r1(*)x10,y10 w1(x)11 w1(p)1 r(x)10 r(p)- c1 r(*)x11,y10,p1")
}
