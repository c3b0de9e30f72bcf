package commit

// Sets of keys, for brevity.
var (
	x   = []Key{X}
	y   = []Key{Y}
	xy  = []Key{X, Y}
	yx  = []Key{Y, X}
	z   = []Key{Z}
	zx  = []Key{Z, X}
	yxz = []Key{Y, X, Z}
)

// soloMoves is more than any process needs to finish alone.
const soloMoves = 80

// procs lists the programs of a scenario's processes.
func procs(ps ...[]Op) [][]Op { return ps }

// seq is the program of one process.
func seq(ops ...Op) []Op { return ops }

// Scenarios are the programs for which the protocol is explored completely.
var Scenarios = []Scenario{
	// Atomic commits.
	{Name: "put two, view two", Solo: soloMoves,
		Procs: procs(seq(Put(X, Y)), seq(View(X, Y)), seq(View(Y, X)))},
	{Name: "put two, load both", Solo: soloMoves,
		Procs: procs(seq(Put(X, Y)), seq(Load(X), Load(Y)), seq(Load(Y), Load(X)))},
	{Name: "update two, view two", Solo: soloMoves,
		Procs: procs(seq(Update(x, xy)), seq(View(Y, X)), seq(View(X)))},
	{Name: "store and view",
		Procs: procs(seq(Store(X)), seq(Store(Y), Load(X)), seq(View(X, Y)))},
	{Name: "swaps", Solo: soloMoves,
		Procs: procs(seq(Swap(X), Swap(X)), seq(Swap(X)), seq(Load(X)))},

	// Serializability.
	{Name: "write skew", Solo: soloMoves, Procs: procs(seq(Update(x, y)), seq(Update(y, x)))},
	{Name: "write skew, viewed", Procs: procs(seq(Update(x, y)), seq(Update(y, x)), seq(View(X, Y))), Large: true},
	{Name: "write skew, loaded", Procs: procs(seq(Update(x, y)), seq(Update(y, x)), seq(Load(X), Load(Y))), Large: true},
	{Name: "lost update", Procs: procs(seq(Update(x, x)), seq(Update(x, x)), seq(Load(X)))},
	{Name: "read-only anomaly", Procs: procs(seq(Update(xy, x)), seq(Store(Y)), seq(View(X, Y)))},
	{Name: "update after store", Procs: procs(seq(Update(x, y)), seq(Store(X), Load(Y), Load(Y)))},
	{Name: "update, store and load", Procs: procs(seq(Update(x, y)), seq(Store(X), Load(Y)), seq(Load(Y)))},
	{Name: "update two, store, load", Procs: procs(seq(Update(x, xy)), seq(Store(X), Load(Y)), seq(Load(X), Load(Y))), Large: true},
	{Name: "update, store and load without a clock", NoClock: true, Procs: procs(seq(Update(x, y)), seq(Store(X), Load(Y)), seq(Load(Y)))},
	{Name: "three writers", Procs: procs(seq(Update(x, y)), seq(Update(y, x)), seq(Store(X)))},
	{Name: "three updates in a ring", Large: true,
		Procs: procs(seq(Update(x, y)), seq(Update(y, z)), seq(Update(z, x)))},
	{Name: "two updates of two, loaded", Large: true,
		Procs: procs(seq(Update(x, xy)), seq(Update(y, yx)), seq(Load(X), Load(Y)))},
	{Name: "one-key operations and an update", Large: true,
		Procs: procs(seq(Update(x, y), Load(X)), seq(Swap(X), Load(Y)), seq(Load(Y), Load(X)))},
	{Name: "updates of two", Solo: soloMoves, Procs: procs(seq(Update(xy, xy)), seq(Update(yx, yx)))},

	{Name: "write skew of two reads, with signs of life", Signs: true, Procs: procs(seq(Update(xy, x)), seq(Update(yx, y)))},

	// Watching.
	{Name: "watching: write skew", Solo: soloMoves,
		Procs: procs(seq(Update(x, y).Watching()), seq(Update(y, x)))},
	{Name: "watching: write skew, also without", Switch: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Update(y, x).Watching()))},
	{Name: "watching: write skew of two reads, with signs of life", Signs: true,
		Procs: procs(seq(Update(xy, x).Watching()), seq(Update(yx, y)))},
	{Name: "watching: both", Procs: procs(seq(Update(x, y).Watching()), seq(Update(y, x).Watching()))},
	{Name: "watching: update two, view two",
		Procs: procs(seq(Update(x, xy).Watching()), seq(View(Y, X)), seq(View(X)))},
	{Name: "watching: updates of two", Solo: soloMoves,
		Procs: procs(seq(Update(xy, xy).Watching()), seq(Update(yx, yx)))},
	{Name: "watching: update after store",
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X), Load(Y), Load(Y)))},
	{Name: "watching: store, viewed",
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X)), seq(View(Y, X)))},
	{Name: "watching: store, loaded",
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X)), seq(Load(X), Load(Y)))},
	{Name: "watching: absent, come and gone", Absent: x,
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X), Load(Y), Delete(X)))},
	{Name: "watching: deleted, come and gone, viewed", Deleted: x, Large: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X), Load(Y), Delete(X)), seq(View(X, Y)))},
	{Name: "watching: aborted and installed again", Attempts: 2, Again: true, Unhook: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(Y), Load(X)), seq(Store(X)))},
	{Name: "watching: two, one after the other",
		Procs: procs(seq(Update(x, y).Watching(), Update(y, x).Watching()), seq(Update(y, x)))},
	{Name: "watching: update two, copied", Copy: true, Solo: soloMoves,
		Procs: procs(seq(Update(x, xy).Watching()), seq(Store(Y), Load(X)))},
	{Name: "watching: prune under validation", Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X), Load(Y), Store(X)))},
	{Name: "watching: three writers", Large: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Update(y, x)), seq(Store(X)))},
	{Name: "watching: update, store and load", Large: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X), Load(Y)), seq(Load(Y)))},
	{Name: "watching: write skew, loaded", Large: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Update(y, x)), seq(Load(Y)))},
	{Name: "watching: both, loaded", Large: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Update(y, x).Watching()), seq(Load(Y)))},
	{Name: "watching: prune under validation of a put", Pruned: x, Pruners: 1, Large: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X), Load(Y), Put(X, Z)))},
	{Name: "watching: come and go under validation of absence", Absent: x, Remove: true, Pruned: x, Pruners: 1, Large: true,
		Procs: procs(seq(Update(x, y).Watching()), seq(Store(X), Delete(X), Load(Y)))},
	{Name: "watching: remove under validation of absence", Absent: x, Remove: true, Pruned: x, Pruners: 1, Large: true,
		Procs: procs(seq(Update(zx, y).Watching()), seq(Store(X), Load(Y), Store(Z), Delete(X)))},
	{Name: "watching: remove under an update installed again", Remove: true, Pruned: x, Pruners: 1, Unhook: true, Attempts: 2, Again: true, Large: true,
		Procs: procs(seq(Update(x, xy).Watching()), seq(Delete(X), Store(Y)))},

	// Snapshot level.
	{Name: "lost update at snapshot level", Solo: soloMoves,
		Procs: procs(seq(Update(x, x).At(Snapshot)), seq(Update(x, x).At(Snapshot)), seq(Store(X)))},
	{Name: "write skew at snapshot level", Solo: soloMoves,
		Procs: procs(seq(Update(x, y).At(Snapshot)), seq(Update(y, x).At(Snapshot)), seq(View(X, Y)))},
	{Name: "both levels",
		Procs: procs(seq(Update(x, xy).At(Snapshot)), seq(Update(y, y)), seq(Load(X), Load(Y)))},

	// Installing again.
	{Name: "put two, overwritten", Attempts: 2, Unhook: true, Solo: soloMoves,
		Procs: procs(seq(Put(X, Y)), seq(Store(Y)), seq(Load(X), Load(Y)))},
	{Name: "put two against put two", Attempts: 2,
		Procs: procs(seq(Put(X, Y)), seq(Put(Y, X)), seq(View(X, Y)))},
	{Name: "put two against update", Attempts: 2, Unhook: true,
		Procs: procs(seq(Put(X, Y)), seq(Update(x, y)), seq(Load(Y)))},
	{Name: "put two against put two, loaded", Attempts: 2, Unhook: true, Large: true,
		Procs: procs(seq(Put(X, Y)), seq(Put(Y, X)), seq(Load(X), Load(Y)))},
	{Name: "update, aborted and installed again", Attempts: 2, Again: true, Unhook: true,
		Procs: procs(seq(Update(x, y)), seq(Store(Y), Load(X)), seq(Store(X)))},
	{Name: "updates of two, installed again", Attempts: 2, Again: true, Large: true,
		Procs: procs(seq(Update(x, xy)), seq(Update(y, yx)), seq(Load(X)))},
	{Name: "update at snapshot level, installed again", Attempts: 2, Again: true,
		Procs: procs(seq(Update(x, xy).At(Snapshot)), seq(Store(Y), Store(X)), seq(View(X, Y)))},
	{Name: "put two, overwritten twice, copied", Attempts: 3, Unhook: true, Copy: true, Large: true,
		Procs: procs(seq(Put(X, Y)), seq(Store(X), Store(Y)), seq(View(X, Y)))},

	// Copying the epoch.
	{Name: "put two, copied", Copy: true, Solo: soloMoves,
		Procs: procs(seq(Put(X, Y)), seq(View(X, Y)), seq(Load(Y)))},
	{Name: "update two, copied", Copy: true, Solo: soloMoves,
		Procs: procs(seq(Update(x, xy)), seq(Store(Y), Load(X)))},

	// Pruning.
	{Name: "prune under a view", Pruned: x, Pruners: 1,
		Procs: procs(seq(Store(X), Store(X), Store(X)), seq(View(X, X)))},
	{Name: "prune under two views", Pruned: x, Pruners: 1, Large: true,
		Procs: procs(seq(Store(X), Store(X)), seq(View(Y, X)), seq(View(X)))},
	{Name: "prune twice at once under a view", Pruned: x, Pruners: 2,
		Procs: procs(seq(Store(X), Store(X)), seq(View(X, X))), Large: true},
	{Name: "prune under a load", Pruned: xy, Pruners: 1,
		Procs: procs(seq(Put(X, Y)), seq(Load(X), Load(Y)))},
	{Name: "prune under a load and an update", Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(x, x)), seq(Load(X)), seq(Store(X))), Large: true},
	{Name: "prune under validation", Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(x, y)), seq(Store(X), Load(Y), Store(X)))},
	{Name: "prune under validation of a put", Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(x, y)), seq(Store(X), Load(Y), Put(X, Z)))},
	{Name: "prune under validation of two", Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(zx, y)), seq(Store(X), Load(Y), Store(Z), Store(X)))},
	{Name: "prune twice at once under validation", Pruned: x, Pruners: 2, Large: true,
		Procs: procs(seq(Update(x, y)), seq(Store(X), Load(Y), Put(X, Z)))},
	{Name: "prune under validation and a load", Pruned: x, Pruners: 1, Large: true,
		Procs: procs(seq(Update(x, y)), seq(Store(X), Put(X, Z)), seq(Load(Y)))},
	{Name: "prune copied versions twice at once", Copy: true, Pruned: x, Pruners: 2,
		Procs: procs(seq(Put(Y, X)), seq(Load(X)))},
	{Name: "prune copied versions", Copy: true, Pruned: yx, Pruners: 1,
		Procs: procs(seq(Put(X, Y)), seq(View(Y)), seq(Load(Y)))},

	// Removing entries.
	{Name: "remove under loads", Remove: true, Pruned: x, Pruners: 1,
		Procs: procs(seq(Delete(X), Store(X)), seq(Load(X), Load(X)))},
	{Name: "remove twice under loads", Remove: true, Pruned: x, Pruners: 1, Passes: 2,
		Procs: procs(seq(Delete(X), Store(X)), seq(Load(X), Load(X)))},
	{Name: "remove at once by two", Remove: true, Pruned: x, Pruners: 2,
		Procs: procs(seq(Delete(X), Store(X)), seq(Load(X)))},
	{Name: "remove under a view", Remove: true, Pruned: x, Pruners: 1,
		Procs: procs(seq(Store(Y), Delete(X)), seq(View(Y, X)))},
	{Name: "remove and store under a view", Remove: true, Pruned: x, Pruners: 1, Large: true,
		Procs: procs(seq(Delete(X)), seq(Store(X)), seq(View(X, X)))},
	{Name: "insert twice, remove what is empty", Absent: x, Remove: true, Pruned: x, Pruners: 1, Unhook: true,
		Procs: procs(seq(Store(X)), seq(Update(y, xy)))},
	{Name: "insert by two", Absent: x, Remove: true, Pruned: x, Pruners: 1,
		Procs: procs(seq(Store(X)), seq(Store(X)), seq(Load(X)))},
	{Name: "remove under validation of absence", Absent: x, Remove: true, Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(zx, y)), seq(Store(X), Load(Y), Store(Z), Delete(X)))},
	{Name: "come and go under validation of absence", Absent: x, Remove: true, Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(x, y)), seq(Store(X), Delete(X), Load(Y)))},
	{Name: "come and go twice under validation of absence", Absent: x, Remove: true, Pruned: x, Pruners: 1, Large: true,
		Procs: procs(seq(Update(x, y)), seq(Store(X), Delete(X), LoadOrStore(X), Load(Y)))},
	{Name: "remove under an update installed again", Remove: true, Pruned: x, Pruners: 1, Unhook: true, Attempts: 2, Again: true,
		Procs: procs(seq(Update(x, xy)), seq(Delete(X), Store(Y)))},
	{Name: "remove, insert or load", Remove: true, Pruned: x, Pruners: 1, Unhook: true,
		Procs: procs(seq(Delete(X)), seq(LoadOrStore(X)), seq(LoadOrStore(X)))},
	{Name: "remove under an aborted insert", Absent: x, Remove: true, Pruned: x, Pruners: 1, Unhook: true, Large: true,
		Procs: procs(seq(Update(x, xy)), seq(Store(X), Delete(X)), seq(Load(X)))},
	{Name: "remove under a put that starts over", Remove: true, Pruned: x, Pruners: 1, Unhook: true, Attempts: 2, Large: true,
		Procs: procs(seq(Put(X, Y)), seq(Delete(X)), seq(Load(X), Load(Y)))},
	{Name: "remove under first committer wins", Remove: true, Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(x, x).At(Snapshot)), seq(Store(X), Delete(X)))},
	{Name: "remove under validation of presence", Remove: true, Pruned: x, Pruners: 1,
		Procs: procs(seq(Update(x, y)), seq(Delete(X), Load(Y), Store(X)))},
}

