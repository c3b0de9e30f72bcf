package peers

import (
	"fmt"

	"github.com/kelindar/column"

	"github.com/mvccmap/mvccmap/bench"
)

func columnPeer() Peer {
	return Peer{
		Module:    "github.com/kelindar/column",
		Isolation: "none beyond 16,384 rows",
		Caveat: "A commit changes one block of 16,384 rows after the other; a transaction sees what " +
			"others commit while it runs, does not see its own writes, and overwrites what was committed " +
			"since it read",
		EngineSpec: bench.EngineSpec{
			Name: "column",
			Doc: "A columnar collection with latches for blocks of rows: a key column, a column of " +
				"numbers; transfers are two merges, which read and write at commit",
			Lacks: map[string]string{
				"counter":        columnNoRMW,
				"disjoint-batch": columnNoTx,
				"ycsb-a":         columnNoTx,
				"free-batch":     columnNoTx,
				"long-reader":    "it has no snapshots",
				"range-read":     columnNoTx,
			},
			New: newColumn,
		},
	}
}

// Why it lacks workloads.
const (
	columnNoRMW = "what a transaction has read may have changed when it commits, and a merge does " +
		"not say what it made"
	columnNoTx = "a transaction does not see its own writes, and sees what others commit while it " +
		"runs"
)

const (
	columnKey   = "key"
	columnValue = "value"

	// columnBlock is the number of rows that are latched, and so changed and
	// scanned, at once.
	columnBlock = 16_384
)

// columnEngine is its own session: it never aborts, so it has no state.
type columnEngine struct {
	bench.NoAborts
	rows *column.Collection
	keys int
}

func newColumn(setup bench.Setup[uint64]) (bench.Engine[uint64], error) {
	e := &columnEngine{
		rows: column.NewCollection(column.Options{Capacity: len(setup.Keys)}),
		keys: len(setup.Keys),
	}
	if err := e.rows.CreateColumn(columnKey, column.ForKey()); err != nil {
		return nil, err
	}
	if err := e.rows.CreateColumn(columnValue, column.ForUint64()); err != nil {
		return nil, err
	}
	err := e.rows.Query(func(tx *column.Txn) error {
		for i, k := range setup.Keys {
			if err := tx.InsertKey(k, func(r column.Row) error {
				r.SetUint64(columnValue, setup.Values[i])
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return e, err
}

func (e *columnEngine) Session(int) bench.Session[uint64] { return e }

// Close implements [bench.Engine].
func (e *columnEngine) Close() { _ = e.rows.Close() }

func (e *columnEngine) Get(key string) (value uint64, ok bool, err error) {
	found := false
	err = e.rows.QueryKey(key, func(r column.Row) error {
		found = true
		value, ok = r.Uint64(columnValue)
		return nil
	})
	if !found { // for which there is no error of its own
		return 0, false, nil
	}
	return value, ok, err
}

func (e *columnEngine) Put(key string, value uint64) error {
	return e.rows.QueryKey(key, func(r column.Row) error {
		r.SetUint64(columnValue, value)
		return nil
	})
}

func (e *columnEngine) Begin() error {
	return e.rows.Query(func(*column.Txn) error { return nil })
}

// oneBlock returns an error if the rows are more than are changed at once.
func (e *columnEngine) oneBlock() error {
	if e.keys > columnBlock {
		return fmt.Errorf("peers: column commits, and scans, %d rows at a time, so that transfers "+
			"between %d accounts are not atomic", columnBlock, e.keys)
	}
	return nil
}

func (e *columnEngine) Transfer(from, to string, amount uint64) error {
	if err := e.oneBlock(); err != nil {
		return err
	}
	return e.rows.Query(func(tx *column.Txn) error {
		if err := tx.QueryKey(from, func(r column.Row) error {
			r.MergeUint64(columnValue, -amount)
			return nil
		}); err != nil {
			return err
		}
		return tx.QueryKey(to, func(r column.Row) error {
			r.MergeUint64(columnValue, amount)
			return nil
		})
	})
}

func (e *columnEngine) Sum() (total uint64, keys int, err error) {
	if err := e.oneBlock(); err != nil {
		return 0, 0, err
	}
	err = e.rows.Query(func(tx *column.Txn) error {
		total = tx.Uint64(columnValue).Sum()
		keys = tx.Count()
		return nil
	})
	return total, keys, err
}
