// Package hooks names the points of the protocol at which a test may stop a
// goroutine. In ordinary builds [Enabled] is the constant false and every call
// disappears; with the build tag mvcccheck a test installs a function that is
// called at each point, and may block there for any time.
//
// Finer than the points are the accesses to shared words: those of package
// internal/debug/hooks/atomic, and of the index, are announced one by one to a
// [Scheduler], which runs its goroutines in an order of its own choice.
package hooks

// A Point is a place between two atomic steps of the protocol.
type Point uint8

// The points, in the order in which a transaction meets them.
const (
	// BeginLoaded: the clock was loaded, the slot not yet stored.
	BeginLoaded Point = iota
	// BeginStored: the slot was stored, the bound not yet checked.
	BeginStored
	// CommitEntries: an attempt to commit begins, nothing is installed.
	CommitEntries
	// Installed: one more pending version heads its chain.
	Installed
	// InstalledAll: every pending version is installed, none announced.
	InstalledAll
	// JustAnnounced: the record of a transaction with several keys says announced, and the owner of
	// the record has not looked at it again.
	JustAnnounced
	// Announced: the owner has found the record announced, no epoch is drawn.
	Announced
	// Drawn: the commit epoch is drawn, not yet in the record.
	Drawn
	// Tentative: the record carries the epoch, validation has not begun.
	Tentative
	// Validated: every read is valid, the commit is not yet published.
	Validated
	// Published: the transaction is committed, its versions still say so
	// only through the record.
	Published
	// Finalized: every version carries its own epoch.
	Finalized
	// StoreInstalled: a one-key write heads its chain, announced.
	StoreInstalled
	// Computed: the value of a write is made of the newest one, and nothing is installed.
	Computed
	// StoreDrawn: a one-key write has drawn its epoch.
	StoreDrawn
	// Revoked: a reader has taken an epoch away, none is drawn anew.
	Revoked
	// Told: alarms, feeds and expiry were told of all that is installed, no epoch is drawn.
	Told
	// SchemaAnnounced: a table has a new index, nothing is in it yet.
	SchemaAnnounced
	// HelpTold: a helper has told them, no epoch is drawn.
	HelpTold
	// HelpDrawn: a helper has drawn an epoch, which is not in the record.
	HelpDrawn
	// AlarmListed: the alarm is in the list, the clock is not noted.
	AlarmListed
	// AlarmClean: a transaction with an alarm has found that it may commit.
	AlarmClean
	// HeadSkipped: a slot-less load or a validator is about to pass over an undecided
	// head, or to decide for it.
	HeadSkipped
	// GetWalked: a transactional read has its result, and has not yet
	// checked its generation again.
	GetWalked
	// HistoryStep: History has found one revision, and looks for the one before.
	HistoryStep
	// TimesStep: TimesOf has searched the times of some epochs, and lets a refresh pass.
	TimesStep
	// BoundLoaded: a refresh has read the clock, the bound is not stored.
	BoundLoaded
	// BoundStored: a refresh has stored the bound, no slot was scanned.
	BoundStored
	// SlotsScanned: a refresh has scanned the slots, the view is not stored.
	SlotsScanned
	// Dequeued: a worker took an entry off the queue, it may be queued again.
	Dequeued
	// PruneFound: a pruner has chosen where to cut, nothing is cut.
	PruneFound
	// PruneWalked: a pruner has found the versions to drop and the one to link to, the
	// link is not changed.
	PruneWalked
	// StateLoaded: the state of a version says indirect, and the record that decides about the
	// version is not loaded yet.
	StateLoaded
	// TagsLoaded: a lookup that has to look beyond the first bucket has loaded the tags again, and
	// has looked at no cell yet.
	TagsLoaded
	// VisitsLoaded: a visitor has loaded which visits are asked for, and the heads, and has not
	// cleared the bits of these visits yet.
	VisitsLoaded
	// InsertLooked: an insert has looked for the key without the lock of the bucket.
	InsertLooked
	// InsertLocked: an insert has locked the bucket and is about to fill a cell.
	InsertLocked
	// CellTagged: a cell has the tag of a new key, and no head yet. The bucket is locked.
	CellTagged
	// RemoveLocked: the bucket of a key is locked that is to be removed.
	RemoveLocked
	// RemoveEmptied: the cell of a key that is being removed is empty, its tag is still there.
	// The bucket is locked.
	RemoveEmptied
	// Gone: a key has left the index. The bucket is not locked any more.
	Gone
	// CellFilled: a cell is moved, and there in the next table, not yet marked in the
	// old one. The bucket is locked.
	CellFilled
	// CellsMoved: all cells of a bucket are marked, and the bucket does not say yet that it has
	// moved. The bucket is locked.
	CellsMoved
	// LeavesFilled: the new leaves that are to replace an old leaf are filled, and the old leaf
	// does not know them yet. The old leaf is locked.
	LeavesFilled
	// LeafReplaced: a leaf was replaced and says so, its parent does not know. It is not locked any more.
	LeafReplaced
	// ParentKnows: an inner node has the leaves that have replaced one, which still knows them too.
	ParentKnows
	// BucketMoved: a bucket has moved. It is not locked any more.
	BucketMoved
	// TableReplaced: a table that has moved as a whole is no longer the present table, and still
	// knows its next table.
	TableReplaced
	// Parking: the ticker said that it parks, the queue is not yet re-checked.
	Parking
	// RoundSet: the timer of a hub is set for the next round, the hub is not idle yet.
	RoundSet
	// Spawned: a goroutine was started beside the ticker, the lock is not let go.
	Spawned
	// Swept: the noted records that expire were looked at, the records are not deleted.
	Swept
	// PastBegun: a snapshot of the past of a database has begun, it has no list of tables.
	PastBegun
	// Points is the number of points.
	Points
)

var names = [...]string{
	"BeginLoaded", "BeginStored", "CommitEntries", "Installed", "InstalledAll", "JustAnnounced",
	"Announced", "Drawn", "Tentative", "Validated", "Published", "Finalized", "StoreInstalled",
	"Computed", "StoreDrawn", "Revoked", "Told", "SchemaAnnounced", "HelpTold", "HelpDrawn",
	"AlarmListed", "AlarmClean", "HeadSkipped", "GetWalked", "HistoryStep", "TimesStep",
	"BoundLoaded", "BoundStored", "SlotsScanned", "Dequeued", "PruneFound", "PruneWalked",
	"StateLoaded", "TagsLoaded", "VisitsLoaded", "InsertLooked", "InsertLocked", "CellTagged",
	"RemoveLocked", "RemoveEmptied", "Gone", "CellFilled", "CellsMoved", "LeavesFilled",
	"LeafReplaced", "ParentKnows", "BucketMoved", "TableReplaced", "Parking", "RoundSet", "Spawned",
	"Swept", "PastBegun",
}

// Each point has a name.
var _ [Points]struct{} = [len(names)]struct{}{}

// String returns the name of the point.
func (p Point) String() string {
	if p < Points {
		return names[p]
	}
	return "unknown"
}
