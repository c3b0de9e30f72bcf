package gc

import (
	"log/slog"
	"time"
	"unsafe"

	"github.com/mvccmap/mvccmap/epoch"
)

// Defaults of [Config].
const (
	DefaultInterval = 100 * time.Millisecond
	DefaultQueue    = 16384
	DefaultWarnAge  = time.Minute
)

// An Item is a bucket of the keys of a map, to be visited, or an old version that waits: the caller
// gives the pointers a meaning. Item is no type parameter, which would put its fields into the name
// of every function, in each profile of a program.
type Item struct{ Of, Thing unsafe.Pointer }

// Found is the result of visits to some items; [Config].Visit adds to it.
type Found struct {
	// Again has the items to be visited again at the next tick, since they have versions above the
	// bound of the view.
	Again []Item
	// Later has the items to be visited again in two ticks, since they have versions kept for read
	// epochs that are not old. By then most of these epochs have ended, and the others are old.
	Later []Item
	// Waits has the versions kept for old read epochs that did not wait before.
	Waits []Wait
	// Gone counts items that are gone for good. They do not count against the share of a tick:
	// there may be any number of them.
	Gone int
	// Alone says that the visitor is a committer, which must not wait for a lock: then an item goes
	// to Later in place of Waits.
	Alone bool
}

// A Wait says that something is kept until a read epoch ends.
type Wait struct {
	// Epoch is that read epoch: an old one of the view, the newest one that needs the thing.
	Epoch epoch.Epoch
	// Writers says that the thing is kept until no transaction that may write reads at or below
	// Epoch. Then Epoch is the view's Writers, which is an old epoch.
	Writers bool
	// What is the thing kept.
	What Item
}

func (f *Found) reset() {
	clear(f.Again)
	clear(f.Later)
	clear(f.Waits)
	*f = Found{Again: f.Again[:0], Later: f.Later[:0], Waits: f.Waits[:0], Alone: f.Alone}
}

// Config configures a [Reclaimer].
type Config struct {
	// Slots is the clock and the slots of the map.
	Slots *epoch.Slots
	// Interval is how often the view is made anew; 0 means [DefaultInterval].
	Interval time.Duration
	// Workers is how many goroutines visit the items at a tick. With 0 or fewer committers visit
	// them, and a tick visits the rest.
	Workers int
	// Queue is how many items may wait in the queue; 0 means [DefaultQueue].
	Queue int
	// Manual means that there are no goroutines at all: [Reclaimer.Reclaim] does
	// their work.
	Manual bool
	// MaxAge is after how long a transaction is evicted; 0 means never. Ages
	// count from the first round that sees the transaction.
	MaxAge time.Duration
	// Retain is for how long the newest versions are not dropped, so that a transaction may begin
	// as of an epoch of that time; 0 means that the bound of a view is the clock.
	Retain time.Duration
	// Logger is told, once each, of transactions that have been seen for WarnAge, and of those that
	// are evicted; nil means no messages. WarnAge 0 means [DefaultWarnAge].
	Logger  *slog.Logger
	WarnAge time.Duration
	// Inner reports whether the calls of a file, up to the first call of another file, are left out
	// of the place where a transaction is said to have begun; nil means that no file's are.
	Inner func(file string) bool
	// Visit takes the mark off each item, drops its versions that nobody of the view needs, and
	// adds the remaining work to found. If it puts an item in Again or Later it sets the mark; it
	// leaves out an item whose mark is set already. Several goroutines call it at once, also for
	// the same item. It must not block.
	Visit func(items []Item, view *View, found *Found)
	// Surplus returns how many versions an item has, without the newest version and those that
	// wait. Stats calls it for some of the items.
	Surplus func(item Item) int
	// Due ends waits. Each may be a reason to visit an item again: Due sets the mark of the item
	// and appends the item to items, unless the mark is set.
	Due func(waits []Item, items []Item) []Item
	// Stale reports whether something that waits for the transactions that may write and read below
	// it need not be kept any more. If so, Stale takes its mark off. Stale is called when twice as
	// many such waits exist as were left the last time.
	Stale func(what Item) bool
	// Trim, if not nil, is called by each tick, to let go of memory kept for
	// later use and not used for a while. It reports whether there is
	// more: then the ticker does not stop yet.
	Trim func() (more bool)
	// Tend, if not nil, is called by each tick before it gathers its items, and by Reclaim until
	// there is no more to do: it does a part of some other work, and reports whether there is more.
	Tend func() (more bool)
	_    struct{}
}
