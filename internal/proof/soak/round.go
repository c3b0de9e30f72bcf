package soak

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Kind is that of the checks of a round.
type Kind string

// The kinds of check.
const (
	Append  Kind = "append"
	OneKey  Kind = "onekey"
	Reclaim Kind = "reclaim"
	Copies  Kind = "copies"
	Growth  Kind = "growth"
)

// Kinds returns all kinds, in the order in which they are reported.
func Kinds() []Kind { return []Kind{Append, OneKey, Reclaim, Copies, Growth} }

// Doc describes the checks of a round of the kind.
func (k Kind) Doc() string {
	return map[Kind]string{
		Append:  "transactions over lists: their history has an explanation",
		OneKey:  "Load, Store, CompareAndSwap and the like: they are linearizable",
		Reclaim: "keys come and go: nothing is left of them in memory",
		Copies:  "watches, backups, a journal: each copy is what was committed",
		Growth:  "writers that never rest: memory does not grow with what they write",
	}[k]
}

// A Round is the plan of one round. All of it follows from Seed, except the settings of [Config].
type Round struct {
	Number  int
	Seed    uint64
	Kind    Kind
	Procs   int // GOMAXPROCS
	Workers int
	Keys    int
	Size    int // transactions, or operations, of all workers together

	// Percentages: of transactions that run at snapshot level, are one-key operations,
	// only read, or scan the map; of operations that write; and of writes that delete.
	Snapshot int
	OneKey   int
	ReadOnly int
	Scan     int
	Write    int
	Delete   int
	MaxOps   int // operations of a transaction
	// Past is the percentage of transactions whose state is read again later; it stays for
	// Retain at least.
	Past   int
	Retain time.Duration
	Tables bool // the lists of Append are in two tables of a database

	// Of the map.
	ReclaimInterval time.Duration
	ReclaimWorkers  int
	ReclaimQueue    int
	PruneThreshold  int

	BackupInterval time.Duration

	// Of a growth round: how many snapshots are open, of which more than one are renewed in turn;
	// and whether Store is called or Update.
	Snapshots int
	Stores    bool

	// With the build tag mvcccheck, goroutines yield at one of Disturb points
	// between two steps of the protocol, and sleep at one of 100 times as many.
	// Zero: never.
	Disturb int
}

// Options returns the options of the round's map.
func (r Round) Options() *mvcc.Options {
	return &mvcc.Options{
		ReclaimInterval: r.ReclaimInterval,
		ReclaimWorkers:  r.ReclaimWorkers,
		ReclaimQueue:    r.ReclaimQueue,
		PruneThreshold:  r.PruneThreshold,
		Retain:          r.Retain,
	}
}

// level draws the level of a transaction.
func (r Round) level(random *rand.Rand) *mvcc.TxOptions {
	if random.IntN(100) < r.Snapshot {
		return &mvcc.TxOptions{Isolation: mvcc.LevelSnapshot}
	}
	return &mvcc.TxOptions{Isolation: mvcc.LevelSerializable}
}

