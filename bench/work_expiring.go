package bench

import (
	"slices"
	"time"
)

func expiringWorkloads() []Workload {
	return []Workload{{
		Name: "expiring",
		Doc: "Each goroutine puts to keys of its own, of which each record expires within 200 ms. One " +
			"put in " +
			"256 is followed by a look at another of its keys, which is not counted: before its time the " +
			"record " +
			"must be there, with what was last put. At the end all must go.",
		Params:  Params{Keys: 10_000, ReadPct: Unset, Theta: Unset, ValueSize: words},
		kind:    expiring,
		minKeys: 1, maxKeys: manyKeys,
		operation: putOperation,
	}}
}

// longestLife is how long a record lives, at most.
const longestLife = 200 * time.Millisecond

// An Expirer is a [Session] whose engine can delete records when their time has come.
type Expirer[V any] interface {
	// Expire has all records expire at the time that until returns. It is called once.
	Expire(until func(key string, value V) time.Time)
}

// expiringJob puts values that are the time at which they expire.
type expiringJob[V any] struct {
	rig      *rigOf[V]
	opening  stamp         // what all keys have at first
	last     []stamp       // by key: what its goroutine has put
	patience time.Duration // how long the last may stay
}

func newExpiring[V any](r *rigOf[V]) *expiringJob[V] {
	return &expiringJob[V]{rig: r, opening: stamp(time.Now().Add(longestLife).UnixNano()),
		patience: time.Minute}
}

func (j *expiringJob[V]) first(int) stamp { return j.opening }

// task gives each goroutine a share of the keys. If there are too few keys, several goroutines put
// to one key, and it is not looked at.
func (j *expiringJob[V]) task(i int, s Session[V]) task {
	session, ok := s.(Expirer[V])
	if !ok {
		return nil
	}
	values := newValues[V](j.rig.Trial, i)
	if i == 0 {
		values := newValues[V](j.rig.Trial, i) // used by others
		j.last = slices.Repeat([]stamp{j.opening}, len(j.rig.list))
		session.Expire(func(_ string, v V) time.Time { return time.Unix(0, int64(values.stamp(v))) })
	}
	keys, threads := len(j.rig.list), j.rig.config.Threads
	low, high := i*keys/threads, (i+1)*keys/threads
	if threads > keys {
		low, high = i%keys, i%keys+1
	}
	return &expiringTask[V]{session: s, keys: j.rig.list[low:high], last: j.last[low:high],
		alone:  threads <= keys,
		values: values, pick: j.rig.streamFor(i, forPick), life: j.rig.streamFor(i, forAmount)}
}

// verify waits until all records are gone.
func (j *expiringJob[V]) verify() error {
	for end := time.Now().Add(j.patience); ; time.Sleep(time.Millisecond) {
		err := j.rig.each(func(k int, v stamp, ok bool) error {
			if ok {
				return wrong(j.rig.name(k), "has not expired: its time came %v ago",
					time.Since(time.Unix(0, int64(v))))
			}
			return nil
		})
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

type expiringTask[V any] struct {
	session    Session[V]
	keys       []string
	last       []stamp // by key
	alone      bool    // nobody else puts to them
	values     values[V]
	pick, life stream
	left       int // puts until a key is looked at
}

func (t *expiringTask[V]) do() error {
	k := t.pick.below(len(t.keys))
	at := stamp(time.Now().UnixNano()) + 1 + uint64(t.life.below(int(longestLife)))
	var v V
	t.values.set(&v, at)
	if err := t.session.Put(t.keys[k], v); err != nil {
		return err
	}
	if !t.alone {
		return nil
	}
	t.last[k] = at
	if t.left--; t.left < 0 {
		t.left = t.pick.below(2*readBackEvery - 1)
		return t.look(t.pick.below(len(t.keys)))
	}
	return nil
}

// look looks whether a record is as it should be.
func (t *expiringTask[V]) look(k int) error {
	key, want := t.keys[k], t.last[k]
	v, ok, err := t.session.Get(key)
	left := time.Until(time.Unix(0, int64(want)))
	switch {
	case err != nil:
		return err
	case !ok && left > clockSlack:
		return wrong(key, "is gone %v before its time", left)
	case ok && t.values.stamp(v) != want:
		return wrong(key, "holds %d, but its only writer last put %d", t.values.stamp(v), want)
	}
	return nil
}

// clockSlack is how far the wall clock may be set back between two looks at it.
const clockSlack = 5 * time.Millisecond
