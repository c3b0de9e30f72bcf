package bench

import (
	"fmt"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// scriptTask does the operations of a file.
type scriptTask struct {
	drawer
	rig     *scriptRig
	session TablesSession
	tables  []known
	coin    stream
	fresh   []int64 // by step of the operation: the number of its new key; those in repeats have none
	repeats repeats
	label   labeller
	counts  operationCounts

	// The transaction that is under way, in its last attempt.
	op      *workfile.Operation
	effects []effect
	body    func(TablesTx) error

	// A range that is under way.
	visit func(key RecordKey, r Record) bool
	scan  scan
}

// known is what one goroutine knows of a table.
type known struct {
	*scriptTable
	values values[[]byte]
	seen   *observer // nil if records have no bytes
	moved  []int64   // by key: what it has added to the number; nil if that is not known
	net    []int32   // by key: inserts minus deletes; nil if there are none, or it is not known
	lost   []int64   // new keys that were not inserted
	// Of all keys above those that there were at first, in a table that grows:
	grown  int    // inserts minus deletes
	added  int64  // what it has added to their numbers
	before uint64 // seen.seq when the attempt began
}

// effect is what a step has read and written, to be checked and kept once it has committed.
type effect struct {
	table  int
	k      int64
	read   bool
	ok     bool   // it was there
	old    []byte // what was read
	wrote  stamp  // 0: nothing
	delta  int64  // of the number
	net    int32
	insert bool // of a new key
}

func newScriptTask(r *scriptRig, i int, s TablesSession) *scriptTask {
	t := &scriptTask{
		drawer: newDrawer(r.Trial, i, r.file, r.draws), rig: r, session: s,
		coin: r.streamFor(i, forCoin), label: newLabeller(&r.labelling, namesOf(r.file)),
	}
	t.counts.done = make([]uint64, len(r.config.Workload.operationNames()))
	for j, table := range r.tables {
		k := known{scriptTable: table, values: table.values(r.Trial, i, j)}
		if table.size.Max > 0 {
			k.seen = newObserver(i+1, r.config.Threads, table.n)
		}
		if table.adds() {
			k.moved = make([]int64, table.n)
			clear(k.moved)
		}
		if table.Deletes && table.counted() {
			k.net = make([]int32, table.n)
			clear(k.net)
		}
		t.tables = append(t.tables, k)
	}
	t.body, t.visit = t.attempt, t.next
	return t
}

func (t *scriptTask) labels() *labeller { return &t.label }

func (t *scriptTask) operations() *operationCounts { return &t.counts }

func (t *scriptTask) do() error {
	now := t.rig.mix.draw(&t.coin)
	t.op, t.counts.now = &t.rig.file.Operations[now], now
	t.label.at(now)
	t.bind(t.op.Vars)
	t.repeats.reset(t.op)
	t.fresh = t.fresh[:0]
	for i := range t.op.Steps {
		k := int64(-1)
		if s := &t.op.Steps[i]; s.Kind == workfile.Insert && s.Key == nil {
			k = t.tables[s.Table].next.Add(1) - 1
		}
		t.fresh = append(t.fresh, k)
	}
	err := t.session.Do(t.op.ReadOnly, t.body)
	if err != nil {
		t.effects = t.effects[:0]
	}
	if err == errRolledBack {
		err = nil
	}
	t.lose()
	if err == nil {
		err = t.settle()
	}
	if err == nil {
		t.counts.count()
	}
	return err
}

// lose notes the new keys that have not been inserted.
func (t *scriptTask) lose() {
	for i, k := range t.fresh {
		if k < 0 {
			continue
		}
		inserted := false
		for j := range t.effects {
			e := &t.effects[j]
			inserted = inserted || e.insert && e.k == k && e.table == t.op.Steps[i].Table
		}
		if !inserted {
			of := &t.tables[t.op.Steps[i].Table]
			of.lost = append(of.lost, k)
		}
	}
}

// attempt does the steps.
func (t *scriptTask) attempt(tx TablesTx) error {
	t.effects = t.effects[:0]
	t.op.Each(t.begin)
	t.repeats.begin()
	_, err := t.steps(tx, t.op.Steps, t.fresh)
	return err
}

// begin forgets what a step has read, and notes how far its table was.
func (t *scriptTask) begin(s *workfile.Step) {
	for _, slot := range [...]int{s.As, s.Found, s.Sum} {
		if slot >= 0 {
			t.vars[slot] = 0
		}
	}
	if seen := t.tables[s.Table].seen; seen != nil {
		t.tables[s.Table].before = seen.seq
	}
}

// steps does steps, and reports whether the operation has ended. fresh has the numbers of their new
// keys; it is nil in a repeat.
func (t *scriptTask) steps(
	tx TablesTx, steps []workfile.Step, fresh []int64,
) (ended bool, err error) {
	for i := range steps {
		s := &steps[i]
		if s.If != nil && t.eval(s.If) == 0 {
			continue
		}
		switch s.Kind {
		case workfile.Let:
			t.vars[s.As] = t.eval(s.Value)
		case workfile.End:
			ended = t.eval(s.Value) != 0
		case workfile.Rollback:
			if t.eval(s.Value) != 0 {
				err = errRolledBack
			}
		case workfile.Repeat:
			ended, err = t.repeat(tx, s)
		default:
			k := int64(0)
			if s.Key != nil {
				k = t.eval(s.Key)
			} else {
				k = fresh[i]
			}
			err = t.access(tx, s, k)
		}
		if ended || err != nil {
			return ended, err
		}
	}
	return false, nil
}

// access does a step that reads or writes a table, from key k on.
func (t *scriptTask) access(tx TablesTx, s *workfile.Step, k int64) error {
	of := &t.tables[s.Table]
	most := int64(of.n)
	switch {
	case of.Grows:
		most = maxNumbers
	case of.Inserts && s.Kind != workfile.Add:
		most = of.next.Load()
	}
	if k < 0 || k >= most {
		return fmt.Errorf("operation %s, line %d: key %d of table %s; expected a number from 0 to %d",
			t.op.Name, s.Line, k, of.Name, most-1)
	}
	if s.Kind == workfile.Range {
		return t.ranged(tx, s, k)
	}
	t.one(tx, s, of, k)
	return nil
}

// one does a step that is about one key.
func (t *scriptTask) one(tx TablesTx, s *workfile.Step, of *known, k int64) {
	key := of.key(k)
	e := effect{table: s.Table, k: k}
	var old Record
	if s.Kind != workfile.Put && s.Kind != workfile.Add && s.Key != nil {
		old, e.ok = tx.Get(s.Table, key)
		e.read, e.old = true, old.Bytes
		if s.As >= 0 {
			t.vars[s.As] = old.Number
			t.vars[s.Found] = int64(truth(e.ok))
		}
	}
	number := int64(0)
	if s.Value != nil {
		number = t.eval(s.Value)
	}
	switch s.Kind {
	case workfile.Put:
		t.write(tx, key, of, &e, number)
	case workfile.Add:
		tx.Add(s.Table, key, number)
		e.delta = number
	case workfile.Insert:
		if e.insert = s.Key == nil; !e.ok {
			t.write(tx, key, of, &e, number)
			e.net, e.delta = 1, number
		}
	case workfile.Modify:
		if !e.ok {
			break
		}
		if s.Value == nil {
			number = old.Number
		}
		t.write(tx, key, of, &e, number)
		e.delta = number - old.Number
	case workfile.Delete:
		if e.ok {
			tx.Delete(s.Table, key)
			e.net, e.delta = -1, -old.Number
		}
	}
	t.effects = append(t.effects, e)
}

// write writes a record.
func (t *scriptTask) write(tx TablesTx, key RecordKey, of *known, e *effect, number int64) {
	r := Record{Number: number}
	if of.seen != nil {
		e.wrote = of.seen.draw(int(e.k))
		of.values.set(&r.Bytes, e.wrote)
	}
	tx.Put(e.table, key, r)
}

// settle checks what the transaction has read, and keeps what it has written.
func (t *scriptTask) settle() error {
	for i := range t.effects {
		e := &t.effects[i]
		of := &t.tables[e.table]
		if e.read {
			if err := of.got(e.k, e.old, e.ok); err != nil {
				return err
			}
		}
		if e.k >= int64(of.n) {
			of.grown += int(e.net)
			of.added += e.delta
			continue
		}
		if e.wrote != 0 {
			of.seen.put(int(e.k), e.wrote)
		}
		if of.moved != nil {
			of.moved[e.k] += e.delta
		}
		if of.net != nil {
			of.net[e.k] += e.net
		}
	}
	return nil
}

// got checks what was read of a record.
func (of *known) got(k int64, bytes []byte, ok bool) error {
	switch {
	case !ok && k < int64(of.n) && !of.Deletes:
		return wrong(of.name(k), "is absent")
	case !ok || of.seen == nil:
		return nil
	}
	v := of.values.stamp(bytes)
	var err error
	if k < int64(of.n) {
		err = of.seen.within(int(k), v, true, of.before)
	} else {
		err = of.seen.fresh(int(k), v)
	}
	if err != nil {
		return wrongValue(of.name(k), &of.values, bytes, true, err)
	}
	return nil
}

// scan is a range that is being read.
type scan struct {
	of    *known
	table int
	low   RecordKey
	last  RecordKey
	k     int64 // the number of the next key, if they are in the order of their numbers
	left  int64
	count int64
	sum   int64
	wrong error
}

// ranged reads a range.
func (t *scriptTask) ranged(tx TablesTx, s *workfile.Step, k int64) error {
	of := &t.tables[s.Table]
	n := max(t.eval(s.Count), 1)
	t.scan = scan{of: of, table: s.Table, low: of.key(k), k: k, left: n}
	tx.Range(s.Table, t.scan.low, t.visit)
	c := &t.scan
	if s.As >= 0 {
		t.vars[s.As], t.vars[s.Found], t.vars[s.Sum] = c.count, int64(truth(c.count > 0)), c.sum
	}
	if c.wrong == nil && c.count < n && c.whole() && c.k < int64(of.n) {
		c.wrong = wrong(of.name(c.k), "is not in a read of %d keys from %s on, which gave %d", n,
			of.name(k), c.count)
	}
	return c.wrong
}

// whole reports whether each of the first keys from low on must be in the range, in the order of
// their numbers.
func (c *scan) whole() bool { return !c.of.Deletes && !c.of.Hashed }

func (t *scriptTask) next(key RecordKey, r Record) bool {
	c := &t.scan
	k, ok := key.Number, true
	if c.of.Strings {
		var n int
		n, ok = numberOf(key.Text, c.of.Hashed)
		k = int64(n)
	}
	inOrder := c.count == 0 || key.Text > c.last.Text || !c.of.Strings && key.Number > c.last.Number
	if !ok || !inOrder || key.Text < c.low.Text || !c.of.Strings && key.Number < c.low.Number ||
		c.whole() && c.k < int64(c.of.n) && k != c.k || k < 0 || k >= c.of.next.Load() && !c.of.Grows {
		c.wrong = wrong(fmt.Sprintf("%s/%v", c.of.Name, key), "came in a range after %v, where %d was to come",
			c.last, c.k)
		return false
	}
	t.effects = append(t.effects, effect{table: c.table, k: k, read: true, ok: true, old: r.Bytes})
	c.last, c.k = key, k+1
	c.sum += r.Number
	c.count++
	c.left--
	return c.left > 0
}
