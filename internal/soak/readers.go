package soak

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Readers says what reads beside the writers of a growth round.
type Readers string

// The readers of a growth round.
const (
	ReadersNone    Readers = "none"
	ReadersOne     Readers = "one"     // a snapshot that stays open
	ReadersRenewed Readers = "renewed" // one that is renewed twice a tick
	ReadersMany    Readers = "many"    // many at a time; each tick an eighth of them is renewed
)

// doc is what the name of a round says of them.
func (r Readers) doc() string {
	switch r {
	case ReadersOne:
		return "one snapshot"
	case ReadersRenewed:
		return "a snapshot that is renewed"
	case ReadersMany:
		return "many snapshots"
	}
	return "no snapshot"
}

// The number of snapshots of ReadersMany, or fewer if they could keep more than
// mostKept versions.
const (
	mostReaders = 1000
	mostKept    = 500_000
)

// readers are the snapshots of a growth round, and know how many versions are needed.
type readers struct {
	r     Round
	m     *mvcc.Map[int, int64]
	most  int           // how many are open at a time
	pause time.Duration // between two renewals
	share int           // how many may be renewed with each tick; 0: any number
	tick  atomic.Uint64 // the last one that needed was told of

	mu   sync.Mutex
	open []mvcc.Snapshot[int, int64] // oldest first
	gone []left                      // oldest first
}

// left is a snapshot that is closed. What it kept is dropped within some ticks.
type left struct {
	epoch uint64
	seen  bool   // to be closed, and before the next tick is read
	tick  uint64 // at which it was closed already; 0: not known yet
}

func newReaders(r Round, m *mvcc.Map[int, int64]) *readers {
	s := &readers{r: r, m: m}
	tick := r.ReclaimInterval
	switch r.Readers {
	case ReadersOne:
		s.most, s.pause = 1, tick
	case ReadersRenewed:
		s.most, s.pause = 1, tick/2
	case ReadersMany:
		s.most, s.pause = min(mostReaders, max(mostKept/r.Keys, 8)), tick/16
		s.share = s.most / 8
	}
	return s
}

// run opens and closes snapshots until stop is set.
func (s *readers) run(stop *atomic.Bool) {
	if s.most == 0 {
		return
	}
	s.add()
	tick, renewed := uint64(0), 0
	for !stop.Load() {
		time.Sleep(s.pause)
		if now := s.tick.Load(); now != tick {
			tick, renewed = now, 0
		}
		switch s.r.Readers {
		case ReadersRenewed:
			s.add()
		case ReadersMany:
			for n := 0; n < max(s.share/8, 1) && renewed < s.share; n++ {
				s.add()
				renewed++
			}
		}
	}
}

// add opens a snapshot and, if there are enough, closes the oldest one.
func (s *readers) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == s.most {
		old := s.open[0]
		s.open = slices.Delete(s.open, 0, 1)
		if s.r.Readers == ReadersMany {
			s.gone = append(s.gone, left{epoch: old.Epoch()})
		}
		old.Close()
	}
	s.open = append(s.open, s.m.Snapshot())
}

// lingers is for how many ticks the versions of a closed snapshot may stay: some until they
// are noticed and due, and more if there are more keys than a tick visits.
func (s *readers) lingers() uint64 { return 6 + 2*uint64(s.r.Keys/16384) }

// needed returns how many versions may be needed: the newest one of each key, and for each
// snapshot that is open, or was lately, the number written between it and the next one, but
// at most one of each key. A transaction of each writer counts as a snapshot. tick was read
// before the call, and after the last call.
func (s *readers) needed(tick uint64) int {
	s.tick.Store(tick)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.gone {
		if g := &s.gone[i]; g.tick == 0 && g.seen {
			g.tick = tick
		} else {
			g.seen = true
		}
	}
	for len(s.gone) > 0 && s.gone[0].tick > 0 && s.gone[0].tick+s.lingers() < tick {
		s.gone = s.gone[1:]
	}
	last := s.m.Snapshot()
	now := last.Epoch()
	last.Close()
	var epochs []uint64
	for _, g := range s.gone {
		epochs = append(epochs, g.epoch)
	}
	for _, o := range s.open {
		epochs = append(epochs, o.Epoch())
	}
	slices.Sort(epochs)
	n := s.r.Keys
	written := uint64(2) // by a commit
	if s.r.Stores {
		written = 1
	} else {
		n += s.r.Workers * s.r.Keys
	}
	for i, e := range epochs {
		next := now
		if i+1 < len(epochs) {
			next = epochs[i+1]
		}
		n += int(min(written*(max(next, e)-e), uint64(s.r.Keys)))
	}
	return n
}

// checked is the number of open snapshots with contents that are checked in the end.
const checked = 8

// check checks what some of the open snapshots show.
func (s *readers) check() *Violation {
	for i := 0; i < len(s.open); i += max(len(s.open)/checked, 1) {
		if v := checkContents(s.r, s.open[i]); v != nil {
			return v
		}
	}
	return nil
}

// close closes all that are open.
func (s *readers) close() {
	for _, o := range s.open {
		o.Close()
	}
	s.open = nil
}
