package mvcc

import (
	"fmt"
	"maps"
)

// A replica is a copy of a map that follows its commits.
type replica[K comparable] struct {
	at   uint64
	have map[K]int
}

// apply applies changes, and reports a change that does not fit.
func (r *replica[K]) apply(at uint64, changes []Change[K, int], summary bool) error {
	if at <= r.at && !(summary && at == r.at) || len(changes) == 0 {
		return fmt.Errorf("commit %d with %d changes after %d", at, len(changes), r.at)
	}
	r.at = at
	met := map[K]bool{}
	for _, c := range changes {
		old, had := r.have[c.Key]
		if met[c.Key] || had != c.Had || old != c.Old || !c.Had && !c.Has {
			return fmt.Errorf("commit %d: change %+v of a key that had %d, %t, met before: %t", at, c,
				old, had, met[c.Key])
		}
		met[c.Key] = true
		if delete(r.have, c.Key); c.Has {
			r.have[c.Key] = c.New
		}
	}
	return nil
}

// sum is the sum of all values.
func (r *replica[K]) sum() (n int) {
	for _, v := range r.have {
		n += v
	}
	return n
}

// newReplica returns a copy of the records that a snapshot sees.
func newReplica[K comparable](s Snapshot[K, int]) *replica[K] {
	return &replica[K]{s.Epoch(), maps.Collect(s.All())}
}
