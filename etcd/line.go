package etcd

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/internal/seam/replicate"
)

// A line is the Updates of this process that are to commit, in the order in which they have come to
// each key. Without it those that want the same key all send a request for it, all but one lose,
// and who loses again and again is chance.
//
//   - Q1: a place holds the keys that its transaction writes otherwise than by a merge; and once
//     that has lost, those that it has read, and the tables of which it has read more than keys.
//     Who comes later to one of these, to write it or having read it, waits for the place. It comes
//     with its footprint, to all keys at once, so each place waits only for earlier ones.
//   - Q2: a place is left once its commit is applied here: who waited for it then knows the value.
//     If one waited, and a record that it has read was written, its function runs again, in its
//     place.
//   - Q3: nobody waits for longer than [Config.RequestTimeout]: who is in front may have no answer,
//     or wait for this Update in its function. So a line says nothing about correctness: each
//     request compares all that was read, whoever was or was not waited for.
//   - Q4: a request of a [combiner] has a place that holds the keys that it writes. It waits only
//     for a place that has its turn, and goes to etcd by itself: such a one waits for nobody, and
//     so no two wait for each other: those in the combiner wait for its requests, and in its order.
//
// Other processes have lines of their own, and are in nobody's.
type line struct {
	mu   sync.Mutex
	last map[string]*place // who came last of those that hold a key, by names
}

type place struct {
	holds []string
	done  chan struct{}
	turn  bool // it has its turn, and no merges: Q4; mu of the line guards it
}

// A footprint is the names of the keys that a transaction reads, merges, and writes otherwise,
// guards of index keys included; and the guards of tables that it writes to, and of those of which
// it reads more.
type footprint struct {
	reads, merged, writes, tables, wide []string
	// again says that it has to run again after a conflict, since it is not known here whether its
	// reads still hold.
	again bool
}

// manyReads are so many that guards of tables may be compared in their place.
const manyReads = 32

// footprint returns that of a transaction, or a *CodecError.
func (db *DB) footprint(w *replicate.Work) (f footprint, err error) {
	for i := range w.Tables {
		t := &w.Tables[i]
		at, of := db.keys.table(t.Name), db.schema.tables[t.Name]
		if err := of.reads(t.Reads, func(_ int, key []byte) {
			f.reads = append(f.reads, at+string(key))
		}); err != nil {
			return f, err
		}
		if err := of.reads(t.Writes, func(n int, key []byte) {
			if slices.Contains(t.Merged, n) {
				f.merged = append(f.merged, at+string(key))
			} else {
				f.writes = append(f.writes, at+string(key))
			}
		}); err != nil {
			return f, err
		}
		looked, known := db.indexGuards(t, false)
		changed, _ := db.indexGuards(t, true)
		f.reads, f.writes = append(f.reads, looked...), append(f.writes, changed...)
		if t.Written > 0 {
			f.tables = append(f.tables, db.keys.guards(t.Name))
		}
		if t.All || len(t.Ranges) > 0 || !known {
			f.wide = append(f.wide, db.keys.guards(t.Name))
		}
		f.again = f.again || len(looked) > 0
	}
	f.again = f.again || len(f.wide) > 0 || len(f.reads) > manyReads
	return f, nil
}

// holds returns the names that a place for the transaction holds, which has lost before or not.
func (f *footprint) holds(lost bool) []string {
	if !lost {
		return f.writes
	}
	return slices.Concat(f.writes, f.reads, f.wide)
}

func (f *footprint) touches() []string { return slices.Concat(f.writes, f.reads, f.tables, f.wide) }

// written returns all keys that are.
func (f *footprint) written() []string { return slices.Concat(f.writes, f.merged) }

// enter returns a new place, and those that it waits for: the last ones that hold something that is
// touched; of a request of a combiner only those that have their turn.
func (l *line) enter(touches, holds []string, combined bool) (p *place, before []*place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p = &place{holds: holds, done: make(chan struct{})}
	for _, name := range touches {
		if one := l.last[name]; one != nil && (one.turn || !combined) && !slices.Contains(before, one) {
			before = append(before, one)
		}
	}
	if l.last == nil {
		l.last = map[string]*place{}
	}
	for _, name := range holds {
		if one := l.last[name]; one == nil || one.turn || !combined {
			l.last[name] = p // else those that come stay behind who waits already
		}
	}
	return p, before
}

// leave ends a place, which may be nil.
func (l *line) leave(p *place) {
	if p == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range p.holds {
		if l.last[name] == p {
			delete(l.last, name)
		}
	}
	close(p.done)
}

// turn has a transaction come to its turn, in its place, which it changes if that does not hold all
// that it has to. It reports whether the transaction has to run again first.
func (db *DB) turn(
	ctx context.Context, w *replicate.Work, at **place, foot footprint, lost bool,
) (again bool) {
	holds := foot.holds(lost)
	free := func(name string) bool { return !slices.Contains((*at).holds, name) }
	if *at != nil && !slices.ContainsFunc(holds, free) {
		return false
	}
	db.line.leave(*at)
	var before []*place
	*at, before = db.line.enter(foot.touches(), holds, false)
	db.behind(ctx, before)
	db.line.mu.Lock()
	(*at).turn = !w.Merges()
	db.line.mu.Unlock()
	return len(before) > 0 && db.stale(w)
}

// behind waits until some places are left, but not for too long: Q3.
func (db *DB) behind(ctx context.Context, before []*place) {
	if len(before) == 0 {
		return
	}
	late := time.NewTimer(db.cfg.RequestTimeout)
	defer late.Stop()
	for _, p := range before {
		select {
		case <-p.done:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		case <-db.applied.endedAt:
			return
		}
	}
}

// stale reports whether a record that a transaction has read was written since, as far as that is
// applied here.
func (db *DB) stale(w *replicate.Work) bool {
	for i := range w.Tables {
		t := &w.Tables[i]
		if db.schema.tables[t.Name].changed(db.hooks, t.Reads, t.Epochs) != nil {
			return true
		}
	}
	return false
}
