package mvcc

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/favour"
	hooked "github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A Map is a map from K to V that any number of goroutines may use at once, one
// key at a time or in transactions over several keys. Use [New]. A Map must not
// be copied.
//
// In the terminology of the Go memory model, a commit synchronizes before every
// read that observes one of its writes.
type Map[K comparable, V any] struct {
	_ noCopy

	// All fields but schema, feedAt and expiryAt are set by New and never change, except for what they
	// point to.

	coreFields
	order order[K] // nil if the keys have none
	// schema is compared by writers that put a version where it is seen, see
	// X2.
	schema    atomic.Pointer[schema[K, V]]
	feedAt    hooked.Pointer[rarely] // see feed
	expiryAt  hooked.Pointer[rarely] // see expiry
	gc        *collector
	views     views // of gc
	level     Level
	plain     bool // k == k for every k of type K, and not strict
	strict    bool // see Options.Strict: shared.strict is there
	tracePins bool
	guarded   bool // transactions may be evicted, or are traced, or it is strict
	threshold uint64
	pool      *statePool
	works     sync.Pool // of *txWork[K, V], for parts
	favour    *favour.Queue
	watches   *watches
	// A map by itself has a shared of its own, and no database.
	shared  *shared
	db      *DB
	ordinal int           // counts the tables of the database
	tagged  bool          // hashes are told from those of other tables, see claimHash
	closed  atomic.Bool   // taken out of the database
	since   epoch.Epoch   // nothing was committed up to there
	until   atomic.Uint64 // at this epoch, see T2
	inner   bool          // it is a table of an index,
	dropped atomic.Bool   // which nobody writes any more
}

// rarely is what few maps have: its type depends on those of the map, and is hidden, so that
// what refers to it is compiled once.
type rarely struct{ _ byte }

// core returns what the engine knows of the map.
func (m *Map[K, V]) core() *core { return (*core)(&m.coreFields) }

// New returns an empty map. opts may be nil: the defaults are right for most.
// New panics if an option has no meaning.
//
// A map that is in use has background goroutines, which [Map.Close] ends. They also
// end when the map has become unreachable, unless a value stored in the map refers
// to the map itself.
func New[K comparable, V any](opts *Options) *Map[K, V] {
	return newAlone[K, V](opts, nil)
}

func newAlone[K comparable, V any](opts *Options, by order[K]) *Map[K, V] {
	o := opts.withDefaults()
	s := newShared(&o)
	if s.strict != nil && by != nil {
		by = by.strictly(s.strict)
	}
	m := makeMap[K, V](s, &o, "", indexFor[K, V](o.Capacity), by)
	runtime.AddCleanup(m, (*collector).Stop, s.gc)
	return m
}

// makeMap returns a map that is a member of s. x is nil for one that has no keys.
func makeMap[K comparable, V any](
	s *shared, o *Options, name string, x *index, by order[K],
) *Map[K, V] {
	c := &core{
		index:      x,
		slots:      s.slots,
		counters:   &counters{commonCounters: &s.counters, name: name, keys: xsync.NewCounter()},
		member:     &member{},
		perVersion: allocated(unsafe.Sizeof(version[K, V]{})),
	}
	if by != nil {
		c.drops = by
	}
	m := &Map[K, V]{
		coreFields: coreFields(*c),
		order:      by,
		gc:         s.gc,
		views:      s.views,
		level:      o.Isolation,
		tracePins:  o.TracePins,
		guarded:    o.TracePins || o.MaxTxAge > 0 || o.Strict,
		strict:     o.Strict,
		plain:      reflexive(reflect.TypeFor[K]()) && !o.Strict,
		threshold:  uint64(o.PruneThreshold),
		pool:       newStatePool(),
		favour:     &s.favour,
		watches:    &s.watches,
		shared:     s,
	}
	c.member.keeper = c
	c.member.old, c.member.last = waiter{c.member, false}, waiter{c.member, true}
	// The background work holds the member, not the map.
	lasting := weak.Make(m)
	c.member.trim = func() bool {
		m := lasting.Value()
		return m != nil && m.pool.trim(m.slots)
	}
	c.member.expirer = func() expirer {
		if m := lasting.Value(); m != nil && m.expiry() != nil {
			return m
		}
		return nil
	}
	if x != nil {
		x.visit = func(b *bucket) { s.gc.Offer(c.item(b)) }
		x.spawn, x.wake = s.gc.Go, s.gc.Wake
	}
	s.add(c.member)
	return m
}

