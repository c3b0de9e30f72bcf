package bench

import (
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// MapOptions sets how the engines mvcc and mvcc-direct reclaim the versions that no reader can see.
// Every field that is zero means the map's default, so that the zero MapOptions is the map as its
// users get it. Engines that keep no versions take no notice of it.
type MapOptions struct {
	// Interval is the time between two looks of the background work at which
	// epochs are being read.
	Interval time.Duration

	// Workers is the number of goroutines that prune in the background. 0 is the default; [NoWorkers]
	// is none, so that committers prune.
	Workers int

	// Queue is how many buckets of the index may wait to be pruned; when so many do,
	// committers prune.
	Queue int

	// Threshold is after how many new versions of a key its committer prunes it
	// without waiting for the background work, from 1 to MaxThreshold.
	Threshold int
}

// NoWorkers is the value of [MapOptions.Workers] for a map without goroutines
// that prune in the background.
const NoWorkers = -1

// MaxThreshold is the largest [MapOptions.Threshold].
const MaxThreshold = 63

// Validate returns an error that names the first field that has no meaning, and
// what was expected of it.
func (o MapOptions) Validate() error {
	switch {
	case o.Interval < 0:
		return fmt.Errorf("bench: MapOptions.Interval is %v; expected a time above 0, or 0 for the "+
			"default", o.Interval)
	case o.Workers < NoWorkers:
		return fmt.Errorf("bench: MapOptions.Workers is %d; expected a number of goroutines, 0 for the "+
			"default, or NoWorkers", o.Workers)
	case o.Queue < 0:
		return fmt.Errorf("bench: MapOptions.Queue is %d; expected a number of buckets of the index, "+
			"or 0 for the default", o.Queue)
	case o.Threshold < 0 || o.Threshold > MaxThreshold:
		return fmt.Errorf("bench: MapOptions.Threshold is %d; expected a number from 1 to %d, or 0 for "+
			"the default", o.Threshold, MaxThreshold)
	}
	return nil
}

// options returns o in the map's own terms, for a map of so many keys.
func (o MapOptions) options(keys int, isolation Isolation) *mvcc.Options {
	level := mvcc.LevelSerializable
	if isolation == Snapshot {
		level = mvcc.LevelSnapshot
	}
	return &mvcc.Options{
		Capacity:        keys,
		Isolation:       level,
		ReclaimInterval: o.Interval,
		ReclaimWorkers:  o.Workers,
		ReclaimQueue:    o.Queue,
		PruneThreshold:  o.Threshold,
	}
}
