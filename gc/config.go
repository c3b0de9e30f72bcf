package gc

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/invariant"
)

// Defaults of [Config].
const (
	DefaultInterval = 100 * time.Millisecond
	DefaultQueue    = 16384
	DefaultWarnAge  = time.Minute
)

// An Item is what can be handed over for pruning: a key of a map. Its mark
// belongs to the reclaimer; it starts at zero.
type Item interface {
	comparable
	Mark() *Mark
}

// A Mark says where an item stands. It makes sure that an item is queued once,
// and set aside once for its tombstone and once for a newer view.
type Mark struct{ bits atomic.Uint32 }

const (
	markQueued = 1 << iota
	markTombstone
	markLeft
)

// Queued reports whether the item waits in the queue. A committer asks this on
// its hot path; it is one atomic load.
func (m *Mark) Queued() bool { return m.bits.Load()&markQueued != 0 }

func (m *Mark) set(bit uint32) bool { return m.bits.Or(bit)&bit == 0 }
func (m *Mark) unset(bit uint32) {
	was := m.bits.And(^bit)
	if invariant.Enabled {
		m.check(was, bit)
	}
}

// A Visit is what one look at an item has found out; Prune fills it in.
type Visit[V comparable] struct {
	// Waits has what has to wait.
	Waits []Wait[V]
	// Left says that versions above the bound of the view are left, which a
	// newer view may allow to drop.
	Left bool
}

// A Wait says that something is kept until a read epoch ends.
type Wait[V comparable] struct {
	// Epoch is that read epoch: live in the view, and the newest one for which
	// the version is kept.
	Epoch uint64
	// Version is an old version, or zero: the item itself, of which nothing is
	// left but a tombstone, is kept.
	Version V
}

// Config configures a [Reclaimer].
type Config[E Item, V comparable] struct {
	// Slots is the clock and the slots of the map.
	Slots *epoch.Slots
	// Interval is how often the view is made anew; 0 means [DefaultInterval].
	Interval time.Duration
	// Workers is how many goroutines drain the queue. With 0 there is no
	// queue: Offer returns false, and the committer prunes.
	Workers int
	// Queue is how many items may wait; 0 means [DefaultQueue].
	Queue int
	// Manual means that there are no goroutines at all: what they do is done
	// by [Reclaimer.Reclaim]. Workers then only says whether there is a queue.
	Manual bool
	// MaxAge is after how long a transaction is evicted; 0 means never. Ages
	// count from the first pass that sees the transaction.
	MaxAge time.Duration
	// Logger is told, once each, of transactions that have been seen for
	// WarnAge, and of those that are evicted; nil means nobody is. WarnAge 0
	// means [DefaultWarnAge].
	Logger  *slog.Logger
	WarnAge time.Duration
	// Prune drops what view allows to drop of item, and says in visit what has
	// to wait: old versions that are not marked as waiting, which it marks, after
	// it has linked to them; and a tombstone, each time. It is called by several
	// goroutines at once, also for the same item. It must not block.
	Prune func(item E, view *View, visit *Visit[V])
	// Release takes off the mark of an old version whose wait is over. Prune is
	// called afterwards: whoever has relied on the mark had linked to the version
	// before, so Prune finds it.
	Release func(version V)
	// CaughtUp, if not nil, is called when a pass has emptied the queue and
	// visited everything that is due, with the number of old versions that are
	// kept until a read epoch ends. It reports whether it is satisfied: otherwise
	// the ticker does not stop yet.
	CaughtUp func(kept int) (satisfied bool)
	// Trim, if not nil, is called by each pass, to let go of what is kept for
	// later use and has not been used for a while. It reports whether there is
	// more: then the ticker does not stop yet.
	Trim func() (more bool)
	_    struct{}
}
