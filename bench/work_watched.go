package bench

import (
	"context"
	"iter"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

func watchedWorkloads() []Workload {
	w := transferWorkloads()[0]
	w.Name, w.kind = "watched", watched
	w.Doc = "The same as transfer, while somebody follows what is committed and keeps a copy of the " +
		"accounts: " +
		"each commit must be whole, and follow on what the copy has; each --audit-interval the copy is " +
		"looked at, " +
		"and at the end it must be what the accounts are. Its figures are to be compared with those of " +
		"transfer."
	return []Workload{w}
}

// A Follower is a [Session] that can report what is committed.
type Follower interface {
	// Follow calls begin with all that there is at a moment, and then commit with the changes of
	// each transaction that commits after it, in their order, until ctx has ended, or commit
	// returns an error, which it returns. If it misses some it begins anew.
	Follow(ctx context.Context, begin func(all iter.Seq2[string, uint64]),
		commit func(all []mvcc.Change[string, uint64]) error) error
}

type watchedJob struct {
	transferJob
	copied *followAuditor
	// patience is how long the copy may take, once nothing is committed any more.
	patience time.Duration
}

// auditor begins to follow.
func (j *watchedJob) auditor(s Session[uint64]) (auditor, error) {
	session, ok := s.(Follower)
	if !ok {
		return nil, errUnsupported
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &followAuditor{keys: len(j.rig.list), cancel: cancel, ended: make(chan struct{}),
		begun: make(chan struct{})}
	go a.follow(ctx, session)
	j.copied, j.rig.atEnd = a, a.stop
	select {
	case <-a.begun:
	case <-a.ended:
	}
	return a, a.failed()
}

// verify waits until the copy equals the accounts. If it never does, that is a violation.
func (j *watchedJob) verify() error {
	if err := j.added.verify(); err != nil {
		return err
	}
	var err error
	for end := time.Now().Add(j.patience); time.Now().Before(end); runtime.Gosched() {
		if err = j.copied.do(); err != nil {
			return err
		}
		err = j.rig.each(func(k int, v stamp, _ bool) error {
			if is := j.copied.get(j.rig.list[k]); is != uint64(v) {
				return wrong(j.rig.name(k), "has %d, and the follower's copy has %d", int64(v), int64(is))
			}
			return nil
		})
		if err == nil {
			break
		}
	}
	return err
}

// followAuditor keeps a copy of the accounts.
type followAuditor struct {
	keys   int
	cancel func()
	begun  chan struct{} // there is a copy
	ended  chan struct{}

	mu     sync.Mutex
	copied map[string]uint64
	err    error
}

func (a *followAuditor) follow(ctx context.Context, s Follower) {
	defer close(a.ended)
	var once sync.Once
	err := s.Follow(ctx, func(all iter.Seq2[string, uint64]) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.copied = maps.Collect(all)
		once.Do(func() { close(a.begun) })
	}, a.commit)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// commit changes the copy.
func (a *followAuditor) commit(all []mvcc.Change[string, uint64]) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := uint64(0)
	for _, c := range all {
		if was := a.copied[c.Key]; was != c.Old || !c.Had || !c.Has {
			return wrong(c.Key, "has changed from %d, and before that to %d",
				int64(c.Old), int64(was))
		}
		a.copied[c.Key] = c.New
		sum += c.New - c.Old
	}
	if sum != 0 {
		return wrong("", "a commit of %d changes adds %d to the total", len(all), int64(sum))
	}
	return nil
}

func (a *followAuditor) get(key string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.copied[key]
}

func (a *followAuditor) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// do looks at the copy.
func (a *followAuditor) do() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	total := uint64(0)
	for _, v := range a.copied {
		total += v
	}
	if want := uint64(a.keys) * openingBalance; a.err == nil && total != want {
		return wrong("", "the follower's copy has a total of %d instead of %d", int64(total), want)
	}
	return a.err
}

func (a *followAuditor) stop() {
	a.cancel()
	<-a.ended
}
