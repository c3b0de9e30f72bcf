package bench

import (
	"errors"
	"slices"
)

// An Engine is a map under test, already filled. Keys are strings, values are
// 64-bit numbers. It need not support deletion or new keys.
type Engine interface {
	// Session returns what goroutine number worker works with; it is called
	// before the goroutines start, and -1 asks for one for the runner itself.
	Session(worker int) Session
	// Close ends what the engine has running. No session is used afterwards.
	Close()
}

// A Session is one goroutine's access to an [Engine]. Each of its methods is one
// transaction, retried until it has committed. An error, which must not be a
// mere conflict, ends the run as failed; [ErrStopped] does so silently. Beside
// the methods here it may have those of [Incrementer], [Beginner] and
// [Transferer], which some workloads need.
//
// A method should allocate no more than a user of the map would: the harness
// allocates nothing, and what B/op and allocs/op show is taken for the map's.
type Session interface {
	// Get reads one key. An absent key gives ok == false.
	Get(key string) (value uint64, ok bool, err error)
	// Put writes one key.
	Put(key string, value uint64) error
	// Aborts returns the number of attempts, over the life of the session,
	// that did not commit and were made again. It is called while no method
	// is running.
	Aborts() uint64
}

// An Incrementer is a [Session] that can increment a counter.
type Incrementer interface {
	// Add adds delta to the value of key and returns the sum.
	Add(key string, delta uint64) (sum uint64, err error)
}

// A Beginner is a [Session] that has transactions, and so can begin and end one
// without doing anything in it.
type Beginner interface {
	// Begin begins a read-only transaction and ends it.
	Begin() error
}

// A Transferer is a [Session] that has transactions over several keys.
type Transferer interface {
	// Transfer reads both keys, subtracts amount from the value of from and
	// adds it to that of to, modulo 2^64. The keys differ.
	Transfer(from, to string, amount uint64) error
	// Sum adds up all values, modulo 2^64, and counts the keys, as of one
	// moment.
	Sum() (total uint64, keys int, err error)
}

// Isolation is a level of isolation, for engines that have more than one.
type Isolation string

// The levels of isolation. Every workload is correct at either.
const (
	Serializable Isolation = "serializable"
	Snapshot     Isolation = "snapshot"
)

// Setup is what an engine is made from.
type Setup struct {
	Keys   []string // all keys there will ever be
	Values []uint64 // their first values, in the same order

	// Isolation is the level of read-write transactions, for engines that
	// have a choice. It is never empty.
	Isolation Isolation

	// Stopped reports that the run is over. A session that retries without
	// end must ask it now and then, and give up with ErrStopped.
	Stopped func() bool
}

// An EngineSpec makes engines and says what they are.
type EngineSpec struct {
	Name string // as in --engine
	Doc  string // one sentence, without the full stop

	// Lacks says, by workload name, why the engine cannot run it.
	Lacks map[string]string

	// New returns a new engine that holds setup.Keys with setup.Values.
	New func(setup Setup) (Engine, error)
}

// Runs reports whether the engine can run workload w and, if not, why.
func (e EngineSpec) Runs(w Workload) (why string, ok bool) {
	why, lacks := e.Lacks[w.Name]
	return why, !lacks
}

// ErrStopped is returned by a method of a [Session] that has given up because
// the run is over.
var ErrStopped = errors.New("bench: stopped")

const (
	noTx      = "it has no transactions"
	noMultiTx = "it has no transactions over several keys"
)

// Engines returns the built-in engines, in the order in which they are listed.
func Engines() []EngineSpec {
	return []EngineSpec{
		{
			Name: "mvcc",
			Doc:  "The transactional map, through View and Update, at the level given by --isolation",
			New:  newMVCC,
		},
		{
			Name:  "mvcc-direct",
			Doc:   "The transactional map, through its one-key operations: Load, Store, CompareAndSwap",
			Lacks: map[string]string{"transfer": "one-key operations cannot move an amount between two keys", "begin": "one-key operations begin no transaction"},
			New:   newMVCCDirect,
		},
		{
			Name:  "floor",
			Doc:   "What the atomics, the lookup and the allocation alone cost: the bare protocol on a fixed set of keys",
			Lacks: map[string]string{"transfer": noMultiTx},
			New:   newFloor,
		},
		{
			Name: "rwmutex",
			Doc:  "A Go map under a sync.RWMutex, held once for each transaction",
			New:  newRWMutex,
		},
		{
			Name:  "sync.Map",
			Doc:   "The standard library's concurrent map",
			Lacks: map[string]string{"transfer": noMultiTx, "begin": noTx},
			New:   newSyncMap,
		},
		{
			Name:  "xsync",
			Doc:   "The concurrent map of the xsync module, which mvcc keeps its index in",
			Lacks: map[string]string{"transfer": noMultiTx, "begin": noTx},
			New:   newXsync,
		},
	}
}

// EngineByName returns the built-in engine called name.
func EngineByName(name string) (EngineSpec, bool) {
	all := Engines()
	i := slices.IndexFunc(all, func(e EngineSpec) bool { return e.Name == name })
	if i < 0 {
		return EngineSpec{}, false
	}
	return all[i], true
}

// counted counts the attempts and commits of a session. It is padded: sessions
// of different goroutines must not share a cache line.
type counted struct {
	_       [128]byte
	tries   uint64
	commits uint64
	_       [128]byte
}

// Aborts implements [Session].
func (c *counted) Aborts() uint64 { return c.tries - c.commits }
