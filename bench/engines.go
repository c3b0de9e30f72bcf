package bench

import (
	"slices"
	"sync"
)

// An EngineSpec makes engines and describes them.
type EngineSpec struct {
	Name string // as in --engine
	Doc  string // one sentence, without the full stop

	// OneKey says that the engine has no transactions over several keys, Unordered that it cannot
	// read ranges. NoSnapshots says why its sessions are no [Pinner]; it is empty if they are.
	OneKey      bool
	Unordered   bool
	NoSnapshots string

	// Levels are the levels of isolation that the engine has, if there is a choice. Reclaims says
	// that the engine uses [Setup.Options].
	Levels   []Isolation
	Reclaims bool

	// New returns a new engine with the tables of setup.
	New func(setup Setup) (Engine, error)
}

// Runs reports whether the engine can run workload w and, if not, why.
func (e EngineSpec) Runs(w Workload) (why string, ok bool) {
	switch {
	case e.OneKey && (!w.OneKey || w.Params.TxnSize > 1):
		return "it has no transactions over several keys", false
	case e.Unordered && w.model().ordered():
		return "its keys have no order", false
	case w.pins && e.NoSnapshots != "":
		return e.NoSnapshots, false
	}
	return "", true
}

const noSnapshots = "it has no snapshots"

// Engines returns the built-in engines, in the order in which they are listed.
func Engines() []EngineSpec {
	levels := []Isolation{Serializable, Snapshot}
	return []EngineSpec{
		{
			Name: "mvcc", New: newMVCC, Levels: levels, Reclaims: true,
			Doc: "The transactional map, through View and Update, at serializable level or, " +
				"with --isolation, at snapshot level",
		},
		{
			Name: "mvcc-direct", New: newDirect, Levels: levels, Reclaims: true, OneKey: true,
			Unordered: true, NoSnapshots: "its one-key operations are no snapshots",
			Doc: "The transactional map, through its one-key operations: Load, Store, Merge",
		},
		{
			Name: "rwmutex", New: newLocked[sync.RWMutex],
			Doc: "A Go map under a sync.RWMutex, held once for each transaction, or a B-tree where " +
				"ranges are read; its snapshots are copies",
		},
		{
			Name: "mutex", New: newLocked[sync.Mutex],
			Doc: "A Go map under a sync.Mutex, held once for each transaction, or a B-tree where " +
				"ranges are read; its snapshots are copies",
		},
		{
			Name: "sync.Map", New: newSyncMap, OneKey: true, Unordered: true, NoSnapshots: noSnapshots,
			Doc: "The standard library's concurrent map",
		},
		{
			Name: "xsync", New: newXsync, OneKey: true, Unordered: true, NoSnapshots: noSnapshots,
			Doc: "The concurrent map of the xsync module",
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