// Close of a map by itself ends its background goroutines and waits for them, and for
// Options.Logger if it is just being told something: that must not call Close. The
// map stays usable, with everything in it; from then on committers prune the keys they
// write. Close may be called more than once, by any goroutine.
//
// Close of a table takes it out of its database, whose goroutines stay, see [DB.Close]: the name is
// free, and [Map.In] and [Map.At] panic; transactions that have called In before go on. If the
// database is watched it waits until what was committed is handed on, else for nothing. By itself
// the table stays usable, and its memory goes when nobody refers to it any more: a snapshot of the
// database that was opened before still saves it, see [DB.Save]. With [Options.Retain] it stays
// until that time has passed and another table is made or closed.
func (m *Map[K, V]) Close() {
	m.check()
	m.endExpiry()
	if m.db != nil {
		m.drop()
		m.leaveAll()
		if s := m.schema.Load(); s != nil {
			for _, ix := range s.indexes {
				ix.close()
			}
		}
		m.endExpiry() // once more: Expire may have come between
		return
	}
	m.gc.Close()
	m.endExpiry()
}

// check panics for a zero Map.
func (m *Map[K, V]) check() {
	if m.gc == nil {
		panic(errZeroMap)
	}
}

// String names the types and says how many keys there are, and the newest epoch.
func (m *Map[K, V]) String() string {
	if m == nil || m.gc == nil {
		return fmt.Sprintf("%T without mvcc.New", m)
	}
	return fmt.Sprintf("%T: epoch %d, keys: %d", m, m.Epoch(), m.Len())
}

// GoString returns the same as String: %#v does not print what the map is made of.
func (m *Map[K, V]) GoString() string { return m.String() }

// Reclaim does, in the calling goroutine, all the background work that there is when it is called:
// it evicts transactions older than Options.MaxTxAge, and drops every version that nobody could see
// any more when it was called, except for what other goroutines have in hand. A map with
// Options.ManualReclaim relies on a program that calls it now and then; with any other map it is
// harmless, and gives the memory back at once, say after a large deletion. It returns ctx's error
// if ctx ends before all is done; the rest stays for the next time. It may be called by any number
// of goroutines at once, takes as long as there is something to drop, and waits for no transaction.
func (m *Map[K, V]) Reclaim(ctx context.Context) error {
	m.check()
	checkContext("Reclaim", ctx)
	if err := m.shared.expireNow(ctx); err != nil {
		return err
	}
	return m.gc.Reclaim(ctx)
}

// badKey reports whether key is not equal to itself. Such a key can never be
// found again. It panics if a strict map must not be used so.
func (m *Map[K, V]) badKey(u use, key K) bool {
	return !m.plain && (m.strict && m.beside(u) || key != key)
}

// checkKey panics for a bad key.
func (m *Map[K, V]) checkKey(u use, key K) {
	if !m.plain { // alone, so that this is inlined
		m.checkOdd(u, key)
	}
}

//go:noinline
func (m *Map[K, V]) checkOdd(u use, key K) {
	if m.badKey(u, key) {
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
		for i := range t.NumField() {
			if !reflexive(t.Field(i).Type) {
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

// claimHash returns what a key with hash h is called where the tables of a database have
// something in common: claims, watches and suspects.
func (m *Map[K, V]) claimHash(h uint64) uint64 {
	if !m.tagged {
		return h
	}
	return favour.Tagged(h, uint16(m.ordinal))
}
