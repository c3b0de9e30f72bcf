package bench

import (
	"errors"
	"fmt"
	"strings"
)

// A rig is an engine together with what depends on the types of its keys and
// values, so that the rest of a [Trial] need not know them. Keys are named by
// their index, and values by the stamp or number that they carry.
type rig interface {
	// fill makes the engine, and checks that it holds what it was filled with.
	fill() error
	// task returns what goroutine i does, and the session it does it with.
	task(i int) (task, aborter, error)
	// auditor returns what is done beside the goroutines; nil if nothing is.
	auditor() (auditor, error)
	// get reads a key with the runner's own session.
	get(k int) (v stamp, ok bool, err error)
	// name names a key in messages.
	name(k int) string
	// versions returns what the engine holds; ok is false if it does not say.
	versions() (n int, ok bool)
	// close ends the engine, and before that whatever is open in it.
	close()
}

// aborter is what every session is, whatever its types.
type aborter interface{ Aborts() uint64 }

// newRig returns the rig for the types of keys and values that t has.
func newRig(t *Trial) rig {
	words := t.config.Workload.valueSize().Words()
	switch t.config.Workload.keyType() {
	case Uint64Keys:
		if words {
			return newRigOf[uint64, uint64](t)
		}
		return newRigOf[uint64, []byte](t)
	case StructKeys:
		if words {
			return newRigOf[StructKey, uint64](t)
		}
		return newRigOf[StructKey, []byte](t)
	}
	if words {
		return newRigOf[string, uint64](t)
	}
	return newRigOf[string, []byte](t)
}

// rigOf is the [rig] for keys of type K and values of type V.
type rigOf[K comparable, V any] struct {
	*Trial
	engine EngineOf[K, V]
	runner SessionOf[K, V] // used between runs
	list   []K             // the keys
	values values[V]       // the runner's
	dist   *zipf           // by which keys are drawn; nil if they are not
	pin    PinOf[K, V]     // open until the end; nil if there is none
}

func newRigOf[K comparable, V any](t *Trial) *rigOf[K, V] {
	n := t.config.Workload.keyCount(t.config.Threads)
	r := &rigOf[K, V]{Trial: t, list: makeKeys[K](n), values: newValues[V](t, -1)}
	if names, ok := any(r.list).([]string); ok {
		t.keys = names
	}
	w := t.config.Workload
	switch w.kind {
	case getPut, ycsb:
		if w.Params.Theta != Unset {
			r.dist = newZipf(n, w.Params.Theta)
		}
	case longReader, overwrite:
		r.dist = newZipf(n, 0)
	}
	return r
}

// newValues returns what goroutine worker, or the runner if it is -1, makes
// values with.
func newValues[V any](t *Trial, worker int) values[V] {
	return values[V]{filler{t.config.Workload.valueSize(), t.streamFor(worker, forSizes)}}
}

// first returns the number or stamp that key k has at first.
func (r *rigOf[K, V]) first(k int) stamp {
	switch r.config.Workload.kind {
	case transfer:
		return openingBalance
	case counter, crowd:
		return 0
	}
	return loaded(k)
}

func (r *rigOf[K, V]) fill() error {
	open := maker[K, V](r.config.Engine)
	if open == nil {
		return fmt.Errorf("bench: engine %s: %w", r.config.Engine.Name, errUnsupported)
	}
	setup := SetupOf[K, V]{
		// The engine keeps strings of its own, as it would in a program whose
		// keys come from somewhere else each time.
		Keys:      cloneKeys(r.list),
		Values:    make([]V, len(r.list)),
		Isolation: r.config.Isolation,
		Map:       r.config.Map,
		Attempts:  r.config.Attempts,
		Stopped:   r.stop.Load,
	}
	for k := range setup.Values {
		setup.Values[k] = r.values.make(r.first(k))
	}
	engine, err := open(setup)
	if err != nil {
		return fmt.Errorf("bench: engine %s: %w", r.config.Engine.Name, err)
	}
	r.engine = engine
	r.runner = engine.Session(-1)
	return r.checkFilled()
}

// checkFilled makes sure that it is not an empty map that will be measured.
func (r *rigOf[K, V]) checkFilled() error {
	for k := range r.list {
		v, ok, err := r.get(k)
		if err != nil {
			return r.failed(err)
		}
		if want := r.first(k); !ok || v != want {
			return r.violated(wrong(r.name(k), "the map was filled with %#x and gives %#x, %t", want, v, ok))
		}
	}
	return nil
}

// plain returns the session within s that has Get and Put and nothing that is for
// numbers alone, if s is one of the sessions of this package that has one. It does
// the same: but a method that s has by embedding costs a detour of some
// nanoseconds, which is a fifth of what a get from the fastest engine takes.
func plain[K comparable, V any](s SessionOf[K, V]) SessionOf[K, V] {
	var within any
	switch n := any(s).(type) {
	case *mvccNumberSession[K]:
		within = &n.mvccSession
	case *mvccDirectNumberSession[K]:
		within = &n.mvccDirectSession
	case *syncMapNumberSession[K]:
		within = &n.syncMapSession
	case xsyncNumberSession[K]:
		within = n.xsyncSession
	case rwMutexNumberSession[K]:
		within = n.rwMutexSessionOf
	case mutexNumberSession[K]:
		within = n.mutexSession
	case *idleNumbers[K]:
		within = n.idle
	default:
		return s
	}
	return within.(SessionOf[K, V])
}

// cloneKeys returns a copy of keys that shares no bytes with them.
func cloneKeys[K comparable](keys []K) []K {
	c := make([]K, len(keys))
	copy(c, keys)
	if names, ok := any(c).([]string); ok {
		for i, s := range names {
			names[i] = strings.Clone(s)
		}
	}
	return c
}

func (r *rigOf[K, V]) get(k int) (stamp, bool, error) {
	v, ok, err := r.runner.Get(r.list[k])
	if err != nil || !ok {
		return 0, false, err
	}
	if flaw := r.values.flaw(v); flaw != "" {
		return 0, true, wrong(r.name(k), "%s", flaw)
	}
	return r.values.stamp(v), true, nil
}

func (r *rigOf[K, V]) name(k int) string { return keyName(r.list[k]) }

func (r *rigOf[K, V]) versions() (int, bool) {
	if v, ok := r.engine.(Versioner); ok {
		return v.Versions(), true
	}
	return 0, false
}

func (r *rigOf[K, V]) close() {
	if r.pin != nil {
		r.pin.Close()
	}
	if r.engine != nil {
		r.engine.Close()
	}
}

// errUnsupported reports an engine or a session that lacks what a workload needs.
var errUnsupported = errors.New("bench: the engine or its sessions lack what the workload needs")
