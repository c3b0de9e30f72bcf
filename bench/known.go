package bench

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// known is the knowledge that one goroutine has of a table.
type known struct {
	*Table
	values filler
	seen   *observer // nil if records carry no stamps
	moved  []int64   // by record: its additions to the number; nil if there are no numbers
	net    []int32   // by record: inserts minus deletes; nil if there are none
	shared bool      // moved and net are those of all goroutines
	before uint64    // seen.seq when the attempt began
	// Of all records above the first ones:
	grown int   // inserts minus deletes
	added int64 // its additions to their numbers
}

// maxKnown bounds the numbers of which each goroutine keeps its own; if there are more, all share.
const maxKnown = 1 << 26

// newKnown returns the first knowledge of goroutine i of a table.
func (t *Trial) newKnown(i int, table *Table) known {
	k := known{Table: table, values: filler{table.Size, newRand(t.config.Seed, uint64(t.config.Sample),
		uint64(i), forSizes, uint64(table.index))}}
	if i < 0 { // it only checks
		return k
	}
	if table.stamped() {
		k.seen = newObserver(i+1, t.config.Threads, table.Records)
	}
	if k.shared = t.config.Threads*table.Records > maxKnown; k.shared && i > 0 {
		first := &t.txs[0].known[table.index]
		k.moved, k.net = first.moved, first.net
		return k
	}
	if table.numbered() {
		k.moved = make([]int64, table.Records)
		clear(k.moved) // large allocations are backed by pages only when they are first written to
	}
	if table.Deletes || table.Present != nil {
		k.net = make([]int32, table.Records)
		clear(k.net)
	}
	return k
}

// numbered reports whether records have numbers that operations compute with.
func (t *Table) numbered() bool { return !t.words && (t.Number != nil || !t.stamped()) }

// wrote keeps a write.
func (of *known) wrote(e *effect) {
	switch {
	case e.key >= int64(of.Records):
		of.grown += int(e.net)
		of.added += e.delta
		return
	case e.stamp != 0:
		of.seen.put(int(e.key), e.stamp)
	}
	switch {
	case of.shared && of.moved != nil:
		atomic.AddInt64(&of.moved[e.key], e.delta)
	case of.moved != nil:
		of.moved[e.key] += e.delta
	}
	switch {
	case of.shared && of.net != nil:
		atomic.AddInt32(&of.net[e.key], int32(e.net))
	case of.net != nil:
		of.net[e.key] += int32(e.net)
	}
}

// got checks a read of a record.
func (of *known) got(e *effect) error {
	first := e.key < int64(of.Records)
	switch {
	case !e.ok && first && !of.Deletes && of.there(e.key):
		return errors.New("is absent")
	case !e.ok || of.seen == nil:
		return nil
	case first:
		return of.seen.within(int(e.key), e.stamp, of.before)
	}
	return of.seen.fresh(int(e.key), e.stamp)
}

// stamp returns the stamp that a record carries, 0 if it is damaged.
func (of *known) stamp(r Record) stamp {
	if of.words {
		return stamp(r.Number)
	}
	return of.values.stamp(r.Bytes)
}

// flawed returns err as a violation that is about a record, or about its bytes if they are damaged.
func (of *known) flawed(key int64, r Record, err error) error {
	switch {
	case err == nil:
		return nil
	case !of.words && of.values.stamp(r.Bytes) == 0:
		return wrong(of.name(key), "%s", of.values.flaw(r.Bytes))
	}
	return wrong(of.name(key), "%s", err.Error())
}

// within checks v, a value of key k that a transaction has read. The writes of this transaction
// have sequence numbers above before.
func (o *observer) within(k int, v stamp, before uint64) error {
	last := o.last[k]
	err := o.got(k, v)
	if err == nil && v != last && stampWriter(last) == o.writer && stampSeq(last) > before {
		err = fmt.Errorf("a transaction that wrote %s read %s", describe(last), describe(v))
	}
	return err
}

// fresh checks v, the value of key k of a record that was not there at first.
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

// fill makes the engine, and checks that it holds these first values.
func (t *Trial) fill() error {
	setup := Setup{Isolation: t.config.Isolation, Options: t.config.Options, RollsBack: t.model.rollsBack,
		Limits: Limits{Attempts: t.config.Attempts, Stopped: t.stop.Load}}
	for _, table := range t.model.tables {
		values := t.newKnown(-1, table).values
		s := TableSetup{Name: table.Name, Ordered: table.Ordered, Numbers: table.numbers()}
		for k := range int64(table.Records) {
			if !table.there(k) {
				continue
			}
			r := Record{Number: table.first(k)}
			if !s.Numbers {
				r.Bytes = values.bytes(loaded(int(k)))
			}
			s.Keys, s.Records = append(s.Keys, table.key(k)), append(s.Records, r)
		}
		setup.Tables = append(setup.Tables, s)
	}
	engine, err := t.config.Engine.New(setup)
	if err != nil {
		return err
	}
	t.engine, t.runner = engine, engine.Session(-1)
	return t.verifyAll()
}

