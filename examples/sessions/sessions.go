// Package sessions keeps the sessions of users, and forgets those that nobody has used for a
// while. A Map has no expiry of its own: a value says until when it is good, a read checks
// that, and a sweep deletes what is over now and then.
package sessions

import (
	"context"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

type session struct {
	user    string
	expires time.Time
}

// A Store is the sessions that are open, by their token.
type Store struct {
	m   *mvcc.Map[string, session]
	ttl time.Duration
}

// New returns a store whose sessions end when they have not been used for ttl.
func New(ttl time.Duration) *Store {
	return &Store{mvcc.New[string, session](nil), ttl}
}

// Open opens a session.
func (s *Store) Open(token, user string) {
	s.m.Store(token, session{user, time.Now().Add(s.ttl)})
}

// User returns the user of a session, and keeps it open for longer. It does not rely on Sweep:
// a session that is over has no user, whether it has been deleted or not.
func (s *Store) User(token string) (user string, ok bool) {
	now := time.Now()
	found, ok := s.m.Compute(token, func(old session, ok bool) (session, mvcc.ComputeOp) {
		if !ok || !now.Before(old.expires) {
			return old, mvcc.DeleteOp // of a key that is absent this does nothing
		}
		old.expires = now.Add(s.ttl) // old is a copy
		return old, mvcc.UpdateOp
	})
	return found.user, ok
}

// Sweep deletes the sessions that are over, and returns how many. It is not a transaction: one
// that somebody uses meanwhile is looked at again, and stays.
func (s *Store) Sweep() int {
	return s.m.DeleteFunc(func(_ string, found session) bool {
		return !time.Now().Before(found.expires)
	})
}

// Run sweeps until ctx ends, and then closes the map.
func (s *Store) Run(ctx context.Context, every time.Duration) {
	defer s.m.Close()
	for ticker := time.Tick(every); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker:
			s.Sweep()
		}
	}
}

// Len returns the number of sessions, those included that are over and not yet deleted.
func (s *Store) Len() int { return s.m.Len() }