// String names the round by its main parameters.
func (r Round) String() string {
	s := fmt.Sprintf("round %d (seed %d): %s, %s, %s", r.Number, r.Seed, r.Kind,
		count(r.Workers, "worker"), count(r.Keys, "key"))
	if r.Kind == Growth {
		by := "Update"
		if r.Stores {
			by = "Store"
		}
		s += fmt.Sprintf(", %s beside %s", by, count(r.Snapshots, "snapshot"))
	}
	if r.Kind == Append && r.Tables {
		s += ", tables"
	}
	if r.Procs > 0 {
		s += fmt.Sprintf(", GOMAXPROCS %d", r.Procs)
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// draw returns the round of a seed.
func draw(seed uint64) Round {
	rnd := rand.New(rand.NewPCG(seed, 0x5eed))
	oneOf := func(list ...int) int { return list[rnd.IntN(len(list))] }
	procs := runtime.NumCPU()
	r := Round{
		Seed:     seed,
		Kind:     [...]Kind{Append, Append, Append, Append, OneKey, OneKey, Reclaim}[rnd.IntN(7)],
		Procs:    oneOf(1, 2, procs, procs, procs, 2*procs, 4*procs),
		Workers:  2 + rnd.IntN(max(4*procs, 4)-1),
		Keys:     oneOf(1, 2, 2, 3, 3, 4, 4, 6, 6, 8, 12, 16, 32, 64),
		Size:     2_000 * (1 + rnd.IntN(5)),
		Snapshot: oneOf(0, 0, 0, 50, 50, 100),
		OneKey:   oneOf(0, 20, 20, 50),
		ReadOnly: oneOf(5, 20, 40),
		Write:    oneOf(30, 50, 50, 80),
		Scan:     oneOf(0, 5, 20),
		Delete:   oneOf(0, 10, 30),
		MaxOps:   oneOf(2, 4, 4, 8),

		ReclaimInterval: time.Duration(oneOf(200, 200, 1_000, 1_000, 5_000, 20_000,
			100_000)) * time.Microsecond,
		ReclaimWorkers: oneOf(-1, 1, 1, 2),
		ReclaimQueue:   oneOf(1, 8, 0, 0),
		PruneThreshold: oneOf(1, 2, 4, 16, 16, 63),

		BackupInterval: time.Duration(oneOf(0, 1, 10)) * time.Millisecond,
		Disturb:        oneOf(0, 2, 16, 128),
	}
	r.Workers = min(r.Workers, maxWorkers)
	if rnd.IntN(growthEvery) == 0 {
		r.grow(rnd)
	}
	if r.Kind == Append || r.Kind == OneKey {
		r.Past = oneOf(0, 5, 20)
		r.Retain = time.Duration(oneOf(0, 0, 2, 20)) * time.Millisecond
	}
	if r.Kind == Append && rnd.IntN(3) == 0 {
		r.Tables, r.Scan, r.Delete = true, max(r.Scan, 20), max(r.Delete, 10)
	}
	if rnd.IntN(copiesEvery) == 0 && r.Kind != Growth {
		r.Kind = Copies
	}
	return r
}

// copiesEvery: one round in so many keeps copies.
const copiesEvery = 12

// growthEvery: one round in so many is a growth round. It takes as long as that many
// others.
const growthEvery = 40

// grow makes r a growth round. Its map has the default threshold, for which bounds
// are promised, and its writers are not stopped.
func (r *Round) grow(rnd *rand.Rand) {
	r.Kind = Growth
	r.Workers = 2 + rnd.IntN(15)
	r.Keys = int(math.Pow(10, 2+1.7*rnd.Float64()))
	r.Stores = rnd.IntN(3) == 0
	r.Snapshots = [...]int{0, 1, 8}[rnd.IntN(3)]
	r.ReclaimInterval = [...]time.Duration{5, 20, 100, 100}[rnd.IntN(4)] * time.Millisecond
	r.PruneThreshold, r.Disturb = 0, 0
}

// maxWorkers bounds the goroutines of a round: a few are enough for all that is
// looked for, and the checks take longer with more.
const maxWorkers = 64

// rounds yields one round after the other.
type rounds struct {
	c      *Config
	seed   uint64
	number int
}

// next returns the next round of a wanted kind.
func (s *rounds) next() Round {
	if s.number > 0 && s.c.Repeat {
		return s.numbered(draw(s.seed - 1))
	}
	for {
		r := draw(s.seed)
		s.seed++
		if len(s.c.Kinds) == 0 || slices.Contains(s.c.Kinds, r.Kind) {
			return s.numbered(r)
		}
	}
}

// numbered gives r its number, and the parameters of the configuration in place of drawn
// ones.
func (s *rounds) numbered(r Round) Round {
	s.number++
	r.Number = s.number
	c := s.c
	if c.Workers > 0 {
		r.Workers = c.Workers
	}
	if c.Keys > 0 {
		r.Keys = c.Keys
	}
	if c.Snapshot >= 0 {
		r.Snapshot = c.Snapshot
	}
	if r.Kind == OneKey {
		// Only contention makes it interesting, and each key is looked at alone.
		r.Keys, r.OneKey, r.ReadOnly, r.Snapshot, r.Scan, r.MaxOps = min(r.Keys, 8), 90, 5, 0, 0, 2
	}
	if r.Kind == Growth {
		r.Keys = max(r.Keys, 2)
		r.Size = 2 * excess * max(r.Keys, excessKeys) // with a fault that is too much
	}
	return r
}