// verifyAll looks at every record, and makes all checks.
func (t *Trial) verifyAll() error {
	for _, table := range t.model.tables {
		if err := t.verifyTable(table); err != nil {
			return err
		}
	}
	checks := append(t.model.audit[:len(t.model.audit):len(t.model.audit)], t.model.ends...)
	if len(checks) == 0 {
		return nil
	}
	return newTx(t, -1, t.runner).check(checks)
}

// A tally is the required contents of a table, by the knowledge of all goroutines.
type tally struct {
	known
	all    []*known
	seen   []*observer
	there  int // of the first records
	grown  int
	summed int64 // the numbers of the records above the first
}

func (t *Trial) tallyOf(table *Table) *tally {
	of := &tally{known: t.newKnown(-1, table)}
	for _, tx := range t.txs {
		k := &tx.known[table.index]
		of.all = append(of.all, k)
		of.grown += k.grown
		of.summed += k.added
		if k.seen != nil {
			of.seen = append(of.seen, k.seen)
		}
	}
	return of
}

// sum adds up the knowledge of goroutines.
func sum[N int32 | int64](t *tally, k int64, of func(k *known) []N) (n N) {
	for i, known := range t.all {
		if list := of(known); list != nil && (i == 0 || !known.shared) {
			n += list[k]
		}
	}
	return n
}

func (t *Trial) verifyTable(table *Table) error {
	of := t.tallyOf(table)
	if err := checkSeen(of.seen); err != nil {
		return wrong(table.Name, "%s", err.Error())
	}
	return t.runner.Do(true, func(tx Access) error {
		of.there = 0
		for k := range int64(table.Records) {
			r, ok := tx.Get(table.index, table.key(k))
			if err := of.verify(k, r, ok); err != nil {
				return err
			}
		}
		return of.verifyRest(tx)
	})
}

// verify looks at one of the first records.
func (of *tally) verify(k int64, r Record, ok bool) error {
	net, number := 0, int64(0)
	if of.Table.there(k) {
		net, number = 1, of.first(k)
	}
	net += int(sum(of, k, func(k *known) []int32 { return k.net }))
	number += sum(of, k, func(k *known) []int64 { return k.moved })
	switch {
	case net < 0 || net > 1:
		return wrong(of.name(k), "was inserted and deleted so that there are %d of it", net)
	case ok != (net == 1):
		return wrong(of.name(k), "is there at the end: %t; by the committed operations: %t", ok, net == 1)
	case ok && of.numbered() && number != r.Number:
		return wrong(of.name(k), "has the number %d at the end; the committed operations make it %d",
			r.Number, number)
	case !ok:
		return nil
	}
	of.there++
	if of.stamped() {
		return of.flawed(k, r, checkFinal(of.seen, int(k), of.stamp(r)))
	}
	return nil
}

// verifyRest looks at the records above the first ones, and whether all can be read by their keys.
func (of *tally) verifyRest(tx Access) error {
	all, above, numbers := 0, 0, int64(0)
	var err error
	tx.All(of.index, func(key int64, r Record) {
		all++
		k := of.number(key)
		if k >= 0 && k < int64(of.Records) {
			return
		}
		above++
		numbers += r.Number
		if of.stamped() && err == nil {
			if v := of.stamp(r); stampWriter(v) == 0 || !keyMatches(v, int(k)) {
				err = of.flawed(k, r, fmt.Errorf("holds %s at the end, which was not put there", describe(v)))
			}
		}
	})
	switch {
	case err != nil:
		return err
	case all-above != of.there:
		return wrong(of.Name, "has %d of the first %d records at the end, of which %d can be read by their "+
			"keys", all-above, of.Records, of.there)
	case above != of.grown:
		return wrong(of.Name, "has %d records from %d on at the end; the committed operations make it %d",
			above, of.Records, of.grown)
	case of.numbered() && numbers != of.summed:
		return wrong(of.Name, "has numbers from %d on that sum up to %d at the end; the committed operations "+
			"make it %d", of.Records, numbers, of.summed)
	}
	return nil
}
