package commit

// Fault is a set of deliberate mistakes in the protocol.
type Fault uint64

// The mistakes. Each, but the [Harmless], must be found in some scenario.
const (
	// LoadSkipsTentative: a load skips a tentative head even when its epoch is
	// not above the clock at the load's entry.
	LoadSkipsTentative Fault = 1 << iota
	// LoadSkipsAnnounced: a load skips an announced head instead of deciding it.
	LoadSkipsAnnounced
	// LoadKeepsSkipped: a load does not look at a skipped head again after
	// reading the version below it.
	LoadKeepsSkipped
	// ReadSkipsAnnounced: a transaction's read skips an announced head.
	ReadSkipsAnnounced
	// ReadWaits: a transaction's read waits for a tentative head to be decided.
	ReadWaits
	// NoFloor: a revoked version does not remember the epoch it has lost.
	NoFloor
	// DrawFirst: the epoch is drawn before the version is announced.
	DrawFirst
	// ValidateFirst: reads are validated before the epoch is drawn.
	ValidateFirst
	// ValidateSkipsAnnounced: validation skips an announced head.
	ValidateSkipsAnnounced
	// ValidateSkipsNewer: validation accepts a committed version newer than the
	// transaction's epoch and goes on to the one below it.
	ValidateSkipsNewer
	// ValidateKeepsSkipped: validation does not look at a skipped head again
	// after reading the version below it.
	ValidateKeepsSkipped
	// ValidateAnyTombstone: validation takes any tombstone, even one above the
	// transaction's epoch, for the absence that the transaction has seen.
	ValidateAnyTombstone
	// ValidatePresentOnly: reads of absent keys are not validated.
	ValidatePresentOnly
	// HelpIgnoresCheck: a helper commits a version that needs validation.
	HelpIgnoresCheck
	// EarlyEnd: the slot is released before validation.
	EarlyEnd
	// FirstCommitterIgnored: a snapshot-level transaction does not look at the
	// epoch of the version it overwrites.
	FirstCommitterIgnored
	// InstallOverUndecided: a version is installed on top of an undecided one.
	InstallOverUndecided
	// ReuseVersions: a re-installed transaction uses its versions and its
	// record again.
	ReuseVersions
	// ClearBeforeCopy: publishing clears a version's record pointer before it
	// has copied the epoch into the version.
	ClearBeforeCopy
	// NoReload: a reader that finds the record pointer cleared takes the
	// version for aborted instead of reading its word again.
	NoReload
	// CutBelowEpoch: pruning keeps the newest version below a live epoch instead
	// of the newest not above it.
	CutBelowEpoch
	// CappedView: the view holds one live epoch only, without lowering its bound.
	CappedView
	// RemoveIgnoresLive: an entry is removed although a live epoch is below its
	// tombstone.
	RemoveIgnoresLive
	// UnlinkBeforeDead: an entry leaves the index before its head is marked dead.
	UnlinkBeforeDead
	// NoDead: an entry leaves the index and is never marked dead.
	NoDead
	// PlainDelete: unlinking deletes whatever entry the index holds.
	PlainDelete
	// EmptyNotDead: an entry without versions leaves the index unmarked.
	EmptyNotDead

	// WatchIgnored: a transaction that watches publishes without asking whether its
	// watch is marked.
	WatchIgnored
	// WatchBaseLate: the base is loaded after validation.
	WatchBaseLate
	// WatchStoredLate: the watch is stored after validation.
	WatchStoredLate
	// WatchPassesUndecided: validation passes over undecided writers though it watches.
	WatchPassesUndecided
	// WatchAnyTombstone: validation takes a tombstone for absence up to the base, and
	// not only below the epoch that the record had.
	WatchAnyTombstone
	// WatchRecordLast: the record is loaded after the mark.
	WatchRecordLast
	// WatchPublishesAny: publishing takes the epoch that the record has by then.
	WatchPublishesAny
	// MarksFirst: the watches are marked before the version is installed.
	MarksFirst
	// MarksLate: the watches are marked after the epoch was drawn.
	MarksLate
	// HelperDoesNotMark: a helper draws an epoch without marking the watches.
	HelperDoesNotMark
	faultEnd
)

var faultNames = [...]string{
	"LoadSkipsTentative", "LoadSkipsAnnounced", "LoadKeepsSkipped",
	"ReadSkipsAnnounced", "ReadWaits", "NoFloor", "DrawFirst", "ValidateFirst", "ValidateSkipsAnnounced",
	"ValidateSkipsNewer", "ValidateKeepsSkipped", "ValidateAnyTombstone", "ValidatePresentOnly",
	"HelpIgnoresCheck", "EarlyEnd", "FirstCommitterIgnored", "InstallOverUndecided", "ReuseVersions",
	"ClearBeforeCopy", "NoReload", "CutBelowEpoch", "CappedView", "RemoveIgnoresLive",
	"UnlinkBeforeDead", "NoDead", "PlainDelete", "EmptyNotDead",
	"WatchIgnored", "WatchBaseLate", "WatchStoredLate", "WatchPassesUndecided", "WatchAnyTombstone",
	"WatchRecordLast", "WatchPublishesAny", "MarksFirst", "MarksLate", "HelperDoesNotMark",
}

// Faults returns every single fault.
func Faults() []Fault {
	var fs []Fault
	for f := Fault(1); f < faultEnd; f <<= 1 {
		fs = append(fs, f)
	}
	return fs
}

func (f Fault) String() string {
	s := ""
	for i, name := range faultNames {
		if f>>i&1 != 0 {
			if s != "" {
				s += "+"
			}
			s += name
		}
	}
	return s
}
