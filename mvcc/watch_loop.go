package mvcc

import (
	"runtime"
	"sync/atomic"
)

// A watchLoop is the user's side of a subscription, which the hub does not know: when nobody can
// reach it the subscription ends.
type watchLoop struct {
	s    *subscription
	over atomic.Bool // there was a loop
}

// all is the iterator.
func (l *watchLoop) all(yield func(DBCommit, error) bool) {
	if l.over.Swap(true) {
		panic("mvcc: Watch: there was a loop before: a watch has one, call Watch again")
	}
	s := l.s
	defer runtime.KeepAlive(l)
	defer s.stop()
	defer s.end()
	for _, c := range s.first {
		if !yield(c, nil) {
			return
		}
	}
	s.first = nil
	for {
		list, err := s.take()
		for _, c := range list {
			if err = s.ctx.Err(); err != nil {
				break
			}
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			if yield(DBCommit{}, err) && s.hub.strict {
				panic("mvcc: Strict: a loop over a Watch goes on after the error: does it look at it?")
			}
			return
		}
	}
}
