package mvcc

import (
	"context"
	"fmt"
	"reflect"

	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// A Map is a map from K to V that any number of goroutines may use at once, one key at a time or in
// transactions over several keys. Use [New]. A Map must not be copied. In the terminology of the Go
// memory model, a commit synchronizes before every read that observes one of its writes.
type Map[K comparable, V any] struct {
	_ noCopy

	index     *index.Index // the core's: a read finds it one load sooner
	plain     bool         // see core
	unguarded bool         // not guarded, see core
	at        *engine
}

// engine returns the map without its types. It panics for a zero Map.
func (m *Map[K, V]) engine() *engine {
	if m.at == nil { // alone, so that this is inlined
		panic(errZeroMap)
	}
	return m.at
}

// strictly returns the strict of the map, or nil.
func (m *Map[K, V]) strictly() *strict {
	if m.plain {
		return nil
	}
	return m.engine().strict()
}

// mapOf returns the map of an engine.
func mapOf[K comparable, V any](e *engine) *Map[K, V] { return e.typed().(*Map[K, V]) }

// New returns an empty map. It panics if an option has no meaning.
func New[K comparable, V any](opts *Options) *Map[K, V] {
	return newAlone(opts, nil, recordTypeOf[K, V]()).(*Map[K, V])
}

// Close of a map by itself ends its background goroutines and waits for them, and for
// Options.Logger. The map stays usable; then committers prune the keys they write. Any goroutine
// may call it, more than once.
//
// Close of a table takes it out of its database. Its name is free, and [Map.In] and [Map.At] panic;
// transactions that have called In before go on. If the database is watched, Close waits until
// older commits are handed on, else for nothing. The table stays usable by itself. A backup of an
// older snapshot of the database has the table. Its memory goes when nobody refers to it; with
// Options.Retain, when that time has passed and another table is made or closed.
func (m *Map[K, V]) Close() { m.engine().close() }

// String names the types, the number of keys and the newest epoch.
func (m *Map[K, V]) String() string {
	if m == nil || m.at == nil {
		return fmt.Sprintf("%T without mvcc.New", m)
	}
	return fmt.Sprintf("%T: epoch %d, keys: %d", m, m.Epoch(), m.Len())
}

// Reclaim does the waiting background work. It evicts transactions older than
// Options.MaxTxAge, and drops the versions that were invisible to everybody when Reclaim was
// called, unless another goroutine is pruning them. It returns ctx's error if ctx ends before all
// is done. Any number of goroutines may call it. It waits for no transaction.
func (m *Map[K, V]) Reclaim(ctx context.Context) error {
	return m.engine().reclaim(ctx)
}

// badKey reports whether key is not equal to itself: a map can never find such a key again. It
// panics if a strict map must not be used so.
func (m *Map[K, V]) badKey(u use, key K) bool {
	return !m.plain && isBad(m.at, u, key) // so that this is inlined
}

//go:noinline
func isBad[K comparable](e *engine, u use, key K) bool {
	e.use(u)
	return key != key
}

// checkKey panics for a bad key.
func (m *Map[K, V]) checkKey(u use, key K) {
	if !m.plain {
		checkKey(m.at, u, key)
	}
}

func checkKey[K comparable](e *engine, u use, key K) {
	if isBad(e, u, key) {
		panic(ErrBadKey)
	}
}

func equal[K comparable](a, b K) bool { return a == b }

// reflexive reports whether every value of type t is equal to itself. It is
// asked once, in New.
func reflexive(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return false
	case reflect.Array:
		return reflexive(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if !reflexive(f.Type) {
				return false
			}
		}
	}
	return true
}

// noCopy makes vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