// Mutation is a mistake and the scenario in which it shows.
type Mutation struct {
	Fault    Fault
	Scenario string
	Large    bool // takes too long for an ordinary test run
}

// Mutations has every fault at least once.
var Mutations = []Mutation{
	{Fault: LoadSkipsTentative, Scenario: "update, store and load"},
	{Fault: LoadSkipsAnnounced, Scenario: "store and view"},
	{Fault: LoadKeepsSkipped, Scenario: "prune under a load"},
	{Fault: ReadSkipsAnnounced, Scenario: "put two, view two"},
	{Fault: ReadWaits, Scenario: "update two, view two"},
	{Fault: NoFloor, Scenario: "update two, view two"},
	{Fault: DrawFirst, Scenario: "put two, view two"},
	{Fault: ValidateFirst, Scenario: "read-only anomaly"},
	{Fault: ValidateSkipsAnnounced, Scenario: "write skew"},
	{Fault: ValidateSkipsNewer, Scenario: "prune under validation"},
	{Fault: ValidateKeepsSkipped, Scenario: "prune under validation of a put"},
	{Fault: ValidateAnyTombstone, Scenario: "remove under validation of absence"},
	{Fault: ValidatePresentOnly, Scenario: "remove under validation of absence"},
	{Fault: HelpIgnoresCheck, Scenario: "update after store"},
	{Fault: EarlyEnd, Scenario: "remove under validation of absence"},
	{Fault: FirstCommitterIgnored, Scenario: "lost update at snapshot level"},
	{Fault: InstallOverUndecided, Scenario: "updates of two"},
	{Fault: ReuseVersions, Scenario: "put two, overwritten"},
	{Fault: ClearBeforeCopy, Scenario: "put two, copied"},
	{Fault: NoReload, Scenario: "put two, copied"},
	{Fault: CutBelowEpoch, Scenario: "prune under a view"},
	{Fault: CappedView, Scenario: "prune under two views"},
	{Fault: RemoveIgnoresLive, Scenario: "remove under a view"},
	{Fault: UnlinkBeforeDead, Scenario: "remove under loads"},
	{Fault: NoDead, Scenario: "remove under loads"},
	{Fault: PlainDelete, Scenario: "remove under loads"},
	{Fault: EmptyNotDead, Scenario: "insert twice, remove what is empty"},
	{Fault: WatchIgnored, Scenario: "watching: update after store"},
	{Fault: WatchBaseLate, Scenario: "watching: write skew"},
	{Fault: WatchStoredLate, Scenario: "watching: update after store"},
	{Fault: WatchPassesUndecided, Scenario: "watching: write skew"},
	{Fault: WatchAnyTombstone, Scenario: "watching: deleted, come and gone, viewed", Large: true},
	{Fault: WatchRecordLast, Scenario: "watching: update after store"},
	{Fault: WatchPublishesAny, Scenario: "watching: update after store"},
	{Fault: MarksFirst, Scenario: "watching: update after store"},
	{Fault: MarksLate, Scenario: "watching: store, viewed"},
	{Fault: HelperDoesNotMark, Scenario: "watching: store, loaded"},
}

// Find returns the scenario with the given name.
func Find(name string) (Scenario, bool) {
	for _, sc := range Scenarios {
		if sc.Name == name {
			return sc, true
		}
	}
	return Scenario{}, false
}
