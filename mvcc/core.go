package mvcc

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
	"weak"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	hooked "github.com/mvccmap/mvccmap/internal/debug/hooks/atomic"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/index"
	"github.com/mvccmap/mvccmap/internal/seam"
)

// A core is a [Map] without its types, or the root of a database, which begins its transactions and
// has no keys. All that does not need the types is done by a core, and is compiled once.
type core struct {
	// All fields but schema, feedAt, expiryAt, onExpire and the atomic ones are set when the map is
	// made, and never change, except for the data that they point to.

	chains
	chain.Decider
	plain  bool // k == k for every key, and not strict
	strict bool // see Options.Strict: shared.strict is there
	// apart: an Update is strict, observed, or in an Around; or somebody looks, see noteLoss.
	apart atomic.Bool
	// watched: it is strict, and its values lead to memory that can be changed, see stored.go.
	watched bool

	types *recordType
	typed any // the *Map
	// sequences are the records of Sequences, if there are any.
	sequences atomic.Pointer[sequences]
	order     *order // nil if the keys have none
	// Writers compare schema when they put a version where others see it, see X2.
	schema    atomic.Pointer[schema]
	feedAt    hooked.Pointer[feed]
	expiryAt  hooked.Pointer[expiry]
	onExpire  atomic.Pointer[onExpire]
	gc        *gc.Reclaimer
	views     *hooked.Pointer[gc.View] // of the reclaimer
	level     Level
	tracePins bool
	guarded   bool // transactions may be evicted, or are traced, or it is strict
	threshold uint64
	// pool has the idle states. The pool of a root is replaced when a table is closed, see give.
	pool   atomic.Pointer[statePool]
	favour *favour.Queue
	alarms *alarms
	// A map by itself has a shared of its own, and no database.
	shared  *shared
	db      *DB
	ordinal int           // counts the tables of the database
	tagged  bool          // hashes are told from those of other tables, see claimHash
	closed  atomic.Bool   // taken out of the database
	since   epoch.Epoch   // nothing was committed up to this epoch
	until   atomic.Uint64 // the epoch of closing, see D2
	used    atomic.Bool   // states of the root have parts in it
	inner   bool          // it is a table of an index
	dropped atomic.Bool   // the index could not be made
}

// A recordType has the code that is compiled for each type of records, beside a keyType.
type recordType struct {
	key, value reflect.Type
	plain      bool   // k == k for every key
	size       uint64 // of a version, as it is allocated
	index      func(capacity int) *index.Index
	// clone returns a private version with the key and value of v. tombstone returns a private
	// version that deletes the key at key.
	clone     func(v *chain.Node) *chain.Node
	tombstone func(key unsafe.Pointer) *chain.Node
	// keep returns a copy of the key at key with strings of its own.
	keep     func(key unsafe.Pointer) unsafe.Pointer
	absences func() keyList
	// The fields below are nil for a table of an index. typed returns a new Map.
	typed   func(e *engine, x *index.Index, plain, unguarded bool) any
	changes func(list []dated[succession]) (part func(from, to int) any)
	// changed returns a version with the key and the new value of element i of a []Change, and
	// whether it has a new value.
	changed func(changes any, i int) (v *chain.Node, has bool)
	diff    func(newer, older moment) (changes any, n int)
	boxes   func() *seam.Boxes
	loader  func(of *engine) seam.Loader
}

func recordTypeOf[K comparable, V any]() *recordType {
	t := innerTypeOf[K, V]()
	t.typed = func(e *engine, x *index.Index, plain, unguarded bool) any {
		return &Map[K, V]{index: x, plain: plain, unguarded: unguarded, at: e}
	}
	t.changes, t.diff, t.loader = changesOf[K, V], diff[K, V], newLoader[K, V]
	t.changed, t.boxes = changedTo[K, V], boxesFor[K, V]
	return t
}

// innerTypeOf is recordTypeOf for the table of an index, which no program sees.
func innerTypeOf[K comparable, V any]() *recordType {
	owner := newOwner[K]()
	return &recordType{
		key:       hasher.TypeOf((*K)(nil)),
		value:     hasher.TypeOf((*V)(nil)),
		plain:     reflexive(hasher.TypeOf((*K)(nil))),
		size:      allocated(unsafe.Sizeof(chain.Version[K, V]{})),
		index:     index.For[K, V],
		clone:     chain.Clone[K, V],
		tombstone: func(key unsafe.Pointer) *chain.Node { return tombstoneOf[K, V](*(*K)(key)) },
		keep: func(key unsafe.Pointer) unsafe.Pointer {
			own := owner.own(*(*K)(key))
			return unsafe.Pointer(&own)
		},
		absences: func() keyList { return &absences[K]{} },
	}
}

