package bench

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// A Model is a workload with the parameters of one run: its tables, its operations, and its
// checks. [Workload.Build] makes it.
type Model struct {
	Params

	tables      []*Table
	ops         []operation
	audit, ends []func(tx *Tx) error
	rollsBack   bool
	prepare     []func()
	seed        uint64
}

// A Table has records, which are called by numbers from 0 on.
type Table struct {
	Name    string
	Records int // how many there are at first, unless Present says otherwise
	// Number returns the number that a record has at first; nil: 0.
	Number func(key int64) int64
	// Present says which records are there at first; nil: all.
	Present func(key int64) bool
	// Size is how many bytes a record has beside its number: none, or 8 or more. The first 8 say
	// who wrote the record. A record of exactly 8 has no other number.
	Size ValueSize
	// Deletes says that operations delete records that were there at first; they may put them back.
	Deletes bool
	// Ordered says that ranges are read. Hashed says that the keys are in the order of a hash of
	// the numbers, so that new records come somewhere among the others.
	Ordered, Hashed bool

	index int
	words bool // their number is a stamp
	next  *atomic.Int64
}

// An operation is the work of one transaction.
type operation struct {
	name     string
	weight   float64
	readOnly bool
	do       func(tx *Tx) error
}

// Table adds a table.
func (m *Model) Table(t Table) *Table {
	t.index = len(m.tables)
	t.words = t.Number == nil && t.Size == ValueSize{WordSize, WordSize}
	padded := new(struct {
		_ [128]byte
		atomic.Int64
		_ [128]byte
	})
	t.next = &padded.Int64
	t.next.Store(int64(t.Records))
	m.tables = append(m.tables, &t)
	return &t
}

// Update adds an operation, which is chosen in proportion to its weight. The operation is one
// transaction. do may run several times, and draws the same numbers each time.
func (m *Model) Update(name string, weight float64, do func(tx *Tx) error) {
	m.ops = append(m.ops, operation{name, weight, false, do})
}

// View is Update of an operation that only reads.
func (m *Model) View(name string, weight float64, do func(tx *Tx) error) {
	m.ops = append(m.ops, operation{name, weight, true, do})
}

// Audit adds a check that must always hold. It is made in a transaction that only reads, at each
// interval of the audits, and at the end.
func (m *Model) Audit(check func(tx *Tx) error) { m.audit = append(m.audit, check) }

// AtEnd is Audit for a check at the end alone.
func (m *Model) AtEnd(check func(tx *Tx) error) { m.ends = append(m.ends, check) }

// RollsBack says that operations return [ErrRollBack].
func (m *Model) RollsBack() { m.rollsBack = true }

// ErrRollBack is returned by a function of [Model.Update] to roll its transaction back. The operation
// counts as done.
var ErrRollBack = errors.New("bench: rolled back")

// errRolledBack is ErrRollBack, where engines return it.
var errRolledBack = ErrRollBack

// Violated returns an error that names the fault that a check has found: the engine is at fault.
func Violated(format string, args ...any) error { return wrong("", format, args...) }

// model returns the model of w, which is not prepared to be run.
func (w Workload) model() *Model {
	m := &Model{Params: w.Params}
	if w.Build != nil {
		w.Build(m)
	}
	return m
}

func (m *Model) validate() error {
	total := 0
	for _, t := range m.tables {
		v := t.Size
		switch {
		case t.Records < 1 || t.Records > manyKeys:
			return fmt.Errorf("table %s: expected from 1 to %d records, not %d", t.Name, manyKeys, t.Records)
		case v != ValueSize{} && (v.Min < WordSize || v.Max < v.Min || v.Max > MaxValueSize):
			return fmt.Errorf("table %s: expected values of %d to %d bytes, not %v", t.Name, WordSize,
				MaxValueSize, v)
		}
		total += t.Records
	}
	switch {
	case len(m.tables) == 0:
		return errors.New("expected a table")
	case len(m.ops) == 0:
		return errors.New("expected an operation")
	case total > manyKeys:
		return fmt.Errorf("expected at most %d records, not %d", manyKeys, total)
	}
	return nil
}

func (m *Model) ordered() bool {
	for _, t := range m.tables {
		if t.Ordered {
			return true
		}
	}
	return false
}

// operationNames returns the names of the operations, if there are several and each transaction is
// one of them.
func (m *Model) operationNames() (names []string) {
	if len(m.ops) < 2 || m.TxnSize > 1 {
		return nil
	}
	for i := range m.ops {
		names = append(names, m.ops[i].name)
	}
	return names
}

// numbers reports whether records have no bytes.
func (t *Table) numbers() bool { return t.words || t.Size == ValueSize{} }

// stamped reports whether records say who wrote them.
func (t *Table) stamped() bool { return t.Size != ValueSize{} }

// key returns the key that an engine has for a number, and number the reverse.
func (t *Table) key(k int64) int64 {
	if t.Hashed {
		return Hash(k)
	}
	return k
}

func (t *Table) number(key int64) int64 {
	if t.Hashed {
		return unhash(key)
	}
	return key
}

// there reports whether a record is there at first.
func (t *Table) there(k int64) bool { return t.Present == nil || t.Present(k) }

// first returns the number that a record has at first.
func (t *Table) first(k int64) int64 {
	switch {
	case t.words:
		return int64(loaded(int(k)))
	case t.Number == nil:
		return 0
	}
	return t.Number(k)
}

// name returns the name of a record in messages.
func (t *Table) name(k int64) string { return fmt.Sprintf("%s/%d", t.Name, k) }
