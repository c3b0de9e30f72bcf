package durable

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
)

// A recordKey is a key in a table.
type recordKey struct {
	table string
	key   any
}

// toldAtOnce is how many records of a group or backup are told one by one.
const toldAtOnce = 10

// refuse notes the refused records of a group or backup, and tells the user of the new ones. The
// list of a backup takes the place of all refusals up to its epoch.
func (j *Journal) refuse(list []*CodecError, backup bool, epoch uint64) {
	if !backup && len(list) == 0 {
		return
	}
	var fresh []*CodecError
	j.mu.Lock()
	old := j.refused
	if backup {
		j.refused = map[recordKey]*CodecError{}
		for id, e := range old {
			if e.Epoch > epoch {
				j.refused[id] = e
			}
		}
	}
	for _, e := range list {
		id := recordKey{e.Table, e.Key}
		was := old[id]
		if was == nil || !backup {
			fresh = append(fresh, e)
		}
		if was == nil || was.Epoch <= e.Epoch {
			j.refused[id] = e
		}
	}
	j.stats.Refused += uint64(len(fresh))
	j.mu.Unlock()
	for i, e := range fresh {
		if i == toldAtOnce {
			j.report(fmt.Errorf("durable: %d more records are not saved, each refused by the codec",
				len(fresh)-i))
			break
		}
		j.report(e)
	}
}

// refusal returns an error if there are records that are not saved, because they were refused.
func (j *Journal) refusal() error {
	j.mu.Lock()
	all := maps.Clone(j.refused)
	j.mu.Unlock()
	left := len(all)
	for id, e := range all {
		if e.isCurrent() { // not with the mutex: it may call a function that compares keys
			if left == 1 {
				return e
			}
			return fmt.Errorf("%w; up to %d records are not saved", e, left)
		}
		left--
		j.mu.Lock()
		if j.refused[id] == e {
			delete(j.refused, id)
		}
		j.mu.Unlock()
	}
	return nil
}

// report tells the user of an error, and waits for that. It does so in a goroutine of its own:
// OnError, or a logger, may end the goroutine, as testing.T.FailNow does, and the journal goes on.
func (j *Journal) report(err error) {
	j.writing.call(func() {
		j.within.Run(func() {
			if j.opts.OnError != nil {
				j.opts.OnError(err)
				return
			}
			j.logger().Error(err.Error(), "journal", j.dir)
		})
	})
}

func (j *Journal) logger() *slog.Logger {
	return cmp.Or(j.door.Logger(), slog.Default())
}
