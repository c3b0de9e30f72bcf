package bench

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// An EngineSpec makes engines and says what they are.
type EngineSpec struct {
	Name string // as in --engine
	Doc  string // one sentence, without the full stop

	// Lacks says, by workload name, why the engine cannot run it, or those that need the same.
	Lacks map[string]string

	// Levels are the levels of isolation that the engine has, if there is a choice;
	// and Reclaims says that it takes notice of [Setup.Map].
	Levels   []Isolation
	Reclaims bool

	// New returns a new engine that holds setup.Keys with setup.Values; NewBytes
	// makes one whose values are byte slices, and may be nil.
	New      func(setup Setup[uint64]) (Engine[uint64], error)
	NewBytes func(setup Setup[[]byte]) (Engine[[]byte], error)

	// OneKey says that its sessions are about single keys: each can put new ones, and is a
	// [Swapper] and a [Deleter].
	OneKey bool

	// NewTables makes one for workloads over tables that files describe, and may be nil.
	NewTables func(setup TablesSetup) (Tables, error)

	// NewShop makes one for the workload orders, and may be nil.
	NewShop func(setup ShopSetup) (Shop, error)
}

// Runs reports whether the engine can run workload w, with the values that w has, and, if
// not, why.
func (e EngineSpec) Runs(w Workload) (why string, ok bool) {
	for _, name := range []string{w.Name, w.like} {
		if why, lacks := e.Lacks[name]; lacks {
			return why, false
		}
	}
	switch {
	case w.kind == orders && e.NewShop == nil:
		return noTables, false
	case w.kind == script && e.NewTables == nil:
		return noFileTables, false
	case w.kind == script:
		return "", true
	case w.kind == plain || w.kind == replay:
		if why, ok := e.runsPlain(w); !ok {
			return why, false
		}
	}
	if !w.valueSize().Words() && e.NewBytes == nil {
		return fmt.Sprintf("it is not made for values of %v bytes", w.valueSize()), false
	}
	return "", true
}

// Wrapped returns e with every session replaced by what wrap makes of it, where values are
// numbers.
func (e EngineSpec) Wrapped(
	wrap func(Session[uint64]) Session[uint64],
) EngineSpec {
	open := e.New
	e.New = func(setup Setup[uint64]) (Engine[uint64], error) {
		made, err := open(setup)
		return wrapped{made, wrap}, err
	}
	return e
}

type wrapped struct {
	Engine[uint64]
	wrap func(Session[uint64]) Session[uint64]
}

func (w wrapped) Session(worker int) Session[uint64] {
	return w.wrap(w.Engine.Session(worker))
}

// Why an engine lacks a workload.
const (
	noTx         = "it has no transactions"
	noOrder      = "its keys have no order"
	noWatch      = "what is committed cannot be followed"
	noJournal    = "what is committed is not kept on disk"
	noExpiry     = "its records do not expire"
	noTables     = "it is not made for several tables with indexes"
	noFileTables = "it has no transactions over tables"
	noMultiTx    = "it has no transactions over several keys"
	noSnapshot   = "it has no snapshots"
	oneKey       = "one-key operations are no transactions over several keys"
	oneKeyOnly   = "one-key operations begin no transaction"
)

// lacking returns a Lacks with the reasons of more, and with why for every workload over several
// keys.
func lacking(why string, more map[string]string) map[string]string {
	lacks := maps.Clone(more)
	for _, w := range Workloads() {
		if w.multiKey {
			lacks[w.Name] = why
		}
	}
	return lacks
}

// locks returns the Lacks of an engine that has transactions, but no watches, journal or expiry.
func locks() map[string]string {
	return map[string]string{"watched": noWatch, "journaled": noJournal, "expiring": noExpiry}
}

// Engines returns the built-in engines, in the order in which they are listed.
func Engines() []EngineSpec {
	levels := []Isolation{Serializable, Snapshot}
	alone := lacking(noMultiTx, map[string]string{"begin": noTx, "long-reader": noSnapshot,
		"expiring": noExpiry})
	return []EngineSpec{
		{
			Name: "mvcc",
			New:  newMVCC[uint64], NewBytes: newMVCC[[]byte],
			Doc: "The transactional map, through View and Update, at serializable level or, " +
				"with --isolation, at snapshot level",
			Levels: levels, Reclaims: true, NewShop: newMVCCShop, NewTables: newMVCCTables,
		},
		{
			Name: "mvcc-direct",
			New:  newMVCCDirect[uint64], NewBytes: newMVCCDirect[[]byte],
			Doc:    "The transactional map, through its one-key operations: Load, Store, CompareAndSwap",
			Lacks:  lacking(oneKey, map[string]string{"begin": oneKeyOnly}),
			Levels: levels, Reclaims: true, OneKey: true,
		},
		{
			Name: "rwmutex",
			New:  newLockedMap[uint64, sync.RWMutex], NewBytes: newLockedMap[[]byte, sync.RWMutex],
			Doc: "A Go map under a sync.RWMutex, held once for each transaction, or a B-tree where " +
				"ranges are read; its snapshots are copies, its indexes B-trees",
			Lacks: locks(), NewShop: newLockedShop, NewTables: newLockedTables[sync.RWMutex],
		},
		{
			Name: "mutex",
			New:  newLockedMap[uint64, sync.Mutex], NewBytes: newLockedMap[[]byte, sync.Mutex],
			Doc: "A Go map under a sync.Mutex, held once for each transaction, or a B-tree where " +
				"ranges are read; its snapshots are copies",
			Lacks: locks(), NewTables: newLockedTables[sync.Mutex],
		},
		{
			Name: "sync.Map",
			New:  newSyncMap[uint64], NewBytes: newSyncMap[[]byte],
			Doc:   "The standard library's concurrent map",
			Lacks: alone, OneKey: true,
		},
		{
			Name: "xsync",
			New:  newXsync[uint64], NewBytes: newXsync[[]byte],
			Doc:   "The concurrent map of the xsync module",
			Lacks: alone, OneKey: true,
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
