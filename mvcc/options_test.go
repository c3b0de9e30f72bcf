package mvcc

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
)

// A bad option panics with a text that names it.
func TestBadOptions(t *testing.T) {
	for field, opts := range map[string]*Options{
		"Capacity":        {Capacity: -1},
		"Isolation":       {Isolation: 3},
		"ReclaimInterval": {ReclaimInterval: -1},
		"ReclaimQueue":    {ReclaimQueue: -1},
		"PruneThreshold":  {PruneThreshold: -1},
		"MaxTxAge":        {MaxTxAge: -1},
		"PinWarnAge":      {PinWarnAge: -1},
	} {
		require.Contains(t, panicOf(func() { New[int, int](opts) }), "Options."+field)
	}
	require.Contains(t, panicOf(func() {
		New[int, int](&Options{PruneThreshold: 64})
	}), "Options.PruneThreshold")

	// An absurd value is refused by a sentence.
	for name, make := range map[string]func(){
		"Options.Capacity": func() { New[int, int](&Options{Capacity: maxCapacity + 1}) },
		"TableOptions.Capacity": func() {
			NewTable[int, int](NewDB(nil), "t", &TableOptions{Capacity: math.MaxInt})
		},
		"Options.ReclaimQueue": func() { New[int, int](&Options{ReclaimQueue: math.MaxInt}) },
	} {
		text, _ := panicOf(make).(string)
		require.Contains(t, text, "mvcc: "+name+" is ")
		require.Contains(t, text, ", want at most ")
	}
	m := newMap[int, int](t, nil)
	fn := func(Tx[int, int]) error { t.Error("fn is called"); return nil }
	require.Contains(t, panicOf(func() { m.Begin(&TxOptions{Isolation: 3}) }), "TxOptions.Isolation")
	require.Contains(t, panicOf(func() {
		_ = m.Update(bg, &TxOptions{Isolation: 3}, fn)
	}), "TxOptions.Isolation")
	require.Contains(t, panicOf(func() {
		_ = m.Update(bg, &TxOptions{MaxAttempts: -1}, fn)
	}), "TxOptions.MaxAttempts")
	checkQuiet(t, m)
}

func TestErrors(t *testing.T) {
	m := newMap[string, int](t, nil)
	m.Store("the key", 1)
	tx := m.Begin(nil)
	at := tx.Epoch()
	tx.Get("the key")
	tx.Set("other", 1)
	m.Store("the key", 2)
	err := fmt.Errorf("wrapped: %w", tx.Commit())
	require.ErrorIs(t, err, ErrConflict)
	require.NotErrorIs(t, err, ErrTxDone)
	var c *ConflictError
	require.ErrorAs(t, err, &c)
	want := &ConflictError{Key: "the key", Kind: ConflictRead, ReadEpoch: at,
		CommitEpoch: at + 1, Attempts: 1}
	require.Empty(t, cmp.Diff(want, c, cmpopts.IgnoreUnexported(ConflictError{})))
	require.Contains(t, err.Error(), "the key")
	require.Contains(t, err.Error(), "read conflict")
	for _, e := range []error{ErrConflict, ErrTxDone, ErrTxTooOld, ErrBadKey} {
		require.Contains(t, e.Error(), "mvcc: ")
	}
}
