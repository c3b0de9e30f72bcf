// Package history records the reads and writes of concurrent transactions and one-key operations,
// finds out whether some order explains them, and if not, shows why.
//
// [Record] makes a [History], [Check] judges it. There are two oracles. Histories of [KindOneKey]
// are judged key by key: porcupine looks for an order of the operations on a key that respects
// their times and explains the result of each. That is enough for operations on one key, because
// linearizability is local. In other histories transactions touch several keys: Check looks for
// cycles of dependencies. Only such histories are meant below.
//
// That check is made in the spirit of Adya's thesis (Weak Consistency, 1999), which defines
// anomalies by cycles, and of Kingsbury and Alvaro's Elle (VLDB 2020), which says how to find them
// in the results of clients. The check takes nearly linear time: it does not search for an order,
// it collects the known parts of one, and looks for a contradiction.
//
// # The promises
//
// The moments of a history are these. A transaction at [LevelSerializable], an
// operation of [LevelOneKey], and any transaction that only reads or only writes
// has one moment, at which it reads and writes. A transaction at [LevelSnapshot]
// has two: it reads at the first and writes at the second. All lie between the
// transaction's Begin and its End. There is an order of all moments such that
//
//   - each read finds the result of the last write before it;
//   - between the two moments of a transaction no other one writes a key that it has
//     read for an update, or writes other than by merges (first committer wins);
//   - if a transaction ended before another began, its moments come first.
//
// Where no transaction is at snapshot level, that is strict serializability. Where levels are
// mixed, a transaction at snapshot level reads a consistent state and loses no update. Serializable
// transactions are serializable among themselves, and see each of the others as two steps. A cycle
// of dependencies that goes backwards through the two moments of one transaction is allowed: that
// is write skew, with its pivot at snapshot level (Fekete et al., TODS 2005). A transaction that
// rolls back must have read at one moment, too.
//
// # How it is checked
//
// First the order of the versions of each key is found, from the lists
// that were read. Then each of these is an edge of a graph of the moments:
//
//	ww  the first wrote a version, and the second a later one
//	wr  the second read what the first wrote
//	rw  the first read a version, and the second wrote a later one
//	rt  the first had ended before the second began
//
// A ww edge leads to the moment at which the second transaction reads, since the first committer
// wins. If the second merges, it leads to the moment of its write. A rw edge comes from the moment
// at which the first transaction reads or, after a read for an update, from that at which it
// writes. A strongly connected component (Tarjan) holds a cycle, and no order explains a cycle. The
// shortest one of each component gets reported:
//
//	G0             ww only
//	G1c            ww and wr
//	G-single       one rw; "lost update (P4)" if it is over one key
//	G-nonadjacent  more, no two of them in a row: a long fork
//	G2-item        more
//
// with "-realtime" behind the name if real time is needed. Other anomalies need no
// cycle: reads of a write that was rolled back (G1a), of one that was not the last
// (G1b), of a value that was never written; transactions that contradict themselves;
// lists that fork. Only one of a kind is listed for each key, since one often leads to
// others.
//
// # How other calls are recorded
//
// The values that SnapshotAt finds as of the epoch of a transaction are one more read of that
// transaction; so they must be those that it has read, or left behind. Clear has deleted
// every key. An answer that contradicts another one of the same call is recorded as a read of
// a value that is never written.
//
// # How far it goes
//
// A reported anomaly is real: no order explains the history. An append history that ends with a
// read of all keys passes only if there is an order.
package history
