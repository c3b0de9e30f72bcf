package journey

import (
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// A Step is a step of the journey.
type Step struct {
	Name string
	Doc  string // what it changes, in one sentence without the full stop
	// Post has the post's operations a second, by [Workloads] and [Threads]; zero if the
	// post has none.
	Post post
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

// post has figures of the post.
type post = [2][4]float64

// Workloads are what is measured of each step: four hot keys, 10 % and 90 % puts.
func Workloads() [2]bench.Workload {
	var list [2]bench.Workload
	for i, name := range []string{"read-heavy", "write-heavy"} {
		list[i], _ = bench.WorkloadByName(name)
	}
	return list
}

// Threads are the numbers of goroutines of the post.
func Threads() []int { return []int{1, 2, 4, 8} }

// threshold is the depth of a chain at which committers ask for it to be pruned.
const threshold = 32

// Steps returns the steps in the order of the post, and what this module adds.
func Steps() []Step {
	var steps []Step
	var now Config
	add := func(name, doc string, figures post, change func()) *Step {
		change()
		steps = append(steps, Step{
			Name: name, Doc: doc, Post: figures, Config: now, Engine: Engine(name, doc, now),
		})
		return &steps[len(steps)-1]
	}
	var nothing post

	now.Chain = List
	add("copied",
		"One map of the active transactions, which each committer copies to find the lowest "+
			"epoch, and prunes; in the post it ran out of memory",
		nothing, func() { now.Tracker = Copied })
	add("keeper-noop",
		"One goroutine owns the list of the active; what ends looks for an entry that is "+
			"not there, in vain, and stays on the list",
		post{{1_249, 1_205, 1_407, 2_567}, {2_022, 1_475, 1_693, 13_807}},
		func() { now.Tracker = KeeperNoop })
	add("keeper-idle",
		"What ends is handed to the owner; its goroutine was never started, so nothing is "+
			"ever dropped",
		post{{454_138, 449_544, 623_249, 464_863}, {369_462, 445_275, 728_383, 902_538}},
		func() { now.Tracker = KeeperIdle })
	add("indexed", "Each chain has a sorted index for old readers",
		post{{601_083, 642_443, 688_104, 690_432}, {454_926, 594_926, 836_489, 979_821}},
		func() { now.Chain = Indexed })
	add("keeper", "The owner's goroutine is started: whoever begins waits for its answer",
		post{{37_911, 89_183, 1_197_666, 868_823}, {2_849, 9_548, 25_872, 1_132_311}},
		func() { now.Tracker = Keeper })
	add("worker", "A worker prunes, which committers ask above 32 versions of a key",
		post{{864_771, 1_187_432, 827_030, 661_419}, {476_757, 622_144, 767_387, 819_022}},
		func() { now.Workers, now.Threshold = 1, threshold })
	add("guard",
		"A chain knows the epoch below which there is nothing to drop, and is not walked in "+
			"vain",
		post{{1_384_521, 1_559_841, 1_328_777, 843_850}, {527_538, 836_844, 944_842, 764_114}},
		func() { now.Guard = RightGuard })
	add("spaced", "The worker is asked at every 32nd version only",
		post{{1_499_641, 1_800_304, 1_420_702, 828_145}, {654_820, 895_030, 987_045, 853_467}},
		func() { now.Spaced = true })
	add("segmented", "The active are in 16 maps, each under a mutex",
		post{{601_762, 1_005_846, 1_700_100, 1_321_714}, {321_688, 549_510, 826_927, 1_026_862}},
		func() { now.Tracker = Segmented })
	add("segmented-os", "The worker has an OS thread to itself",
		post{{543_984, 1_020_562, 1_632_501, 1_444_734}, {335_079, 580_449, 864_820, 1_120_983}},
		func() { now.OSThreads = true })
	add("keeper-os", "The same with the owner goroutine, which has an OS thread too",
		post{{1_251_410, 1_619_556, 1_345_362, 784_240}, {640_250, 813_339, 1_011_854, 927_351}},
		func() { now.Tracker = Keeper })
	add("counted",
		"A concurrent map from an epoch to how many read it, which is scanned by whoever "+
			"asks for pruning",
		post{{2_191_449, 195_198, 1_733_824, 2_832_820}, {898_844, 58_323, 118_490, 5_211_745}},
		func() { now.Tracker, now.OSThreads = Counted, false })
	add("ordered", "The map is ordered by epoch",
		post{{2_189_669, 1_209_369, 1_390_759, 1_831_715}, {863_360, 695_208, 905_599, 1_438_307}},
		func() { now.Tracker = Ordered })
	add("ordered-100ms", "The lowest epoch is read every 100 ms, in the background",
		post{{2_426_305, 1_138_293, 1_297_350, 1_581_117}, {831_512, 651_383, 864_551, 1_133_964}},
		func() { now.Every = 100 * time.Millisecond })
	add("counted-100ms", "Likewise with the concurrent map",
		post{
			{2_033_145, 1_588_019, 1_729_478, 2_155_202},
			{806_951, 736_237, 1_163_395, 1_664_437},
		},
		func() { now.Tracker = Counted })
	add("list-walked", "Lists again, whose versions each committer counts by walking",
		nothing, func() { now.Chain = WalkedList })
	add("list-counted", "The number of versions is kept",
		post{
			{2_290_893, 1_604_327, 1_891_342, 1_937_384},
			{932_854, 966_232, 1_135_402, 1_620_440},
		},
		func() { now.Chain = List })
	add("keyed-bug",
		"A concurrent map from a goroutine to its epoch; and a guard that never lets "+
			"anything be pruned",
		post{
			{2_887_534, 2_366_272, 2_162_653, 2_449_227},
			{1_271_287, 1_578_856, 1_340_980, 1_519_457},
		},
		func() { now.Tracker, now.Guard = KeyedMap, WrongGuard })
	add("keyed", "The right guard",
		post{
			{3_022_274, 2_583_841, 3_152_546, 4_209_720},
			{2_467_899, 1_987_672, 2_540_089, 3_310_157},
		},
		func() { now.Guard = RightGuard })
	add("keyed-locked", "A map under a mutex, which allocates nothing",
		post{
			{3_917_122, 2_935_325, 2_410_565, 2_138_870},
			{2_789_017, 2_308_032, 2_285_734, 2_274_920},
		},
		func() { now.Tracker = KeyedLocked })
	add("keyed-words",
		"The concurrent map, with a word for each goroutine that is changed in place",
		post{
			{3_921_045, 3_351_487, 4_130_101, 6_100_774},
			{2_948_892, 2_523_596, 2_943_223, 4_064_741},
		},
		func() { now.Tracker = KeyedWords })
	add("retry", "What does not commit is tried again, with a new state",
		post{
			{4_255_294, 3_727_360, 4_222_921, 4_512_409},
			{2_887_463, 2_083_535, 2_093_721, 1_800_087},
		},
		func() {}).Retries = true
	add("reuse", "States are used again",
		nothing, func() { now.Reuse = true }).Retries = true
	add("slots",
		"The tracker of this module, package epoch: a slot for each state, idle ones kept "+
			"per P",
		nothing, func() { now.Tracker = Slots }).Retries = true
	product, _ := bench.EngineByName("mvcc")
	return append(steps, Step{
		Name: product.Name, Doc: "This module's map, through View and Update",
		Retries: true, Engine: product,
	})
}