// newAlone returns a map by itself, a *Map.
//
//go:noinline
func newAlone(opts *Options, by *order, types *recordType) any {
	o := opts.withDefaults()
	s := newShared(&o)
	c := newCore(s, &o, "", types.index(o.roomFor(by)), by, types)
	runtime.AddCleanup(c, (*gc.Reclaimer).Stop, s.gc)
	s.isMade(c)
	return c.typed
}

// newCore returns a map that is a member of s; x and types are nil if there are no keys.
func newCore(
	s *shared, o *Options, name string, x *index.Index, by *order, types *recordType,
) *core {
	if by != nil {
		if o.Strict {
			by = by.strictly(s.strict, &x.Hash)
		}
		x.InOrder(by.Order, types.size, types.keep)
	}
	c := &core{types: types, order: by, level: o.Isolation, strict: o.Strict,
		tracePins: o.TracePins, guarded: o.TracePins || o.MaxTxAge > 0 || o.Strict,
		threshold: uint64(o.PruneThreshold), gc: s.gc, views: s.gc.Views(), shared: s,
		favour: &s.favour, alarms: &s.alarms}
	c.pool.Store(&statePool{})
	c.apart.Store(c.setApart())
	own := &chains{index: x, Resolver: chain.Resolver{Slots: s.slots},
		member: &member{of: weak.Make(c)},
		counters: &counters{commonCounters: &s.counters, name: name, keys: xsync.NewCounter(),
			inner: types != nil && types.typed == nil}}
	if x != nil {
		own.Keys = &x.Hash
	}
	if types != nil {
		own.perVersion, c.plain = types.size, types.plain && !o.Strict
		c.watched = o.Strict && leadsOn(types.value)
		if types.typed != nil {
			c.typed = types.typed(hide(c), x, c.plain, !c.guarded)
		}
		x.Visit = func(b *index.Bucket) { s.gc.Offer(own.item(b)) }
		x.Spawn, x.Wake = s.gc.Go, s.gc.Wake
	}
	c.chains = *own
	c.Decider = chain.Decider{Of: &c.Resolver, Counts: &s.counters.Counts, Tell: c.tellHelping}
	m := own.member
	m.chains, m.old, m.last = own, waiter{m, false}, waiter{m, true}
	s.change(func(list []*member) []*member { return append(list, m) })
	return c
}

// claimHash returns the hash that a key with hash h has in claims and alarms. The tables of a
// database share claims and alarms.
func (m *core) claimHash(h uint64) uint64 {
	if !m.tagged {
		return h
	}
	return favour.Tagged(h, uint16(m.ordinal))
}

// reclaim is [Map.Reclaim].
func (m *core) reclaim(ctx context.Context) error {
	checkContext("Reclaim", ctx)
	m.gc.Outside("Reclaim")
	if err := m.shared.expireNow(ctx); err != nil {
		return err
	}
	return m.gc.Reclaim(ctx)
}

// clearingAll runs all in a transaction of the map, and commits it. It panics if this fails.
func (m *core) clearingAll(all func(tx DBTx)) {
	err := m.clearing(func(tx DBTx) error {
		all(tx)
		return nil
	})
	if err == errIndexed {
		err = dbAt(m.db).root.clearing(func(tx DBTx) error {
			all(m.inside(tx))
			return nil
		})
	}
	if err != nil {
		panic(err)
	}
}

// clearing runs all in a transaction, and commits it.
func (m *core) clearing(all func(tx DBTx) error) error {
	b := bid{ctx: background, began: time.Now(), long: true, kind: forCall}
	defer b.end()
	var conflict conflict
	ok, err := m.attempt(LevelSerializable, &b, all, &conflict)
	if !ok && err == nil {
		err = m.retry(LevelSerializable, math.MaxInt, &b, &conflict, all)
	}
	return err
}

// close is [Map.Close].
func (m *core) close() {
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
		checkStored(m.shared.strict, m)
		return
	}
	m.gc.Outside("Close")
	m.shared.strict.close()
	m.gc.Close()
	m.endExpiry()
	checkStored(m.shared.strict, m)
}
