package mvcc

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/favour"
	hooked "github.com/mvccmap/mvccmap/internal/hooks/atomic"
)

// A core is a [Map] without its types, or the map of the states that lead, see part, which has no
// keys. All that does not need the types is done by a core, and is compiled once.
//
// Its fields are a type of their own, which has no methods: those would be compiled for each
// type of map.
type core coreFields

type coreFields struct {
	// All fields but schema, feedAt, expiryAt and dropped are set when the map is made, and never
	// change, except for what they point to.

	index      *index
	drops      drops // of the order, nil if the keys have none
	slots      *epoch.Slots
	counters   *counters
	member     *member // what the background work knows the map by
	perVersion uint64  // the bytes of a version

	// What the background work has is a core of its own, with what is above alone: so it does not
	// keep the map reachable.

	types recordType
	order order // nil if the keys have none
	// schema is compared by writers that put a version where it is seen, see
	// X2.
	schema    atomic.Pointer[schema]
	feedAt    hooked.Pointer[feedHead]
	expiryAt  hooked.Pointer[expiryHead]
	gc        *collector
	views     views // of gc
	level     Level
	plain     bool // k == k for every key, and not strict
	strict    bool // see Options.Strict: shared.strict is there
	tracePins bool
	guarded   bool // transactions may be evicted, or are traced, or it is strict
	threshold uint64
	pool      *statePool
	works     sync.Pool // of *txWork, for parts
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

// A recordType is what has to be compiled for each type of records, beside a keyType.
type recordType struct {
	clone    func(v *node) *node // returns a private version with the key and value of v
	absences func() keyList
}

func clone[K comparable, V any](v *node) *node { return newNode(keyOf[K](v), valueOf[K, V](v)) }

func newAbsences[K comparable]() keyList { return &absences[K]{} }

// begins makes the core one of a member of s, with an index x, nil if there are no keys. What
// depends on types is set.
func (c *core) begins(s *shared, o *Options, name string, x *index, by order) {
	c.index, c.order, c.slots = x, by, s.slots
	c.counters = &counters{commonCounters: &s.counters, name: name, keys: xsync.NewCounter()}
	c.member = &member{}
	if by != nil {
		c.drops = by
	}
	c.gc, c.views, c.shared, c.favour, c.watches = s.gc, s.views, s, &s.favour, &s.watches
	c.level, c.strict, c.tracePins = o.Isolation, o.Strict, o.TracePins
	c.guarded = o.TracePins || o.MaxTxAge > 0 || o.Strict
	c.threshold = uint64(o.PruneThreshold)
	c.pool = &statePool{}

	own := &core{index: x, drops: c.drops, slots: c.slots, counters: c.counters, member: c.member,
		perVersion: c.perVersion}
	m := c.member
	m.keeper = own
	m.old, m.last = waiter{m, false}, waiter{m, true}
	lasting := weak.Make(c)
	m.trim = func() bool {
		c := lasting.Value()
		return c != nil && c.pool.Trim(func(st *txState) { c.slots.Release(st.slot) })
	}
	m.expirer = func() expirer {
		if c := lasting.Value(); c != nil {
			if x := c.expiryAt.Load(); x != nil {
				return x.of
			}
		}
		return nil
	}
	if x != nil {
		x.visit = func(b *bucket) { s.gc.Offer(own.item(b)) }
		x.spawn, x.wake = s.gc.Go, s.gc.Wake
	}
	s.add(m)
}

// check panics for a zero Map.
func (c *core) check() {
	if c.gc == nil {
		panic(errZeroMap)
	}
}

// claimHash returns what a key with hash h is called where the tables of a database have
// something in common: claims, watches and suspects.
func (c *core) claimHash(h uint64) uint64 {
	if !c.tagged {
		return h
	}
	return favour.Tagged(h, uint16(c.ordinal))
}

// reclaim is [Map.Reclaim].
func (c *core) reclaim(ctx context.Context) error {
	c.check()
	checkContext("Reclaim", ctx)
	if err := c.shared.expireNow(ctx); err != nil {
		return err
	}
	return c.gc.Reclaim(ctx)
}

// clearing commits what all does in a transaction.
func (c *core) clearing(all func(tx DBTx) error) error {
	b := bid{ctx: background, began: time.Now(), patient: clearTenure}
	defer b.end()
	var conflict conflict
	ok, err := c.attempt(LevelSerializable, &b, all, &conflict)
	if !ok && err == nil {
		err = c.retry(LevelSerializable, math.MaxInt, &b, &conflict, all)
	}
	return err
}

const clearTenure = 10 * time.Second
