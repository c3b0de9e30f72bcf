// Package sessions keeps the sessions of users, and forgets those that nobody has used for a
// while: sliding expiry. A value says until when it is good; each use writes it anew, with a
// later time; and the map deletes sessions that are over.
package sessions

import (
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
	s := &Store{mvcc.New[string, session](nil), ttl}
	s.m.Expire(func(_ string, found session) time.Time { return found.expires })
	return s
}

// Close ends the expiry.
func (s *Store) Close() { s.m.Close() }

// Open opens a session.
func (s *Store) Open(token, user string) {
	s.m.Store(token, session{user, time.Now().Add(s.ttl)})
}

// User returns the user of a session, and keeps it open for longer. It looks at the time itself:
// the map deletes a session that is over a moment later.
func (s *Store) User(token string) (user string, ok bool) {
	now := time.Now()
	found, ok := s.m.Compute(token, func(old session, ok bool) (session, mvcc.ComputeOp) {
		if !ok || !now.Before(old.expires) {
			// Of a key that is absent this does nothing. With OnExpire it would be CancelOp: a
			// deletion here is not told of.
			return old, mvcc.DeleteOp
		}
		old.expires = now.Add(s.ttl) // old is a copy
		return old, mvcc.UpdateOp
	})
	return found.user, ok
}

// Len returns the number of sessions.
func (s *Store) Len() int { return s.m.Len() }
