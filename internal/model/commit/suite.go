package commit

import (
	"fmt"
	"math/rand/v2"
)

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
}

// Mutations has every fault at least once.
var Mutations = []Mutation{
	{LoadSkipsTentative, "update, store and load"},
	{LoadSkipsAnnounced, "store and view"},
	{LoadKeepsSkipped, "prune under a load"},
	{ReadSkipsAnnounced, "put two, view two"},
	{ReadWaits, "update two, view two"},
	{NoFloor, "update two, view two"},
	{DrawFirst, "put two, view two"},
	{ValidateFirst, "read-only anomaly"},
	{ValidateSkipsAnnounced, "write skew"},
	{ValidateSkipsNewer, "prune under validation"},
	{ValidateKeepsSkipped, "prune under validation of a put"},
	{ValidateAnyTombstone, "remove under validation of absence"},
	{ValidatePresentOnly, "remove under validation of absence"},
	{HelpIgnoresCheck, "update after store"},
	{EarlyEnd, "remove under validation of absence"},
	{FirstCommitterIgnored, "lost update at snapshot level"},
	{InstallOverUndecided, "updates of two"},
	{ReuseVersions, "put two, overwritten"},
	{ClearBeforeCopy, "put two, copied"},
	{NoReload, "put two, copied"},
	{CutBelowEpoch, "prune under a view"},
	{CappedView, "prune under two views"},
	{RemoveIgnoresLive, "remove under a view"},
	{UnlinkBeforeDead, "remove under loads"},
	{NoDead, "remove under loads"},
	{PlainDelete, "remove under loads"},
	{EmptyNotDead, "insert twice, remove what is empty"},
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

// Random returns a small program that depends on seed only.
func Random(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	for {
		sc := random(r)
		if _, err := New(sc); err == nil {
			sc.Name = fmt.Sprintf("random program %d", seed)
			return sc
		}
	}
}

// random returns a program that may be too large.
func random(r *rand.Rand) Scenario {
	keys := func(n int) []Key {
		ks := append([]Key(nil), yxz[:2+r.IntN(2)]...)
		r.Shuffle(len(ks), func(i, j int) { ks[i], ks[j] = ks[j], ks[i] })
		return ks[:min(n, len(ks))]
	}
	one := func() Key { return keys(1)[0] }
	op := func(remove bool) Op {
		level := Level(r.IntN(4) / 3)
		switch r.IntN(10) {
		case 0, 1:
			return Load(one())
		case 2, 3:
			if remove && r.IntN(2) == 0 {
				return Delete(one())
			}
			return Store(one())
		case 4:
			if r.IntN(2) == 0 {
				return LoadOrStore(one())
			}
			return Swap(one())
		case 5:
			return View(keys(1 + r.IntN(2))...)
		case 6:
			return Put(keys(2)...)
		default:
			return Update(keys(1+r.IntN(2)), keys(1+r.IntN(2))).At(level)
		}
	}
	sc := Scenario{
		Remove: r.IntN(2) == 0, Unhook: r.IntN(2) == 0, Copy: r.IntN(3) == 0,
		NoClock: r.IntN(3) == 0, Attempts: 1 + r.IntN(2), Again: r.IntN(2) == 0, Pruners: r.IntN(2), Pruned: x,
	}
	if sc.Remove {
		sc.Pruners = 1
		if r.IntN(2) == 0 {
			sc.Absent = x
		}
	}
	for range 2 + r.IntN(2) {
		var ops []Op
		for range 1 + r.IntN(3) {
			ops = append(ops, op(sc.Remove))
		}
		sc.Procs = append(sc.Procs, ops)
	}
	return sc
}
