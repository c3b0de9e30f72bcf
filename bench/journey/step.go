package journey

import (
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// A Step is a step of the journey.
type Step struct {
	Name string
	Doc  string // its change, in one sentence without the full stop
	// Retries says that an operation that does not commit is tried again. The post counted one
	// without Retries as done; here it is an error, and not counted.
	Retries bool
	Config  Config // zero if the engine is another map
	Engine  bench.EngineSpec
}

// Workloads are the measurements of each step: four hot keys, 10 % and 90 % puts.
func Workloads() [2]bench.Workload {
	reads, _ := bench.WorkloadByName("read-heavy")
	writes := reads
	writes.Name, writes.Params.ReadPct = "write-heavy", 10
	return [2]bench.Workload{reads, writes}
}

// threshold is the depth of a chain at which committers ask for it to be pruned.
const threshold = 32

// Steps returns the steps in the order of the post, and those that this module adds.
func Steps() (steps []Step) {
	now := Config{Chain: List}
	retries := false
	add := func(name string, change func(), doc string) {
		change()
		steps = append(steps, Step{
			Name: name, Doc: doc, Retries: retries, Config: now, Engine: Engine(name, doc, now),
		})
	}
	add("copied", func() { now.Tracker = Copied },
		"One map of the active transactions, which each committer copies to find the "+
			"lowest epoch, and prunes; in the post it ran out of memory")
	add("keeper-noop", func() { now.Tracker = KeeperNoop },
		"One goroutine owns the list of the active; what ends looks for an entry that is "+
			"not there, in vain, and stays on the list")
	add("keeper-idle", func() { now.Tracker = KeeperIdle },
		"What ends is handed to the owner; its goroutine was never started, so nothing is "+
			"ever dropped")
	add("indexed", func() { now.Chain = Indexed },
		"Each chain has a sorted index for old readers")
	add("keeper", func() { now.Tracker = Keeper },
		"The owner's goroutine is started: whoever begins waits for its answer")
	add("worker", func() { now.Workers, now.Threshold = 1, threshold },
		"A worker prunes, which committers ask above 32 versions of a key")
	add("guard", func() { now.Guard = RightGuard },
		"A chain knows the epoch below which there is nothing to drop, and is not walked "+
			"in vain")
	add("spaced", func() { now.Spaced = true },
		"The worker is asked at every 32nd version only")
	add("segmented", func() { now.Tracker = Segmented },
		"The active are in 16 maps, each under a mutex")
	add("segmented-os", func() { now.OSThreads = true },
		"The worker has an OS thread to itself")
	add("keeper-os", func() { now.Tracker = Keeper },
		"The same with the owner goroutine, which has an OS thread too")
	add("counted", func() { now.Tracker, now.OSThreads = Counted, false },
		"A concurrent map from an epoch to how many read it, which is scanned by whoever "+
			"asks for pruning")
	add("ordered", func() { now.Tracker = Ordered }, "The map is ordered by epoch")
	add("ordered-100ms", func() { now.Every = 100 * time.Millisecond },
		"The lowest epoch is read every 100 ms, in the background")
	add("counted-100ms", func() { now.Tracker = Counted }, "Likewise with the concurrent map")
	add("list-walked", func() { now.Chain = WalkedList },
		"Lists again, whose versions each committer counts by walking")
	add("list-counted", func() { now.Chain = List }, "The number of versions is kept")
	add("keyed-bug", func() { now.Tracker, now.Guard = KeyedMap, WrongGuard },
		"A concurrent map from a goroutine to its epoch; and a guard that never lets "+
			"anything be pruned")
	add("keyed", func() { now.Guard = RightGuard }, "The right guard")
	add("keyed-locked", func() { now.Tracker = KeyedLocked },
		"A map under a mutex, which allocates nothing")
	add("keyed-words", func() { now.Tracker = KeyedWords },
		"The concurrent map, with a word for each goroutine that is changed in place")
	add("retry", func() { retries = true }, "What does not commit is tried again, with a new state")
	add("reuse", func() { now.Reuse = true }, "States are used again")
	add("slots", func() { now.Tracker = Slots },
		"The tracker of this module, package epoch: a slot for each state, idle ones kept "+
			"per P")
	product, _ := bench.EngineByName("mvcc")
	return append(steps, Step{
		Name: product.Name, Doc: "This module's map, through View and Update",
		Retries: true, Engine: product,
	})
}
