package bench

import (
	"errors"
	"fmt"
)

// A task is what one goroutine does over and over, with the record it keeps for
// verification. Tasks are made before the goroutines start and hold everything
// they need: do allocates nothing unless it fails.
type task interface {
	// do performs one operation. Errors are violations, ErrStopped, or
	// failures of the engine.
	do() error
}

// violation is what a check found wrong; the [Trial] makes a [*Violation] of it.
type violation struct {
	key    string
	detail string
}

func (v *violation) Error() string {
	if v.key == "" {
		return v.detail
	}
	return fmt.Sprintf("key %q: %s", v.key, v.detail)
}

func wrong(key, format string, args ...any) error {
	return &violation{key: key, detail: fmt.Sprintf(format, args...)}
}

// getPutTask gets or puts one key.
type getPutTask struct {
	session Session
	keys    []string
	seen    *observer
	reads   uint64 // an operation reads if its random 32 bits are below
	coin    stream // decides between get and put
	pick    stream // picks the key if there is a distribution
	dist    *zipf  // nil: round robin
	next    int    // the next key in the round
}

func (t *getPutTask) do() error {
	var k int
	if t.dist != nil {
		k = t.dist.draw(&t.pick)
	} else {
		k = t.next
		if t.next++; t.next == len(t.keys) {
			t.next = 0
		}
	}
	if t.coin.next()>>32 < t.reads {
		v, ok, err := t.session.Get(t.keys[k])
		if err != nil {
			return err
		}
		if err := t.seen.got(k, v, ok); err != nil {
			return t.name(err, k)
		}
		return nil
	}
	s := t.seen.draw(k)
	if err := t.session.Put(t.keys[k], s); err != nil {
		return err
	}
	t.seen.put(k, s)
	return nil
}

func (t *getPutTask) name(err error, k int) error {
	return &violation{key: t.keys[k], detail: err.Error()}
}

// disjointTask puts to the goroutine's own key.
type disjointTask struct {
	session Session
	key     string
	index   int
	writer  int
	seq     uint64
	last    stamp // the last committed
	gaps    stream
	left    int // puts until the key is read back
}

// readBackEvery is the number of puts, on average, for each time that the own key
// is read back. It costs less than half a percent of the time, and it finds an
// engine that now and then loses a write.
const readBackEvery = 256

func (t *disjointTask) do() error {
	s := makeStamp(t.writer, t.index, t.seq+1)
	if err := t.session.Put(t.key, s); err != nil {
		return err
	}
	t.seq++
	t.last = s
	if t.left--; t.left < 0 {
		t.left = t.gaps.below(2*readBackEvery - 1)
		v, ok, err := t.session.Get(t.key)
		if err != nil {
			return err
		}
		return t.check(v, ok)
	}
	return nil
}

func (t *disjointTask) check(v stamp, ok bool) error {
	if !ok {
		return wrong(t.key, "is absent")
	}
	if v != t.last {
		return wrong(t.key, "holds %s, but its only writer last wrote %s", describe(v), describe(t.last))
	}
	return nil
}

// transferTask moves amounts between accounts.
type transferTask struct {
	session  Session
	transfer Transferer
	keys     []string
	pick     stream
	amount   stream
	moved    []uint64 // by account: what the committed transfers add to it, modulo 2^64
}

// openingBalance is what each account holds at first. Balances may go below
// zero: every operation writes, whatever the balance.
const openingBalance = 1_000

func (t *transferTask) do() error {
	from := t.pick.below(len(t.keys))
	to := t.pick.below(len(t.keys) - 1)
	if to >= from {
		to++
	}
	amount := uint64(1 + t.amount.below(100))
	if err := t.transfer.Transfer(t.keys[from], t.keys[to], amount); err != nil {
		return err
	}
	t.moved[from] -= amount
	t.moved[to] += amount
	return nil
}

// counterTask increments counters.
type counterTask struct {
	session Session
	add     Incrementer
	keys    []string
	next    int
	last    []uint64 // by key: the last sum that this goroutine was given
	counted []uint64 // by key: its committed increments
}

func (t *counterTask) do() error {
	k := t.next
	if t.next++; t.next == len(t.keys) {
		t.next = 0
	}
	sum, err := t.add.Add(t.keys[k], 1)
	if err != nil {
		return err
	}
	if sum <= t.last[k] {
		return wrong(t.keys[k], "an increment gave %d to a goroutine that had been given %d", sum, t.last[k])
	}
	t.last[k] = sum
	t.counted[k]++
	return nil
}

// beginTask begins and ends empty transactions.
type beginTask struct {
	begin Beginner
}

func (t *beginTask) do() error { return t.begin.Begin() }

// auditor checks the sum of all accounts, as of one moment, again and again.
type auditor struct {
	transfer Transferer
	keys     int
	audits   uint64
}

func (a *auditor) do() error {
	total, n, err := a.transfer.Sum()
	if err != nil {
		return err
	}
	if n != a.keys {
		return wrong("", "audit %d counted %d accounts instead of %d", a.audits+1, n, a.keys)
	}
	if want := uint64(a.keys) * openingBalance; total != want {
		return wrong("", "audit %d found a total of %d instead of %d", a.audits+1, int64(total), want)
	}
	a.audits++
	return nil
}

// errUnsupported reports a session that lacks the methods a workload needs.
var errUnsupported = errors.New("bench: the engine's sessions lack a method that the workload needs")
