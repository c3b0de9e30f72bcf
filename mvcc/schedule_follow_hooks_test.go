//go:build mvcccheck

package mvcc

import (
	"fmt"
	"maps"
)

// A follower watches all keys of a world, in rounds that the program makes.
type follower struct {
	began   []Snapshot[int, int] // of each map, when the watch began
	commits []DBCommit
}

func (f *follower) only() *core { return nil }
func (f *follower) lose()       { panic("it was lost") }
func (f *follower) dropped()    { panic("it was dropped") }

func (f *follower) offer(list []DBCommit) bool {
	f.commits = append(f.commits, list...)
	return true
}

func (w *world) hub() *hub { return &coreOf(w.maps[0]).shared.hub }

// follow begins to watch.
func (w *world) follow() {
	f := &follower{}
	w.hub().begin(f, func() {
		for _, m := range w.maps {
			coreOf(m).feedForAll()
		}
	}, func(at uint64) {
		for _, m := range w.maps {
			f.began = append(f.began, Snapshot[int, int](coreOf(m).snapshotAtHub(at)))
		}
	})
	w.follower = f
}

// hand makes a round.
func (w *world) hand() {
	h := w.hub()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.round()
}

// endFollow ends the watch, if there is one, and returns the error in its changes: they must lead
// from the first records to the present ones, and those of each operation must come in one commit.
func (w *world) endFollow() error {
	f := w.follower
	if f == nil {
		return nil
	}
	w.hand()
	defer w.hub().end(f)
	in := map[int]uint64{} // commits by the value that they give keys
	for i, m := range w.maps {
		r := newReplica(f.began[i])
		f.began[i].Close()
		for _, c := range f.commits {
			changes := m.Changes(c)
			if len(changes) == 0 {
				continue
			}
			if err := r.apply(c.Epoch, changes, false); err != nil {
				return err
			}
			for _, change := range changes {
				if at, met := in[change.New]; change.Has && met && at != c.Epoch {
					return fmt.Errorf("%d is told of in two commits, %d and %d", change.New, at, c.Epoch)
				}
				in[change.New] = c.Epoch
			}
		}
		if now := maps.Collect(m.All()); !maps.Equal(now, r.have) {
			return fmt.Errorf("by the changes there is %v, and there is %v", r.have, now)
		}
	}
	return nil
}
