package bench

import (
	"cmp"
	"fmt"
)

// A Tx is a transaction of a workload, of one goroutine. It has random numbers, which are the same
// in each attempt of a transaction, and keeps the reads and writes of the transaction, to be
// verified once it has committed.
type Tx struct {
	Rand
	model   *Model
	session Session
	known   []known // by table
	body    func(Access) error

	// The next choice of a record.
	mix    mix
	coin   Rand
	chosen []int // operations of the transaction
	label  labeller
	counts operationCounts

	// The transaction that is under way, in its last attempt.
	access  Access
	begun   Rand    // Rand at the beginning of the first attempt
	fresh   []int64 // numbers of new records
	used    int     // of them, in this attempt
	effects []effect
	misuse  error
	damaged string // the fault of the last record whose bytes are damaged

	// A range that is being read.
	visit func(key int64, r Record) bool
	scan  scan
	items []Item
}

// An Item is a record as it was read.
type Item struct {
	Number int64
	OK     bool // it is there
	Key    int64

	table, since int32 // since: so many effects of the transaction came before
}

// An effect is a read or a write that must be kept or checked.
type effect struct {
	key, delta int64 // delta: of the number
	stamp      stamp // that was read, or written; 0: none, or of damaged bytes
	table      int32
	net        int8 // of records
	read, ok   bool // ok: it was there
}

// newTx returns the transaction of goroutine i, or of a checker if it is -1.
func newTx(t *Trial, i int, session Session) *Tx {
	m := t.model
	tx := &Tx{model: m, session: session, mix: mixOf(m.ops), chosen: make([]int, max(m.TxnSize, 1))}
	names := m.operationNames()
	tx.label, tx.counts.done = newLabeller(&t.labelling, names), make([]uint64, len(names))
	tx.Rand, tx.coin = t.randFor(i, forPick), t.randFor(i, forCoin)
	for _, table := range m.tables {
		tx.known = append(tx.known, t.newKnown(i, table))
	}
	tx.body, tx.visit = tx.attempt, tx.next
	return tx
}

// do does the next transaction. Errors are violations, ErrStopped, ErrGaveUp, or failures.
func (tx *Tx) do() error {
	readOnly := tx.choose()
	tx.begun, tx.fresh = tx.Rand, tx.fresh[:0]
	err := tx.session.Do(readOnly, tx.body)
	switch {
	case err == nil && tx.misuse == nil:
		if err = tx.settle(); err != nil {
			return err
		}
	case tx.misuse != nil:
		return fmt.Errorf("operation %s: %w", tx.model.ops[tx.chosen[0]].name, tx.misuse)
	case err != ErrRollBack:
		return err
	}
	tx.counts.count()
	return nil
}

// choose chooses the operations of a transaction, and reports whether they only read.
func (tx *Tx) choose() (readOnly bool) {
	readOnly = true
	for i := range tx.chosen {
		if len(tx.mix) > 0 {
			tx.chosen[i] = tx.mix.draw(&tx.coin)
		}
		readOnly = readOnly && tx.model.ops[tx.chosen[i]].readOnly
	}
	if len(tx.counts.done) > 0 {
		tx.counts.now = tx.chosen[0]
		tx.label.labelNext(tx.chosen[0])
	}
	return readOnly
}

// attempt does the chosen operations.
func (tx *Tx) attempt(access Access) error {
	tx.begin(access)
	tx.Rand = tx.begun
	for _, i := range tx.chosen {
		if err := tx.model.ops[i].do(tx); err != nil {
			return err
		}
	}
	return tx.misuse
}

// begin forgets the attempt before.
func (tx *Tx) begin(access Access) {
	tx.access, tx.effects, tx.used, tx.damaged = access, tx.effects[:0], 0, ""
	for i := range tx.known {
		if seen := tx.known[i].seen; seen != nil {
			tx.known[i].before = seen.seq
		}
	}
}

// check makes a check in a transaction that only reads.
func (tx *Tx) check(checks []func(tx *Tx) error) error {
	return tx.session.Do(true, func(access Access) error {
		tx.begin(access)
		for _, check := range checks {
			if err := check(tx); err != nil {
				return err
			}
		}
		return tx.misuse
	})
}

func (tx *Tx) fail(format string, args ...any) {
	if tx.misuse == nil {
		tx.misuse = fmt.Errorf(format, args...)
	}
}

// Draw returns a number as d draws it.
func (tx *Tx) Draw(d Draw) int64 { return d(&tx.Rand) }

// Get reads a record.
func (tx *Tx) Get(t *Table, key int64) Item {
	r, ok := tx.access.Get(t.index, t.key(key))
	if !ok {
		r = Record{} // whatever the engine has left in it
	}
	if !ok || t.stamped() {
		tx.read(t, key, r, ok)
	}
	return Item{r.Number, ok, key, int32(t.index), int32(len(tx.effects))}
}

// read keeps a read of a record, if there is something to be checked.
func (tx *Tx) read(t *Table, key int64, r Record, ok bool) {
	e := effect{table: int32(t.index), key: key, read: true, ok: ok}
	switch of := &tx.known[t.index]; {
	case !ok:
	case t.words:
		e.stamp = stamp(r.Number)
	case t.stamped():
		if e.stamp = of.values.stamp(r.Bytes); e.stamp == 0 {
			tx.damaged = of.values.flaw(r.Bytes)
		}
	}
	tx.effects = append(tx.effects, e)
}

// Set writes a record with another number and other bytes, or inserts it if it was not there. item
// is from the last Get of the record: to set it again, get it again.
func (tx *Tx) Set(item Item, number int64) {
	if tx.stale(item) {
		return
	}
	e := effect{table: item.table, key: item.Key, delta: number - item.Number}
	if !item.OK {
		e.net, e.delta = 1, number
	}
	tx.write(&e, number)
}

