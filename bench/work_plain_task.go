package bench

import (
	"fmt"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// plainTask does the operations of a plain file.
type plainTask[V any] struct {
	drawer
	job     *plainJob[V]
	session Session[V]
	batcher Batcher[V]
	swapper Swapper[V] // nil: batcher modifies
	ranger  Ranger[V]
	keys    []string
	values  values[V]
	seen    *observer
	coin    stream
	mix     mix
	mixed   []plainOp
	size    int // operations of a transaction
	ops     []Op[V]
	index   []int // of the keys of ops
	lost    []int // numbers of keys that were to be new, and whose operation has failed
	label   labeller
	counts  operationCounts

	// A range that is under way.
	visit func(key string, value V)
	low   int    // the index of the next of the first keys
	from  string // the last key that was read, or the first that may be
	last  string
	count int
	wrong error // the first violation
}

func (t *plainTask[V]) labels() *labeller { return &t.label }

func (t *plainTask[V]) operations() *operationCounts { return &t.counts }

func (t *plainTask[V]) do() error {
	t.index = t.index[:0]
	if t.size > 1 {
		return t.transaction()
	}
	now := t.mix.draw(&t.coin)
	op := &t.mixed[now]
	t.counts.now = now
	t.label.at(now)
	if op.binds {
		t.bind(op.Vars)
	}
	var err error
	if len(op.steps) == 1 {
		err = t.single(&op.steps[0])
	} else {
		before := t.seen.seq
		err = t.batch(t.add(op), before)
	}
	if err == nil {
		t.counts.count()
	}
	return err
}

// single does a step that is the whole transaction.
func (t *plainTask[V]) single(s *plainStep) error {
	k := t.target(s)
	key := t.name(k)
	before := t.seen.seq
	switch {
	case s.Kind == workfile.Get:
		v, ok, err := t.session.Get(key)
		if err != nil {
			return err
		}
		return t.got(k, key, v, ok, before)
	case s.Kind == workfile.Range:
		return t.read(k, int(t.eval(s.Count)))
	case s.Kind == workfile.Modify && t.batcher != nil:
		return t.batch(t.step(s, k), before)
	}
	stamp := t.seen.draw(k)
	var v, old V
	t.values.set(&v, stamp)
	var ok bool
	var err error
	if s.Kind == workfile.Modify {
		old, ok, err = t.swapper.Swap(key, v)
	} else {
		err = t.session.Put(key, v)
	}
	switch {
	case err == nil && s.Kind == workfile.Modify:
		err = t.got(k, key, old, ok, before)
	case err != nil && s.Kind == workfile.Insert:
		t.lost = append(t.lost, k)
	}
	if err == nil {
		t.put(k, stamp)
	}
	return err
}

// transaction does so many operations in one.
func (t *plainTask[V]) transaction() error {
	before, readOnly := t.seen.seq, true
	for range t.size {
		op := &t.mixed[t.mix.draw(&t.coin)]
		if op.binds {
			t.bind(op.Vars)
		}
		readOnly = t.add(op) && readOnly
	}
	if readOnly {
		t.label.gets()
	} else {
		t.label.puts()
	}
	return t.batch(readOnly, before)
}

// target returns the index of the key of a step.
func (t *plainTask[V]) target(s *plainStep) int {
	switch {
	case s.by != nil && s.by.kind == drawRank:
		return s.by.ranks.draw(&t.streams[s.draw])
	case s.by != nil:
		return int(s.by.draw(&t.streams[s.draw], &t.drawn[s.draw]))
	case s.Key == nil:
		return int(t.job.next.Add(1) - 1)
	}
	return int(t.eval(s.Key))
}

// add adds the steps of op to the transaction, and reports whether they only read.
func (t *plainTask[V]) add(op *plainOp) (reads bool) {
	reads = true
	for i := range op.steps {
		s := &op.steps[i]
		reads = t.step(s, t.target(s)) && reads
	}
	return reads
}

// step adds s, with key k, to the transaction.
func (t *plainTask[V]) step(s *plainStep, k int) (reads bool) {
	n := len(t.index)
	if n == len(t.ops) {
		t.ops = append(t.ops, Op[V]{})
	}
	op := &t.ops[n]
	t.index = append(t.index, k)
	op.Kind, op.Key, op.OK = s.kind, t.name(k), false
	if s.kind == OpGet {
		return true
	}
	t.values.set(&op.Value, t.seen.draw(k))
	return false
}

// batch does the transaction, whose writes are those after before.
func (t *plainTask[V]) batch(readOnly bool, before uint64) error {
	ops := t.ops[:len(t.index)]
	if err := t.batcher.Batch(ops, readOnly); err != nil {
		for i, k := range t.index {
			if k >= len(t.keys) && ops[i].Kind == OpPut {
				t.lost = append(t.lost, k)
			}
		}
		return err
	}
	for i := range ops {
		op := &ops[i]
		k := t.index[i]
		if op.Kind != OpPut && (!op.OK || k >= len(t.keys) || t.values.stamp(op.Old) != t.seen.last[k]) {
			if err := t.got(k, op.Key, op.Old, op.OK, before); err != nil {
				return err
			}
		}
		if op.Kind != OpGet {
			t.put(k, t.values.stamp(op.Value))
		}
	}
	return nil
}

// put records that a value has been committed.
func (t *plainTask[V]) put(k int, v stamp) {
	if k < len(t.keys) {
		t.seen.put(k, v)
	}
}

// got checks what was read of key k, in the transaction whose writes are those after before.
func (t *plainTask[V]) got(k int, key string, value V, ok bool, before uint64) error {
	var err error
	v := t.values.stamp(value)
	switch {
	case k < len(t.keys):
		err = t.seen.within(k, v, ok, before)
	case ok: // else its insert may be under way
		err = t.seen.fresh(k, v)
	}
	if err != nil {
		return wrongValue(key, &t.values, value, ok, err)
	}
	return nil
}

// within checks what was read of key k, in a transaction whose writes are those after before.
func (o *observer) within(k int, v stamp, ok bool, before uint64) error {
	last := o.last[k]
	err := o.got(k, v, ok)
	if err == nil && v != last && stampWriter(last) == o.writer && stampSeq(last) > before {
		err = wrong("", "a transaction that wrote %s read %s", describe(last), describe(v))
	}
	return err
}

// fresh checks v, the value of key k, which was not there at first.
func (o *observer) fresh(k int, v stamp) error {
	w := stampWriter(v)
	switch {
	case w == 0 || w >= o.writers:
		return fmt.Errorf("holds %#x, which nobody wrote", v)
	case !keyMatches(v, k):
		return fmt.Errorf("holds %s, which was written to another key", describe(v))
	}
	o.latest[w] = max(o.latest[w], stampSeq(v))
	return nil
}

// read reads up to n keys from the one with index k on.
func (t *plainTask[V]) read(k, n int) error {
	n = max(n, 1)
	t.low, t.from, t.last, t.count, t.wrong = k, t.keys[k], "", 0, nil
	if err := t.ranger.Range(t.from, n, t.visit); err != nil {
		return err
	}
	switch {
	case t.wrong != nil:
	case t.count > n:
		t.wrong = wrong(t.from, "a read of %d keys from here on gave %d", n, t.count)
	case t.count < n && t.low < len(t.keys):
		t.wrong = wrong(t.keys[t.low], "is not in a read of %d keys from %s on, which gave %d", n, t.from,
			t.count)
	}
	return t.wrong
}

// check checks one key of a range: it is the next of those that were there at first, or a newer one
// before that.
func (t *plainTask[V]) check(key string, value V) {
	t.count++
	if t.wrong != nil {
		return
	}
	if t.low < len(t.keys) && key == t.keys[t.low] {
		t.wrong = t.got(t.low, key, value, true, t.seen.seq)
		t.low++
		t.last = key
		return
	}
	k, ok := numberOf(key, t.job.hashed)
	inOrder := key > t.last && key >= t.from && (t.low == len(t.keys) || key < t.keys[t.low])
	if !ok || !inOrder || k < len(t.keys) || int64(k) >= t.job.next.Load() {
		expected := "the end"
		if t.low < len(t.keys) {
			expected = t.keys[t.low] + ", or a new key before it,"
		}
		t.wrong = wrong(key, "came where %s was to come", expected)
		return
	}
	t.last = key
	t.wrong = t.got(k, key, value, true, t.seen.seq)
}

// name returns the key with index k, or the new one with that number.
func (t *plainTask[V]) name(k int) string {
	if k < len(t.keys) {
		return t.keys[k]
	}
	return t.job.names.of(k)
}
