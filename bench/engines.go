package bench

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// An EngineSpec makes engines and says what they are.
type EngineSpec struct {
	Name string // as in --engine
	Doc  string // one sentence, without the full stop

	// Lacks says, by workload name, why the engine cannot run it.
	Lacks map[string]string

	// Levels are the levels of isolation that the engine has, if there is a
	// choice; and Reclaims says that it takes notice of [SetupOf.Map].
	Levels   []Isolation
	Reclaims bool

	// New returns a new engine that holds setup.Keys with setup.Values.
	New func(setup Setup) (Engine, error)

	// Makers make engines whose keys are not strings or whose values are not
	// numbers. An engine may do without any of them.
	Makers Makers
}

// Makers has, for each type of keys and values other than those of
// [EngineSpec.New], what makes an engine of them. A nil one says that the engine
// has none such.
type Makers struct {
	StringBytes func(SetupOf[string, []byte]) (EngineOf[string, []byte], error)
	Uint64      func(SetupOf[uint64, uint64]) (EngineOf[uint64, uint64], error)
	Uint64Bytes func(SetupOf[uint64, []byte]) (EngineOf[uint64, []byte], error)
	Struct      func(SetupOf[StructKey, uint64]) (EngineOf[StructKey, uint64], error)
	StructBytes func(SetupOf[StructKey, []byte]) (EngineOf[StructKey, []byte], error)
}

// maker returns what makes engines of e with keys of type K and values of type
// V, or nil.
func maker[K comparable, V any](e EngineSpec) func(SetupOf[K, V]) (EngineOf[K, V], error) {
	for _, m := range []any{e.New, e.Makers.StringBytes, e.Makers.Uint64, e.Makers.Uint64Bytes, e.Makers.Struct, e.Makers.StructBytes} {
		if m, ok := m.(func(SetupOf[K, V]) (EngineOf[K, V], error)); ok {
			return m
		}
	}
	return nil
}

// Runs reports whether the engine can run workload w, with the keys and values
// that w has, and, if not, why.
func (e EngineSpec) Runs(w Workload) (why string, ok bool) {
	if why, lacks := e.Lacks[w.Name]; lacks {
		return why, false
	}
	if !e.makes(w) {
		return fmt.Sprintf("it is not made for %s keys and values of %v bytes", w.keyType(), w.valueSize()), false
	}
	return "", true
}

// makes reports whether the engine has the types of keys and values that w has.
func (e EngineSpec) makes(w Workload) bool {
	words := w.valueSize().Words()
	switch w.keyType() {
	case StringKeys:
		return words && e.New != nil || !words && e.Makers.StringBytes != nil
	case Uint64Keys:
		return words && e.Makers.Uint64 != nil || !words && e.Makers.Uint64Bytes != nil
	case StructKeys:
		return words && e.Makers.Struct != nil || !words && e.Makers.StructBytes != nil
	}
	return false
}

// ErrStopped is returned by a method of a [SessionOf] that has given up because
// the run is over.
var ErrStopped = errors.New("bench: stopped")

// ErrGaveUp is returned by a method of a [SessionOf] that has made as many attempts
// as [SetupOf.Attempts] allows, none of which has committed. The operation is
// counted as an error and the run goes on.
var ErrGaveUp = errors.New("bench: gave up")

// Why an engine lacks a workload.
const (
	noTx       = "it has no transactions"
	noMultiTx  = "it has no transactions over several keys"
	noDelete   = "its keys are fixed"
	noSnapshot = "it has no snapshots"
	oneKey     = "one-key operations are no transactions over several keys"
	oneKeyOnly = "one-key operations begin no transaction"
)