// stale reports whether the record was written after item was read, and then fails the transaction.
func (tx *Tx) stale(item Item) bool {
	for i := int(item.since); i < len(tx.effects); i++ {
		e := &tx.effects[i]
		if !e.read && e.key == item.Key && e.table == item.table {
			tx.fail("record %s: expected Get between two writes", tx.known[e.table].name(e.key))
			return true
		}
	}
	return false
}

// Put writes a record that was there at first or has been inserted, whatever its value was. Its
// table has no deletions and no numbers, except for values of 8 bytes.
func (tx *Tx) Put(t *Table, key int64) {
	if t.numbered() || t.Deletes {
		tx.fail("Put of table %s: expected one without numbers and deletions; use Get and Set", t.Name)
		return
	}
	tx.write(&effect{table: int32(t.index), key: key}, 0)
}

// New returns a number that no record has had before. The caller need not use it.
func (tx *Tx) New(t *Table) int64 {
	if tx.used == len(tx.fresh) {
		tx.fresh = append(tx.fresh, t.next.Add(1)-1)
	}
	tx.used++
	return tx.fresh[tx.used-1]
}

// Insert writes a record that is not there.
func (tx *Tx) Insert(t *Table, key, number int64) {
	tx.write(&effect{table: int32(t.index), key: key, delta: number, net: 1}, number)
}

// write writes a record, whose number is no stamp.
func (tx *Tx) write(e *effect, number int64) {
	of := &tx.known[e.table]
	if number != 0 && !of.numbered() || e.key < 0 {
		tx.fail("record %s with number %d: expected a key of 0 or more, and 0 as the number in a table "+
			"without numbers", of.name(e.key), number)
		return
	}
	r := Record{Number: number}
	if of.stamped() {
		e.stamp = of.seen.draw(int(e.key))
		if of.words {
			r.Number, e.delta = int64(e.stamp), 0
		} else {
			r.Bytes = of.values.bytes(e.stamp)
		}
	}
	tx.access.Put(of.index, of.key(e.key), r)
	tx.effects = append(tx.effects, *e)
}

// Add adds delta to the number of a record without reading it: a merge, which never conflicts. Its
// table has numbers and no bytes.
func (tx *Tx) Add(t *Table, key, delta int64) {
	if !t.numbered() || t.stamped() {
		tx.fail("Add to table %s: expected one of numbers", t.Name)
		return
	}
	tx.access.Add(t.index, t.key(key), delta)
	tx.effects = append(tx.effects, effect{table: int32(t.index), key: key, delta: delta})
}

// Delete deletes a record, if it was there. item is from the last Get of the record.
func (tx *Tx) Delete(item Item) {
	t := tx.known[item.table].Table
	switch {
	case tx.stale(item):
	case !t.Deletes && item.Key < int64(t.Records):
		tx.fail("Delete of table %s: expected Deletes in the table", t.Name)
	case item.OK:
		tx.access.Delete(t.index, t.key(item.Key))
		tx.effects = append(tx.effects, effect{table: int32(t.index), key: item.Key, delta: -item.Number, net: -1})
	}
}

// Range reads up to n records of an ordered table, from number low on. The result is valid until
// the next call.
func (tx *Tx) Range(t *Table, low int64, n int) []Item {
	tx.items = tx.items[:0]
	tx.scan = scan{of: t, low: t.key(low), last: t.key(low) - 1, k: low, left: max(n, 1)}
	tx.access.Range(t.index, tx.scan.low, tx.visit)
	c := &tx.scan
	if c.left > 0 && c.whole() && c.k < int64(t.Records) && c.wrong == nil {
		c.wrong = wrong(t.name(c.k), "is not in a read of %d records from %d on, which gave %d", n, low,
			len(tx.items))
	}
	if c.wrong != nil {
		tx.effects = append(tx.effects, effect{table: -1})
	}
	return tx.items
}

// scan is a range that is being read, by the keys that the engine has.
type scan struct {
	of        *Table
	low, last int64
	k         int64 // the number of the next record, if all are there in the order of their numbers
	left      int
	wrong     error
}

// whole reports whether every record that was there at first, from low on, must be in the range.
func (c *scan) whole() bool { return !c.of.Deletes && c.of.Present == nil && !c.of.Hashed }

func (tx *Tx) next(key int64, r Record) bool {
	c := &tx.scan
	k := c.of.number(key)
	if key <= c.last || k < 0 || c.whole() && c.k < int64(c.of.Records) && k != c.k {
		c.wrong = wrong(c.of.name(k), "came in a range from %d on after key %d, where %d was to come",
			c.of.number(c.low), c.last, c.k)
		return false
	}
	tx.read(c.of, k, r, true)
	tx.items = append(tx.items, Item{r.Number, true, k, int32(c.of.index), int32(len(tx.effects))})
	c.last, c.k = key, k+1
	c.left--
	return c.left > 0
}

// Sum returns the sum of the numbers of a table, and how many records it has.
func (tx *Tx) Sum(t *Table) (sum int64, count int) {
	tx.access.All(t.index, func(_ int64, r Record) {
		sum += r.Number
		count++
	})
	return sum, count
}

// settle checks the reads of the transaction, and keeps its writes.
func (tx *Tx) settle() error {
	for i := range tx.effects {
		e := &tx.effects[i]
		if e.table < 0 {
			return tx.scan.wrong
		}
		of := &tx.known[e.table]
		if !e.read {
			of.wrote(e)
		} else if err := of.got(e); err != nil {
			return wrong(of.name(e.key), "%s", cmp.Or(tx.damaged, err.Error()))
		}
	}
	return nil
}
