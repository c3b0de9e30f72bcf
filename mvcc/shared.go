package mvcc

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/gc"
	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
	"github.com/mvccmap/mvccmap/internal/engine/index"
)

// shared is the common part of the maps of a database: the clock and the slots, the reclaimer, the
// claims and the alarms. A map by itself has a shared of its own. A shared knows its maps as
// members, and so does not keep them reachable.
type shared struct {
	slots      *epoch.Slots
	gc         *gc.Reclaimer
	favour     favour.Queue
	alarms     alarms
	hub        hub
	counters   commonCounters
	kept       kept
	past       past
	strict     *strict // or nil
	expiryHold expiryHold
	logger     *slog.Logger // see Options.Logger
	observe    func(Attempt)
	around     func(ctx context.Context, tx, table string) (inside context.Context, after func())
	// members are the maps there are; the list is never changed.
	members atomic.Pointer[[]*member]
	// gone has the counts of tables that are gone, and how many keys they had.
	gone struct {
		sync.Mutex
		conflicts [ConflictWrite + 1]uint64
		entries   int
	}
}

func newShared(o *Options) *shared {
	s := &shared{slots: epoch.NewSlots(), strict: newStrict(o), logger: o.Logger, observe: o.Observe,
		around: o.Around}
	s.members.Store(new([]*member))
	s.hub.slots, s.hub.strict = s.slots, s.strict
	if s.strict != nil {
		s.favour.AlwaysAny() // see stored.go
	}
	s.gc = gc.NewReclaimer(gc.Config{
		Slots:    s.slots,
		Interval: o.ReclaimInterval,
		Workers:  o.ReclaimWorkers,
		Queue:    o.ReclaimQueue,
		Manual:   o.ManualReclaim,
		MaxAge:   o.MaxTxAge,
		Retain:   o.Retain,
		Logger:   o.Logger,
		WarnAge:  o.PinWarnAge,
		Inner:    isInner,
		Visit:    visitAll,
		Due:      dueAll,
		Surplus:  func(i gc.Item) int { return (*member)(i.Of).surplus((*index.Bucket)(i.Thing)) },
		Stale:    func(i gc.Item) bool { return (*waiter)(i.Of).stale((*chain.Node)(i.Thing)) },
		Trim: func() bool {
			more := s.each((*member).trim)
			s.eachExpiring(func(c *core) { more = c.expires() || more })
			return more
		},
		Tend: func() bool {
			s.eachExpiring((*core).expireDue)
			return s.each(func(m *member) bool { return m.tend() })
		},
	})
	return s
}

// eachExpiring calls f for each map with records that expire, if it is reachable.
func (s *shared) eachExpiring(f func(c *core)) {
	s.each(func(m *member) bool {
		if c := m.of.Value(); c != nil && c.expiry() != nil {
			f(c)
		}
		return false
	})
}

// expireNow deletes all records whose time has come, unless ctx ends.
func (s *shared) expireNow(ctx context.Context) (err error) {
	s.gc.Within(func() {
		s.eachExpiring(func(c *core) {
			if err == nil {
				err = c.expireNow(ctx)
			}
		})
	})
	return err
}

// checkStored fails if a value in one of the maps was changed.
func (s *shared) checkStored() {
	var maps []*core
	s.each(func(m *member) bool {
		if c := m.of.Value(); c != nil {
			maps = append(maps, c)
		}
		return false
	})
	checkStored(s.strict, maps...)
}

// each calls f for each map, and reports whether one of the calls has returned true.
func (s *shared) each(f func(m *member) bool) (any bool) {
	for _, m := range *s.members.Load() {
		any = f(m) || any
	}
	return any
}

// drop takes a map out, but its items are still visited.
func (s *shared) drop(m *member) {
	last := m.sizes()
	s.gone.Lock()
	defer s.gone.Unlock()
	s.gone.entries += last.entries
	for kind, n := range last.conflicts {
		s.gone.conflicts[kind] += n
	}
	s.change(func(list []*member) []*member {
		return slices.DeleteFunc(list, func(o *member) bool { return o == m })
	})
}

func (s *shared) change(f func([]*member) []*member) {
	for {
		old := s.members.Load()
		list := f(slices.Clone(*old))
		if s.members.CompareAndSwap(old, &list) {
			return
		}
	}
}
