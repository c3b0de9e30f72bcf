package journey

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// A Step is a step of the journey.
type Step struct {
	Name string
	Doc  string // what it changes, in one sentence without the full stop
	// Post has the post's operations a second, by [Workloads] and [Threads]; zero if the
	// post has none.
	Post [2][4]float64
	// Retries says that an operation that does not commit is tried again. Without that the
	// post counted it as done; here it is an error, and not counted.
	Retries bool
	Config  Config // zero if the engine is another map
	Engine  bench.EngineSpec
}

// StepByName returns the step called name.
func StepByName(name string) Step {
	steps := Steps()
	return steps[slices.IndexFunc(steps, func(s Step) bool { return s.Name == name })]
}

// Workloads are what is measured of each step: four hot keys, 10 % and 90 % puts.
func Workloads() [2]bench.Workload {
	reads, _ := bench.WorkloadByName("read-heavy")
	writes := reads
	writes.Name, writes.Params.ReadPct = "write-heavy", 10
	return [2]bench.Workload{reads, writes}
}

// Threads are the numbers of goroutines of the post.
func Threads() []int { return []int{1, 2, 4, 8} }

// posts are the figures of the post: reads by 1, 2, 4 and 8 threads, then writes.
const posts = `
keeper-noop       1249    1205    1407    2567      2022    1475    1693   13807
keeper-idle     454138  449544  623249  464863    369462  445275  728383  902538
indexed         601083  642443  688104  690432    454926  594926  836489  979821
keeper           37911   89183 1197666  868823      2849    9548   25872 1132311
worker          864771 1187432  827030  661419    476757  622144  767387  819022
guard          1384521 1559841 1328777  843850    527538  836844  944842  764114
spaced         1499641 1800304 1420702  828145    654820  895030  987045  853467
segmented       601762 1005846 1700100 1321714    321688  549510  826927 1026862
segmented-os    543984 1020562 1632501 1444734    335079  580449  864820 1120983
keeper-os      1251410 1619556 1345362  784240    640250  813339 1011854  927351
counted        2191449  195198 1733824 2832820    898844   58323  118490 5211745
ordered        2189669 1209369 1390759 1831715    863360  695208  905599 1438307
ordered-100ms  2426305 1138293 1297350 1581117    831512  651383  864551 1133964
counted-100ms  2033145 1588019 1729478 2155202    806951  736237 1163395 1664437
list-counted   2290893 1604327 1891342 1937384    932854  966232 1135402 1620440
keyed-bug      2887534 2366272 2162653 2449227   1271287 1578856 1340980 1519457
keyed          3022274 2583841 3152546 4209720   2467899 1987672 2540089 3310157
keyed-locked   3917122 2935325 2410565 2138870   2789017 2308032 2285734 2274920
keyed-words    3921045 3351487 4130101 6100774   2948892 2523596 2943223 4064741
retry          4255294 3727360 4222921 4512409   2887463 2083535 2093721 1800087
`

// threshold is the depth of a chain at which committers ask for it to be pruned.
const threshold = 32

// Steps returns the steps in the order of the post, and what this module adds.
func Steps() (steps []Step) {
	now := Config{Chain: List}
	retries := false
	add := func(name string, change func(), doc string) {
		change()
		s := Step{
			Name: name, Doc: doc, Retries: retries, Config: now, Engine: Engine(name, doc, now),
		}
		if _, figures, ok := strings.Cut(posts, "\n"+name+" "); ok {
			r, w := &s.Post[0], &s.Post[1]
			_, _ = fmt.Sscan(figures, &r[0], &r[1], &r[2], &r[3], &w[0], &w[1], &w[2], &w[3])
		}
		steps = append(steps, s)
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