// The workloads whose operations are transactions over several keys.
var multiKey = []string{"transfer", "disjoint-batch", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f", "free-batch"}

// lacking returns what an engine lacks that gives the reasons of more, and why for
// every workload of several keys that more does not name.
func lacking(why string, more map[string]string) map[string]string {
	lacks := make(map[string]string)
	for _, name := range multiKey {
		lacks[name] = why
	}
	maps.Copy(lacks, more)
	return lacks
}

// Engines returns the built-in engines, in the order in which they are listed.
func Engines() []EngineSpec {
	return []EngineSpec{
		{
			Name:   "mvcc",
			Doc:    "The transactional map, through View and Update, at serializable level or, with --isolation, at snapshot level",
			New:    newMVCCNumbers[string],
			Levels: []Isolation{Serializable, Snapshot}, Reclaims: true,
			Makers: Makers{
				StringBytes: newMVCC[string, []byte],
				Uint64:      newMVCCNumbers[uint64], Uint64Bytes: newMVCC[uint64, []byte],
				Struct: newMVCCNumbers[StructKey], StructBytes: newMVCC[StructKey, []byte],
			},
		},
		{
			Name:   "mvcc-direct",
			Doc:    "The transactional map, through its one-key operations: Load, Store, CompareAndSwap",
			Lacks:  lacking(oneKey, map[string]string{"begin": oneKeyOnly}),
			New:    newMVCCDirectNumbers[string],
			Levels: []Isolation{Serializable, Snapshot}, Reclaims: true,
			Makers: Makers{
				StringBytes: newMVCCDirect[string, []byte],
				Uint64:      newMVCCDirectNumbers[uint64], Uint64Bytes: newMVCCDirect[uint64, []byte],
				Struct: newMVCCDirectNumbers[StructKey], StructBytes: newMVCCDirect[StructKey, []byte],
			},
		},
		{
			Name:  "floor",
			Doc:   "What the atomics, the lookup and the allocation alone cost: the bare protocol on a fixed set of string keys",
			Lacks: lacking(noMultiTx, map[string]string{"free-batch": noDelete}),
			New:   newFloor,
		},
		{
			Name: "rwmutex",
			Doc:  "A Go map under a sync.RWMutex, held once for each transaction; its snapshots are copies",
			New:  newRWMutexNumbers[string],
			Makers: Makers{
				StringBytes: newRWMutex[string, []byte],
				Uint64:      newRWMutexNumbers[uint64], Uint64Bytes: newRWMutex[uint64, []byte],
				Struct: newRWMutexNumbers[StructKey], StructBytes: newRWMutex[StructKey, []byte],
			},
		},
		{
			Name: "mutex",
			Doc:  "A Go map under a sync.Mutex, held once for each transaction; its snapshots are copies",
			New:  newMutexNumbers[string],
			Makers: Makers{
				StringBytes: newMutex[string, []byte],
				Uint64:      newMutexNumbers[uint64], Uint64Bytes: newMutex[uint64, []byte],
				Struct: newMutexNumbers[StructKey], StructBytes: newMutex[StructKey, []byte],
			},
		},
		{
			Name:  "sync.Map",
			Doc:   "The standard library's concurrent map",
			Lacks: lacking(noMultiTx, map[string]string{"begin": noTx, "long-reader": noSnapshot}),
			New:   newSyncMapNumbers[string],
			Makers: Makers{
				StringBytes: newSyncMap[string, []byte],
				Uint64:      newSyncMapNumbers[uint64], Uint64Bytes: newSyncMap[uint64, []byte],
				Struct: newSyncMapNumbers[StructKey], StructBytes: newSyncMap[StructKey, []byte],
			},
		},
		{
			Name:  "xsync",
			Doc:   "The concurrent map of the xsync module, which mvcc keeps its index in",
			Lacks: lacking(noMultiTx, map[string]string{"begin": noTx, "long-reader": noSnapshot}),
			New:   newXsyncNumbers[string],
			Makers: Makers{
				StringBytes: newXsync[string, []byte],
				Uint64:      newXsyncNumbers[uint64], Uint64Bytes: newXsync[uint64, []byte],
				Struct: newXsyncNumbers[StructKey], StructBytes: newXsync[StructKey, []byte],
			},
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
